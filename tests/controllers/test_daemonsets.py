"""DaemonSets: one pod on every node that is meant to have one."""

from __future__ import annotations

import pytest

from ghostfleet.controllers.daemonsets import DAEMONSETS, DaemonSetController
from ghostfleet.controllers.daemonsets.records import target_of

LABELS = {"app": "agent"}
TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


@pytest.fixture
def fleet(world):
    DaemonSetController(world.store, world.routes, world.creator, world.profile)
    for name in ("n0", "n1", "n2"):
        world.node(name, metadata={"labels": {"kubernetes.io/hostname": name}})
    return world


def start(world, pod_template, strategy=None, **spec):
    fields = {"selector": {"matchLabels": LABELS}, "template": pod_template(LABELS, **spec)}
    if strategy is not None:
        fields["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": strategy}
    return world.create(DAEMONSETS, "agent", spec=fields)


def run(world):
    """Bind every daemon to its node and run it, until nothing changes."""
    for _ in range(30):
        before = world.store.revision
        for pod in world.pods("Pending"):
            if "deletionTimestamp" not in pod["metadata"]:
                world.bind(pod, target_of(pod))
                world.set_phase(pod, "Running", settle=False)
        world.advance(2)
        if world.store.revision == before:
            return
    raise AssertionError("it never settles")


def places(world):
    return sorted(target_of(pod) for pod in world.pods())


def test_every_node_gets_a_pod_that_is_tied_to_it(fleet, pod_template):
    start(fleet, pod_template)
    assert places(fleet) == ["n0", "n1", "n2"]
    assert all("nodeName" not in pod["spec"] for pod in fleet.pods())
    run(fleet)
    assert fleet.get(DAEMONSETS, "agent")["status"] == {
        "currentNumberScheduled": 3,
        "desiredNumberScheduled": 3,
        "numberAvailable": 3,
        "numberMisscheduled": 0,
        "numberReady": 3,
        "observedGeneration": 1,
        "updatedNumberScheduled": 3,
    }
    tolerated = {each["key"] for each in fleet.pods()[0]["spec"]["tolerations"]}
    assert "node.kubernetes.io/unschedulable" in tolerated


def test_nodes_that_come_and_go_take_their_pods_with_them(fleet, pod_template):
    start(fleet, pod_template)
    run(fleet)
    fleet.node("n3")
    assert places(fleet) == ["n0", "n1", "n2", "n3"]
    fleet.store.delete("nodes", "", "n3")
    run(fleet)
    assert places(fleet) == ["n0", "n1", "n2"]


def test_selectors_and_taints_say_where_daemons_run(fleet, pod_template):
    node = fleet.get("nodes", "n1")
    fleet.store.update("nodes", {**node, "spec": {**node["spec"], "taints": [TAINT]}})
    node = fleet.get("nodes", "n2")
    fleet.store.update("nodes", {**node, "metadata": {**node["metadata"], "labels": {"disk": "none"}}})
    start(
        fleet,
        pod_template,
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "DoesNotExist"}]}]
                }
            }
        },
    )
    assert places(fleet) == ["n0"]
    status = fleet.get(DAEMONSETS, "agent")["status"]
    assert status["desiredNumberScheduled"] == 1


def test_a_daemon_stays_on_a_node_that_only_new_pods_must_avoid(fleet, pod_template):
    start(fleet, pod_template)
    run(fleet)
    node = fleet.get("nodes", "n1")
    fleet.store.update("nodes", {**node, "spec": {**node["spec"], "taints": [TAINT]}})
    run(fleet)
    assert places(fleet) == ["n0", "n1", "n2"]
    assert fleet.get(DAEMONSETS, "agent")["status"]["numberMisscheduled"] == 1
    node = fleet.get("nodes", "n1")
    driven = {**TAINT, "effect": "NoExecute"}
    fleet.store.update("nodes", {**node, "spec": {**node["spec"], "taints": [driven]}})
    run(fleet)
    assert places(fleet) == ["n0", "n2"]


def test_an_update_replaces_daemons_one_node_at_a_time(fleet, pod_template):
    start(fleet, pod_template)
    run(fleet)
    fleet.update(DAEMONSETS, "agent", template=pod_template(LABELS, dnsPolicy="Default"))
    marked = [pod for pod in fleet.pods() if "deletionTimestamp" in pod["metadata"]]
    assert len(marked) == 1
    run(fleet)
    assert {pod["spec"]["dnsPolicy"] for pod in fleet.pods()} == {"Default"}
    assert fleet.get(DAEMONSETS, "agent")["status"]["updatedNumberScheduled"] == 3
    assert [each["revision"] for each in fleet.store.list("controllerrevisions.apps")] in ([1, 2], [2, 1])


def test_an_update_with_surge_puts_the_new_daemon_beside_the_old_one(fleet, pod_template):
    start(fleet, pod_template, {"maxSurge": 1, "maxUnavailable": 0})
    run(fleet)
    fleet.update(DAEMONSETS, "agent", template=pod_template(LABELS, dnsPolicy="Default"))
    assert len(fleet.pods()) == 4
    assert not any("deletionTimestamp" in pod["metadata"] for pod in fleet.pods())
    run(fleet)
    assert places(fleet) == ["n0", "n1", "n2"]
    assert {pod["spec"]["dnsPolicy"] for pod in fleet.pods()} == {"Default"}


def test_a_failed_daemon_is_replaced_later_each_time(fleet, pod_template):
    start(fleet, pod_template)
    run(fleet)
    for wait in (0, 1, 2):
        victim = next(pod for pod in fleet.pods("Running") if target_of(pod) == "n0")
        fleet.set_phase(victim, "Failed")
        fleet.advance(wait + 1)
        run(fleet)
        assert len(fleet.pods("Running")) == 3
    assert any(reason == "FailedDaemonPod" for reason, _ in fleet.events("agent"))
