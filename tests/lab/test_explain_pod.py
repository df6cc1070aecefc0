"""Explanations of pending pods: the reason that counts most, evidence by node, and changes that were tried out."""

import pytest

from ghostfleet.cluster import Cluster, ClusterConfig, add_nodes
from ghostfleet.core.clock import SECOND
from ghostfleet.drive.embedded import Embedded
from ghostfleet.drive.interface import NODES, PODS
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.explain import explain_pod
from ghostfleet.stages.nodes import NodeShape


def pod(name="trainer-0", gpus=1, **spec):
    amounts = {"cpu": "1", "nvidia.com/gpu": str(gpus)}
    container = {"name": "main", "image": "i", "resources": {"requests": amounts, "limits": amounts}}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"containers": [container], **spec}}


@pytest.fixture
def lab():
    cluster = Cluster(config=ClusterConfig())
    add_nodes(cluster, NodeShape(count=2, gpus=8, fake_taint=False))
    cluster.clock.advance(10 * SECOND)
    return Embedded(cluster)


def explained(lab, *pods, name="trainer-0", prepare=None):
    async def tool():
        if prepare is not None:
            await prepare()
        for each in pods:
            await lab.create(PODS, each)
            await lab.sleep(SECOND)
        return await explain_pod(lab, "default", name)

    return lab.run(tool())


def test_sixteen_gpus_fit_in_sum_but_on_no_node(lab):
    why = explained(lab, pod(gpus=16))
    assert why.verdict == (
        "fits in aggregate, but no node has 16 free nvidia.com/gpu (largest free block 8 on kwok-node-0)"
    )
    assert "2 Insufficient nvidia.com/gpu" in why.message
    (finding,) = why.findings
    assert (finding.plugin, finding.nodes) == ("NodeResourcesFit", ("kwok-node-0", "kwok-node-1"))
    assert (finding.block.largest_node, finding.block.free, finding.block.capacity) == ("8", "16", "16")


def test_adding_nodes_is_no_remedy_for_a_pod_that_is_larger_than_any(lab):
    why = explained(lab, pod(gpus=16))
    assert [remedy.change for remedy in why.remedies] == [
        "ask for 8 instead of 16 nvidia.com/gpu (the largest free block, on kwok-node-0)"
    ]


def test_a_full_cluster_is_helped_by_one_more_node(lab):
    why = explained(lab, pod("a", 8), pod("b", 6), pod("trainer-0", 4))
    assert why.verdict.startswith("no node has 4 free nvidia.com/gpu (largest free block 2 on")
    changes = [remedy.change for remedy in why.remedies]
    assert "add one more node like kwok-node-0" in changes
    assert any(change.startswith("ask for 2 instead of 4 nvidia.com/gpu") for change in changes)


def test_each_remedy_really_places_the_pod(lab):
    why = explained(lab, pod(gpus=16))
    (remedy,) = why.remedies

    async def follow():
        await lab.create(PODS, pod("smaller", 8))
        await lab.sleep(SECOND)
        return (await lab.get(PODS, "default", "smaller"))["spec"].get("nodeName")

    assert remedy.node in ("kwok-node-0", "kwok-node-1")
    assert lab.run(follow())


def test_a_taint_a_selector_and_a_cordon_are_named_with_what_would_lift_them(lab):
    async def prepare():
        taint = {"key": "team", "value": "red", "effect": "NoSchedule"}
        await lab.patch(NODES, "", "kwok-node-0", {"spec": {"taints": [taint]}})
        await lab.patch(NODES, "", "kwok-node-1", {"spec": {"unschedulable": True}})
        await lab.sleep(SECOND)

    why = explained(lab, pod(), prepare=prepare)
    assert {finding.reason: finding.nodes for finding in why.findings} == {
        "node(s) had untolerated taint(s)": ("kwok-node-0",),
        "node(s) were unschedulable": ("kwok-node-1",),
    }
    changes = [remedy.change for remedy in why.remedies]
    assert "tolerate the taint team=red:NoSchedule" in changes
    assert "uncordon the node kwok-node-1" in changes


def test_two_changes_are_told_together_when_none_helps_alone(lab):
    why = explained(lab, pod(gpus=16, nodeSelector={"rack": "nowhere"}))
    assert [(remedy.change, bool(remedy.node)) for remedy in why.remedies] == [
        (
            "ask for 8 instead of 16 nvidia.com/gpu (the largest free block, on kwok-node-0) "
            "and drop the node selector rack=nowhere",
            True,
        )
    ]


def test_explaining_changes_nothing(lab):
    explained(lab, pod(gpus=16))
    nodes = lab.cluster.store.list("nodes")
    assert [node["metadata"]["name"] for node in nodes] == ["kwok-node-0", "kwok-node-1"]


def test_a_pod_that_runs_is_gated_or_is_for_others_is_told_so(lab):
    gated = pod("gated", schedulingGates=[{"name": "wait.for/me"}])
    foreign = pod("foreign", schedulerName="kai-scheduler")
    assert explained(lab, pod("runs"), name="runs").verdict.startswith("it is on kwok-node-")
    assert "wait.for/me" in explained(lab, gated, name="gated").verdict
    assert "kai-scheduler" in explained(lab, foreign, name="foreign").verdict


def test_a_pod_that_is_not_there_is_an_error(lab):
    with pytest.raises(LabError, match="there is no pod nobody in namespace default"):
        explained(lab, name="nobody")
