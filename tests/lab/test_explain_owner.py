"""Explanations of all pods of an owner together: how many fit now, why the rest does not, and what would be enough."""

from __future__ import annotations

import pytest

from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.core.clock import SECOND
from ghostfleet.drive.embedded import Embedded
from ghostfleet.drive.interface import DEPLOYMENTS, JOBS, PODS, Kind
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.explain import explain_owner

QUOTAS = Kind("", "v1", "resourcequotas")


@pytest.fixture
def lab():
    cluster = Cluster(config=ClusterConfig(nodes=2, gpus=8, profile="instant"))
    cluster.clock.advance(10 * SECOND)
    return Embedded(cluster)


def template(gpus):
    limits = {"nvidia.com/gpu": str(gpus)}
    container = {"name": "main", "image": "i", "resources": {"limits": limits}}
    return {
        "metadata": {"labels": {"app": "a"}, "annotations": {"ghostfleet.dev/duration": "1h"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }


def job(name="train", pods=6, gpus=4):
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"parallelism": pods, "completions": pods, "template": template(gpus)},
    }


def explained(lab, kind, obj, what, *more):
    async def tool():
        for each, manifest in (*more, (kind, obj)):
            await lab.create(each, manifest)
            await lab.sleep(2 * SECOND)
        return await explain_owner(lab, what, "default", obj["metadata"]["name"])

    return lab.run(tool())


def test_the_rest_of_a_job_is_counted_and_the_nodes_that_it_needs(lab):
    why = explained(lab, JOBS, job(), "job")
    assert (why.pods, why.waiting, why.missing, why.fit_now) == ({"Pending": 2, "Running": 4}, 2, 0, 0)
    assert "no node has 4 free nvidia.com/gpu" in why.verdict
    assert (why.nodes.count, why.nodes.like) == (1, "kwok-node-0")


def test_so_many_nodes_really_place_all_of_them_and_one_fewer_does_not(lab):
    why = explained(lab, JOBS, job(pods=15, gpus=3), "jobs")
    assert (why.waiting, why.nodes.count) == (11, 6)
    for nodes, waiting in ((7, 1), (8, 0)):
        cluster = Cluster(config=ClusterConfig(nodes=nodes, gpus=8, profile="instant"))
        cluster.clock.advance(10 * SECOND)
        assert explained(Embedded(cluster), JOBS, job(pods=15, gpus=3), "job").waiting == waiting


def test_pods_larger_than_any_node_are_helped_by_none(lab):
    why = explained(lab, JOBS, job(pods=2, gpus=16), "job")
    assert why.nodes is None
    assert "fits in aggregate, but no node has 16" in why.verdict


def test_a_deployment_is_explained_through_its_replica_set(lab):
    deployment = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "a"}}, "template": template(8)},
    }
    deployment["spec"]["template"]["spec"].pop("restartPolicy")
    why = explained(lab, DEPLOYMENTS, deployment, "deploy")
    assert (why.kind, why.pods, why.waiting, why.nodes.count) == ("deployment", {"Pending": 1, "Running": 2}, 1, 1)


def test_pods_that_were_not_made_yet_are_lacking(lab):
    quota = {"metadata": {"name": "q", "namespace": "default"}, "spec": {"hard": {"pods": "1"}}}
    why = explained(lab, JOBS, job(pods=3), "job", (QUOTAS, quota))
    assert (why.pods, why.missing, why.fit_now) == ({"Running": 1}, 2, 2)


def test_an_owner_whose_pods_all_run_says_so(lab):
    assert explained(lab, JOBS, job(pods=2), "job").verdict == "none of its pods waits for a node: 2 Running"


def test_an_owner_that_nothing_belongs_to_is_told(lab):
    with pytest.raises(LabError, match="no pod in namespace default belongs to job/nothing"):
        lab.run(explain_owner(lab, "job", "default", "nothing"))


def test_nothing_in_the_cluster_changes(lab):
    before = explained(lab, JOBS, job(), "job")

    async def again():
        pods = await lab.list(PODS, "default")
        return await explain_owner(lab, "job", "default", "train"), await lab.list(PODS, "default") == pods

    assert lab.run(again()) == (before, True)
