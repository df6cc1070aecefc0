"""Nodes: signs of life, taints, and pods that have to leave."""

from __future__ import annotations

import pytest

from ghostfleet.api.builtin import load_registry
from ghostfleet.api.verbs import Api
from ghostfleet.controllers.jobs import JOBS, JobController
from ghostfleet.controllers.nodes import NodeLifecycle, TaintEviction, fake_and_well
from ghostfleet.controllers.workloads import Workloads
from ghostfleet.core.randomness import Streams
from ghostfleet.stages.fleet import Fleet
from ghostfleet.stages.leases import LEASES
from ghostfleet.stages.settings import StageSettings

FAILED = "ghostfleet.dev/failed"
FAKE = {"kwok.x-k8s.io/node": "fake"}


def with_controllers(world, count=5, **metadata):
    NodeLifecycle(world.store, world.profile, fake_and_well(world.store))
    TaintEviction(world.store, world.profile)
    JobController(world.store, world.routes, world.creator, world.profile)
    for number in range(count):
        world.node(f"n{number}", metadata={"annotations": FAKE, **metadata})
    world.advance(10)
    return world


@pytest.fixture
def fleet(world):
    return with_controllers(world)


def fail(world, *names):
    for name in names:
        node = world.get("nodes", name)
        annotations = {**node["metadata"]["annotations"], FAILED: "true"}
        world.store.update("nodes", {**node, "metadata": {**node["metadata"], "annotations": annotations}})
    world.clock.settle()


def recover(world, name):
    node = world.get("nodes", name)
    world.store.update("nodes", {**node, "metadata": {**node["metadata"], "annotations": FAKE}})
    conditions = [
        {**each, "status": "True" if each["type"] == "Ready" else "False", "lastHeartbeatTime": world.now()}
        for each in node["status"]["conditions"]
    ]
    world.store.patch_status("nodes", "", name, {**node["status"], "conditions": conditions})
    world.clock.settle()


def ready(world, name):
    conditions = world.get("nodes", name)["status"]["conditions"]
    return next(each["status"] for each in conditions if each["type"] == "Ready")


def taints(world, name):
    return [(each["key"].split("/")[1], each["effect"]) for each in world.get("nodes", name)["spec"].get("taints", [])]


def pod_on(world, node, name="pod", tolerations=()):
    container = {"name": "main", "image": "registry.example/app:1"}
    pod = world.create("pods", name, spec={"containers": [container], "tolerations": list(tolerations)})
    world.bind(pod, node)
    world.set_phase(pod, "Running")
    return pod


def test_fake_nodes_stay_ready_for_hours_without_a_write(fleet):
    before = fleet.store.revision
    fleet.advance(24 * 3600)
    assert fleet.store.revision == before
    assert ready(fleet, "n0") == "True"


def test_the_fleet_is_told_of_failures_and_vouches_for_its_nodes(new_world):
    world = new_world()
    api = Api(world.store, load_registry(), Streams(0))
    fleet = Fleet(api, Streams(0), "fast", StageSettings(heartbeats=False))
    workloads = Workloads(api, world.profile, fleet)
    for number in range(4):
        world.create("nodes", f"n{number}", metadata={"annotations": FAKE})
    world.advance(600)
    assert [ready(world, f"n{number}") for number in range(4)] == ["True"] * 4
    fail(world, "n0")
    assert not fleet.leases.alive("n0")
    fleet.fail_node("n1")
    world.advance(60)
    assert [ready(world, f"n{number}") for number in range(4)] == ["Unknown", "Unknown", "True", "True"]
    node = world.get("nodes", "n0")
    world.store.update("nodes", {**node, "metadata": {**node["metadata"], "annotations": FAKE}})
    world.advance(30)
    assert fleet.leases.alive("n0")
    assert ready(world, "n0") == "True"
    assert taints(world, "n0") == []
    assert workloads.creator is not None


def test_a_node_that_falls_silent_is_unknown_after_the_grace_period_and_tainted(fleet):
    fail(fleet, "n0")
    fleet.advance(50)
    assert ready(fleet, "n0") == "True"
    fleet.advance(5)
    conditions = {each["type"]: each for each in fleet.get("nodes", "n0")["status"]["conditions"]}
    assert {each["status"] for each in conditions.values()} == {"Unknown"}
    assert conditions["Ready"]["reason"] == "NodeStatusUnknown"
    assert conditions["Ready"]["message"] == "Kubelet stopped posting node status."
    assert taints(fleet, "n0") == [("unreachable", "NoSchedule"), ("unreachable", "NoExecute")]
    assert fleet.events("n0")[-1] == ("NodeNotReady", "Node n0 status is now: NodeNotReady")


def test_a_node_that_renews_its_lease_itself_is_alive(world):
    NodeLifecycle(world.store, world.profile)
    world.node("n0")
    for _ in range(20):
        world.advance(10)
        lease = world.store.find(LEASES, "kube-node-lease", "n0")
        if lease is None:
            metadata = {"namespace": "kube-node-lease"}
            world.create(LEASES, "n0", metadata=metadata, spec={"renewTime": world.now()})
        else:
            world.store.update(LEASES, {**lease, "spec": {"renewTime": world.now()}})
    assert ready(world, "n0") == "True"
    world.advance(61)
    assert ready(world, "n0") == "Unknown"


