"""StatefulSets: pods in order, with names and claims that stay."""

from __future__ import annotations

import pytest

from ghostfleet.controllers.statefulsets import STATEFULSETS, StatefulSetController

LABELS = {"app": "db"}
CLAIM = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}


@pytest.fixture
def sets(world):
    StatefulSetController(world.store, world.routes, world.creator, world.profile)
    return world


def start(world, pod_template, replicas=3, **spec):
    spec = {
        "replicas": replicas,
        "serviceName": "db",
        "selector": {"matchLabels": LABELS},
        "template": pod_template(LABELS),
        **spec,
    }
    return world.create(STATEFULSETS, "db", spec=spec)


def images(world):
    return [pod["spec"].get("dnsPolicy") for pod in world.pods()]


def test_pods_come_one_after_the_other_each_when_the_one_before_is_ready(sets, pod_template):
    start(sets, pod_template)
    assert sets.names() == ["db-0"]
    sets.run()
    assert sets.names() == ["db-0", "db-1"]
    sets.run_until_steady()
    assert sets.names() == ["db-0", "db-1", "db-2"]
    status = sets.get(STATEFULSETS, "db")["status"]
    assert status["readyReplicas"] == status["currentReplicas"] == status["updatedReplicas"] == 3
    assert status["currentRevision"] == status["updateRevision"]


def test_pods_have_names_hosts_and_claims_of_their_own(sets, pod_template):
    start(sets, pod_template, 1, volumeClaimTemplates=[CLAIM])
    (pod,) = sets.pods()
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-0", "db")
    assert pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "db-0"
    assert pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "0"
    assert pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] == "data-db-0"
    assert sets.get("persistentvolumeclaims", "data-db-0")["metadata"]["labels"] == LABELS


def test_in_parallel_all_pods_come_at_once(sets, pod_template):
    start(sets, pod_template, podManagementPolicy="Parallel")
    assert sets.names() == ["db-0", "db-1", "db-2"]
    sets.run()
    sets.update(STATEFULSETS, "db", replicas=1)
    sets.advance(2)
    assert sets.names() == ["db-0"]


def test_scaling_down_goes_from_the_last_one_by_one(sets, pod_template):
    start(sets, pod_template)
    sets.run_until_steady()
    sets.update(STATEFULSETS, "db", replicas=1)
    marked = [pod["metadata"]["name"] for pod in sets.pods() if "deletionTimestamp" in pod["metadata"]]
    assert marked == ["db-2"]
    sets.run_until_steady()
    assert sets.names() == ["db-0"]


def test_a_pod_that_fails_comes_back_under_its_name(sets, pod_template):
    start(sets, pod_template, 1)
    sets.run()
    before = sets.pods()[0]["metadata"]["uid"]
    sets.finish("Failed")
    sets.run_until_steady()
    (pod,) = sets.pods()
    assert pod["metadata"]["name"] == "db-0"
    assert pod["metadata"]["uid"] != before


def test_an_update_replaces_pods_from_the_last_down_to_the_partition(sets, pod_template):
    partition = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    start(sets, pod_template, updateStrategy=partition)
    sets.run_until_steady()
    sets.update(STATEFULSETS, "db", template=pod_template(LABELS, dnsPolicy="Default"))
    marked = [pod["metadata"]["name"] for pod in sets.pods() if "deletionTimestamp" in pod["metadata"]]
    assert marked == ["db-2"]
    sets.run_until_steady()
    assert images(sets) == ["ClusterFirst", "Default", "Default"]
    status = sets.get(STATEFULSETS, "db")["status"]
    assert (status["currentReplicas"], status["updatedReplicas"]) == (1, 2)
    sets.delete("pods", "db-0")
    sets.run_until_steady()
    assert images(sets) == ["ClusterFirst", "Default", "Default"]
    sets.update(STATEFULSETS, "db", updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 0}})
    sets.run_until_steady()
    assert images(sets) == ["Default"] * 3
    status = sets.get(STATEFULSETS, "db")["status"]
    assert status["currentRevision"] == status["updateRevision"]


def test_on_delete_leaves_old_pods_until_someone_deletes_them(sets, pod_template):
    start(sets, pod_template, 2, updateStrategy={"type": "OnDelete"})
    sets.run_until_steady()
    sets.update(STATEFULSETS, "db", template=pod_template(LABELS, dnsPolicy="Default"))
    sets.run_until_steady()
    assert images(sets) == ["ClusterFirst", "ClusterFirst"]
    sets.delete("pods", "db-0")
    sets.run_until_steady()
    assert images(sets) == ["Default", "ClusterFirst"]


def test_revisions_are_kept_up_to_the_limit_and_used_again(sets, pod_template):
    start(sets, pod_template, 1, revisionHistoryLimit=1)
    for policy in ("Default", "None", "ClusterFirst"):
        sets.run_until_steady()
        sets.update(STATEFULSETS, "db", template=pod_template(LABELS, dnsPolicy=policy))
    sets.run_until_steady()
    numbers = sorted(each["revision"] for each in sets.store.list("controllerrevisions.apps"))
    assert numbers == [3, 4]


def test_claims_outlive_the_set_unless_it_says_otherwise(sets, pod_template):
    start(sets, pod_template, 1, volumeClaimTemplates=[CLAIM])
    sets.run_until_steady()
    sets.delete(STATEFULSETS, "db")
    sets.run_until_steady()
    assert sets.pods() == []
    claim = sets.get("persistentvolumeclaims", "data-db-0")
    assert "deletionTimestamp" not in claim["metadata"]
    policy = {"whenDeleted": "Delete", "whenScaled": "Retain"}
    start(sets, pod_template, 2, volumeClaimTemplates=[CLAIM], persistentVolumeClaimRetentionPolicy=policy)
    sets.run_until_steady()
    sets.delete(STATEFULSETS, "db")
    sets.run_until_steady()
    marked = sets.get("persistentvolumeclaims", "data-db-1")
    assert "deletionTimestamp" in marked["metadata"]


def test_ordinals_may_start_elsewhere(sets, pod_template):
    start(sets, pod_template, 2, ordinals={"start": 5}, podManagementPolicy="Parallel")
    assert sets.names() == ["db-5", "db-6"]
