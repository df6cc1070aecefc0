"""What an installation of KAI brings along."""

from __future__ import annotations

import pytest

from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.controllers.kai import POD_GROUPS, QUEUES, SCHEDULING_SHARDS, install_kinds
from ghostfleet.core.errors import ApiError


def test_kinds_have_the_groups_versions_and_short_names_of_kai(kai):
    served = {
        (each.group, each.kind): (sorted(each.versions), each.storage_version, each.namespaced, each.short_names)
        for each in kai.api.registry
        if each.group in ("scheduling.run.ai", "kai.scheduler")
    }
    assert served == {
        ("scheduling.run.ai", "Queue"): (["v2"], "v2", False, ()),
        ("scheduling.run.ai", "PodGroup"): (["v1", "v2alpha2"], "v2alpha2", True, ("pg",)),
        ("scheduling.run.ai", "BindRequest"): (["v1alpha2"], "v1alpha2", True, ()),
        ("kai.scheduler", "Topology"): (["v1alpha1"], "v1alpha1", False, ()),
        ("kai.scheduler", "SchedulingShard"): (["v1"], "v1", False, ()),
        ("kai.scheduler", "Config"): (["v1"], "v1", False, ()),
    }


def test_queues_show_priority_parent_children_and_display_name(kai):
    version = kai.api.registry.by_key(QUEUES).storage
    assert [each.name for each in version.columns] == ["Priority", "Parent", "Children", "DisplayName"]


def test_priority_classes_default_queues_and_the_default_shard_are_there(kai):
    classes = {each["metadata"]["name"]: each["value"] for each in kai.store.list("priorityclasses.scheduling.k8s.io")}
    assert {name: value for name, value in classes.items() if not name.startswith("system")} == {
        "train": 50,
        "build-preemptible": 75,
        "build": 100,
        "inference": 125,
    }
    assert kai.get(QUEUES, "default-queue")["spec"]["parentQueue"] == "default-parent-queue"
    assert kai.get(QUEUES, "default-parent-queue")["status"]["childQueues"] == ["default-queue", "project-0"]
    assert kai.get(SCHEDULING_SHARDS, "default")["spec"] == {"partitionLabelValue": ""}
    assert kai.get("namespaces", "kai-resource-reservation")


def test_installing_twice_changes_nothing(kai):
    kai.apply({"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": "q"}, "spec": LIMITLESS})
    before = kai.store.revision
    install_kinds(kai.store)
    kai.clock.settle()
    assert kai.store.revision == before


@pytest.mark.parametrize("kai_first", [True, False])
def test_there_is_one_definition_of_pod_groups_for_kai_and_for_runai(kai_first):
    without = frozenset(("scheduler", "stages", "controllers"))
    if kai_first:
        cluster = Cluster(config=ClusterConfig(without=without | {"runai"}))
        install_kinds(cluster.store)
        cluster.clock.settle()
        from ghostfleet.controllers import runai

        runai.install_kinds(cluster.store)
    else:
        cluster = Cluster(config=ClusterConfig(without=without))
        install_kinds(cluster.store)
    cluster.clock.settle()
    resource = cluster.registry.by_key(POD_GROUPS)
    assert sorted(resource.versions) == ["v1", "v2alpha2"]
    assert all(not version.columns for version in resource.versions.values()), "KAI's shows its age only"


LIMITLESS = {"resources": {each: {"quota": 0, "limit": -1, "overQuotaWeight": 1} for each in ("cpu", "gpu", "memory")}}


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"minMember": 0}, "spec.minMember"),
        ({"preemptibility": "never"}, "spec.preemptibility"),
        ({"subGroups": [{"minMember": 1}]}, "spec.subGroups[0].name"),
    ],
)
def test_pod_groups_are_held_to_their_schema(kai, spec, wrong):
    group = {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": {"name": "g"}, "spec": spec}
    with pytest.raises(ApiError, match=wrong.replace("[", r"\[")):
        kai.apply(group)


def test_the_levels_of_a_topology_are_labels_and_at_most_sixteen(kai):
    def topology(*labels):
        levels = [{"nodeLabel": each} for each in labels]
        return {
            "apiVersion": "kai.scheduler/v1alpha1",
            "kind": "Topology",
            "metadata": {"name": "t"},
            "spec": {"levels": levels},
        }

    for bad in ([], ["no label!"], [f"example.com/l{each}" for each in range(17)]):
        with pytest.raises(ApiError, match=r"spec\.levels"):
            kai.apply(topology(*bad))
    kai.apply(topology("example.com/block", "example.com/rack", "kubernetes.io/hostname"))