def test_pods_are_evicted_after_the_time_for_which_they_tolerate_it(fleet):
    pod_on(
        fleet,
        "n0",
        "default",
        [
            {
                "key": "node.kubernetes.io/unreachable",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            },
        ],
    )
    pod_on(fleet, "n0", "patient", [{"operator": "Exists"}])
    pod_on(fleet, "n0", "hasty")
    fail(fleet, "n0")
    fleet.advance(55)
    assert fleet.names() == ["default", "hasty", "patient"]
    assert "deletionTimestamp" in fleet.get("pods", "hasty")["metadata"]
    reasons = [each["reason"] for each in fleet.get("pods", "hasty")["status"]["conditions"] if "reason" in each]
    assert reasons == ["DeletionByTaintManager"]
    assert all(
        each["status"] == "False"
        for each in fleet.get("pods", "patient")["status"]["conditions"]
        if each["type"] == "Ready"
    )
    fleet.advance(299)
    assert fleet.names() == ["default", "patient"]
    fleet.advance(3)
    assert fleet.names() == ["patient"]
    assert ("TaintManagerEviction", "Marking for deletion Pod default/default") in fleet.events("default")


def test_a_node_that_comes_back_in_time_keeps_its_pods(fleet):
    pod_on(fleet, "n0", "pod", [{"operator": "Exists", "tolerationSeconds": 300, "effect": "NoExecute"}])
    fail(fleet, "n0")
    fleet.advance(200)
    recover(fleet, "n0")
    fleet.advance(1000)
    assert taints(fleet, "n0") == []
    assert fleet.names() == ["pod"]
    assert ("TaintManagerEviction", "Cancelling deletion of Pod default/pod") in fleet.events("pod")


def test_conditions_and_cordons_become_taints(fleet):
    node = fleet.get("nodes", "n1")
    conditions = [
        {**each, "status": "True"} if each["type"] in ("MemoryPressure", "Ready") else each
        for each in node["status"]["conditions"]
    ]
    fleet.store.patch_status("nodes", "", "n1", {**node["status"], "conditions": conditions})
    node = fleet.get("nodes", "n1")
    fleet.store.update("nodes", {**node, "spec": {**node["spec"], "unschedulable": True}})
    fleet.clock.settle()
    assert taints(fleet, "n1") == [("memory-pressure", "NoSchedule"), ("unschedulable", "NoSchedule")]
    node = fleet.get("nodes", "n1")
    fleet.store.update("nodes", {**node, "spec": {"taints": node["spec"]["taints"]}})
    fleet.clock.settle()
    assert taints(fleet, "n1") == [("memory-pressure", "NoSchedule")]


def test_a_node_that_says_it_is_not_ready_gets_the_other_taint(fleet):
    node = fleet.get("nodes", "n1")
    conditions = [{**each, "status": "False"} for each in node["status"]["conditions"]]
    fleet.store.patch_status("nodes", "", "n1", {**node["status"], "conditions": conditions})
    fleet.advance(5)
    assert taints(fleet, "n1") == [("not-ready", "NoSchedule"), ("not-ready", "NoExecute")]


def test_when_no_node_can_be_seen_no_pod_has_to_leave(fleet):
    pod_on(fleet, "n0")
    fail(fleet, *(f"n{number}" for number in range(5)))
    fleet.advance(2000)
    assert all(ready(fleet, f"n{number}") == "Unknown" for number in range(5))
    assert ("unreachable", "NoExecute") not in taints(fleet, "n0")
    assert fleet.names() == ["pod"]


def test_where_most_of_a_small_zone_has_failed_nothing_is_done_either(fleet):
    pod_on(fleet, "n0")
    fail(fleet, "n0", "n1", "n2")
    fleet.advance(2000)
    assert taints(fleet, "n0") == [("unreachable", "NoSchedule")]
    assert fleet.names() == ["pod"]


def test_on_the_kubernetes_profile_nodes_are_given_up_one_in_ten_seconds(new_world):
    world = with_controllers(new_world("kubernetes"), 20)
    fail(world, *(f"n{number}" for number in range(4)))
    world.advance(56)
    given_up = [number for number in range(4) if ("unreachable", "NoExecute") in taints(world, f"n{number}")]
    assert given_up == [0]
    world.advance(31)
    assert all(("unreachable", "NoExecute") in taints(world, f"n{number}") for number in range(4))


def test_a_fifth_of_the_nodes_fails_and_every_job_still_finishes_once(new_world, pod_template):
    world = with_controllers(new_world(), 50)
    stream = world.store.clock
    for number in range(100):
        world.create(JOBS, f"job-{number}", settle=False, spec={"template": pod_template(restartPolicy="Never")})
    stream.settle()
    for number, pod in enumerate(world.pods()):
        world.bind(pod, f"n{number % 50}")
        world.set_phase(pod, "Running", settle=False)
    stream.settle()
    lost = {f"n{number}" for number in range(10)}
    fail(world, *sorted(lost))
    for pod in world.pods():
        if pod["spec"]["nodeName"] not in lost:
            world.set_phase(pod, "Succeeded", settle=False)
    world.advance(400)
    for pod in world.pods("Pending"):
        world.bind(pod, "n20")
        world.set_phase(pod, "Running", settle=False)
    stream.settle()
    for pod in world.pods("Running"):
        world.set_phase(pod, "Succeeded", settle=False)
    world.advance(10)
    statuses = [job["status"] for job in world.store.list(JOBS)]
    assert all(status["conditions"][-1]["type"] == "Complete" for status in statuses)
    assert {status["succeeded"] for status in statuses} == {1}
    assert sum(status.get("failed", 0) for status in statuses) == 20
