"""The fleet: nodes that live and fail, pods that fit or do not, what pods ask for themselves."""

from __future__ import annotations

import orjson
import pytest

from ghostfleet.core.clock import SECOND
from ghostfleet.stages.catalogue import stage_definition

LEASES = "leases.coordination.k8s.io"


def condition(obj, kind):
    return next(each["status"] for each in obj["status"]["conditions"] if each["type"] == kind)


# -- nodes -------------------------------------------------------------------------------------------------------------


def test_a_node_becomes_ready_with_what_it_stated_and_what_it_left_out(make_world):
    world = make_world()
    world.nodes(2, gpus=8)
    first, second = world.get("node-0", "nodes"), world.get("node-1", "nodes")
    assert condition(first, "Ready") == "True"
    assert first["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert first["status"]["phase"] == "Running"
    assert first["status"]["nodeInfo"]["kubeletVersion"] == "kwok-v0.8.0"
    addresses = {each["type"]: each["address"] for each in first["status"]["addresses"]}
    assert addresses == {"Hostname": "node-0", "InternalIP": "172.16.0.1"}
    assert second["status"]["addresses"] != first["status"]["addresses"]


def test_a_kwok_node_without_any_status_gets_the_usual_capacity(make_world):
    world = make_world()
    metadata = {"name": "bare", "annotations": {"kwok.x-k8s.io/node": "fake"}}
    world.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    world.run()
    assert world.get("bare", "nodes")["status"]["allocatable"] == {"cpu": "1k", "memory": "1Ti", "pods": "1M"}


def test_only_nodes_that_are_selected_are_managed(make_world):
    world = make_world(node_annotations="kwok.x-k8s.io/node=fake")
    world.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "real"}})
    world.nodes()
    world.pod("on-real", node="real")
    world.pod("on-fake")
    world.run(10)
    assert "conditions" not in world.get("real", "nodes")["status"]
    assert (world.phase("on-real"), world.phase("on-fake")) == ("Pending", "Running")


def test_objects_that_are_to_be_disregarded_are_left_alone(world):
    world.pod(annotations={"kwok.x-k8s.io/status": "custom"})
    world.run(10)
    assert world.phase() == "Pending"


def test_heartbeats_come_every_ten_minutes(make_world):
    world = make_world(heartbeats=True)
    world.nodes(3)
    world.run(615)
    for number in range(3):
        beats = {each["lastHeartbeatTime"] for each in world.get(f"node-{number}", "nodes")["status"]["conditions"]}
        assert len(beats) == 1
        assert beats.pop() >= "2026-01-01T00:10:00Z"


# -- leases ------------------------------------------------------------------------------------------------------------


def test_lazy_leases_cost_nothing_and_still_know_when_they_were_renewed(world):
    world.run(95)
    assert world.store.get(LEASES, "kube-node-lease", "node-0")["spec"]["renewTime"] == "2026-01-01T00:00:00.000000Z"
    assert world.fleet.leases.renewed("node-0") == world.start + 90 * SECOND
    world.fleet.leases.write_all()
    assert world.store.get(LEASES, "kube-node-lease", "node-0")["spec"]["renewTime"] == "2026-01-01T00:01:30.000000Z"
    assert world.clock.next_deadline() is None


def test_live_leases_are_renewed_every_ten_seconds_with_one_timer_for_all_nodes(make_world):
    world = make_world(leases="live")
    world.nodes(50)
    assert world.clock.pending == 1
    world.run(25)
    renewed = {each["spec"]["renewTime"] for each in world.store.list(LEASES)}
    assert renewed == {"2026-01-01T00:00:20.000000Z"}


def test_a_node_that_comes_back_under_its_name_has_a_lease_of_its_own(world):
    world.pod("survivor", requests={"cpu": "1"})
    world.run(30)
    world.delete("Node", "node-0")
    world.run(30)
    world.nodes()
    world.delete("Pod", "survivor", grace_seconds=0)
    world.run()
    (owner,) = world.store.get(LEASES, "kube-node-lease", "node-0")["metadata"]["ownerReferences"]
    assert owner["uid"] == world.get("node-0", "nodes")["metadata"]["uid"]
    assert world.fleet.leases.alive("node-0")


def test_a_lease_belongs_to_its_node(world):
    (owner,) = world.store.get(LEASES, "kube-node-lease", "node-0")["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("Node", "node-0")


def test_a_node_that_failed_is_silent_and_so_are_its_pods_until_it_recovers(make_world):
    world = make_world("general", leases="live")
    world.nodes(2)
    told = []
    world.fleet.leases.listen(lambda name, alive: told.append((name, alive)))
    world.pod("victim")
    world.pod("bystander", node="node-1")
    world.run(3)
    world.fleet.fail_node("node-0")
    world.run(60)
    assert (world.phase("victim"), world.phase("bystander")) == ("Pending", "Running")
    assert world.fleet.leases.renewed("node-0") == world.start
    assert world.store.get(LEASES, "kube-node-lease", "node-1")["spec"]["renewTime"] == "2026-01-01T00:01:00.000000Z"
    world.fleet.recover_node("node-0")
    world.run(15)
    assert world.phase("victim") == "Running"
    assert told == [("node-0", False), ("node-0", True)]


def test_a_pod_on_a_failed_node_is_not_removed_by_anyone_but_force(world):
    world.pod()
    world.run()
    world.fleet.fail_node("node-0")
    world.delete("Pod", "pod")
    world.run(100)
    assert world.phase() == "Running"
    world.delete("Pod", "pod", grace_seconds=0)
    assert world.phase() == "gone"


def test_a_stage_can_make_a_node_fail(make_world):
    stage = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": "power-cut"},
        "spec": {
            "resourceRef": {"kind": "Node"},
            "selector": {"matchLabels": {"unlucky": "yes"}},
            "delay": {"durationMilliseconds": 5000},
            "steps": [{"patch": {"root": "metadata", "template": 'annotations: {ghostfleet.dev/failed: "true"}'}}],
        },
    }
    world = make_world([stage])
    world.nodes(1, labels={"unlucky": "yes"})
    world.run(4)
    assert world.fleet.leases.alive("node-0")
    world.run(1)
    assert not world.fleet.leases.alive("node-0")


# -- admission ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("requests", "reason", "message"),
    [
        (
            {"nvidia.com/gpu": "16"},
            "OutOfnvidia.com/gpu",
            "Node didn't have enough resource: nvidia.com/gpu, requested: 16, used: 0, capacity: 8",
        ),
        (
            {"cpu": "33"},
            "OutOfcpu",
            "Node didn't have enough resource: cpu, requested: 33000, used: 0, capacity: 32000",
        ),
    ],
)
def test_a_pod_beyond_what_its_node_has_is_rejected_as_a_kubelet_would(make_world, requests, reason, message):
    world = make_world()
    world.nodes(1, gpus=8)
    world.pod(requests=requests)
    world.run(10)
    status = world.get()["status"]
    assert (status["phase"], status["reason"]) == ("Failed", reason)
    assert status["message"] == f"Pod was rejected: {message}"
    assert world.teller.events == [("pod", "Warning", reason, message)]


def test_pods_are_counted_until_they_end(make_world):
    world = make_world("general")
    world.nodes(1, gpus=8)
    world.pod("first", requests={"nvidia.com/gpu": "8"}, job=True)
    world.pod("second", requests={"nvidia.com/gpu": "1"})
    world.run(30)
    world.pod("third", requests={"nvidia.com/gpu": "8"})
    world.run(30)
    assert (world.phase("first"), world.phase("second"), world.phase("third")) == ("Succeeded", "Failed", "Running")


def test_a_rejected_pod_is_not_brought_to_life_by_a_stage_that_looks_for_pods_without_an_address(
    make_world, make_stage
):
    stage = make_stage("pod-create", "Failed", "Running")
    stage["spec"]["selector"] = {"matchExpressions": [{"key": ".status.podIP", "operator": "DoesNotExist"}]}
    world = make_world([stage])
    world.nodes(1, gpus=8)
    world.pod(requests={"nvidia.com/gpu": "9"})
    world.run(60)
    assert world.phase() == "Failed"


def test_the_number_of_pods_is_limited_too(make_world):
    world = make_world()
    world.nodes(1, pods="2")
    for name in ("a", "b", "c"):
        world.pod(name)
    world.run()
    assert [world.phase(name) for name in ("a", "b", "c")] == ["Running", "Running", "Failed"]
    assert world.get("c")["status"]["reason"] == "OutOfpods"
    world.delete("Pod", "a", grace_seconds=0)
    world.pod("d")
    world.run()
    assert world.phase("d") == "Running"


def test_admission_can_be_switched_off(make_world):
    world = make_world(admission=False)
    world.nodes(1, gpus=8)
    world.pod(requests={"nvidia.com/gpu": "16"})
    world.run()
    assert world.phase() == "Running"


# -- what pods ask for -------------------------------------------------------------------------------------------------


def test_a_pod_runs_as_long_as_it_says_whether_a_stage_ends_it_or_not(make_world):
    for stages in ("fast", "general"):
        world = make_world(stages)
        world.nodes()
        world.pod("of-job", annotations={"ghostfleet.dev/duration": "90s"}, job=True)
        world.pod("plain", annotations={"ghostfleet.dev/duration": "1m"})
        world.run(200)
        for name, seconds in (("of-job", 90), ("plain", 60)):
            times = world.times(name)
            assert times["Succeeded"] - times["Running"] == pytest.approx(seconds, abs=1e-6)


def test_a_duration_counts_from_the_start_even_if_the_pod_changes_meanwhile(world):
    world.pod(annotations={"ghostfleet.dev/duration": "90s"})
    world.run(30)
    world.patch("Pod", "pod", {"metadata": {"labels": {"x": "y"}}})
    world.run(100)
    assert world.times()["Succeeded"] == 90


def test_a_job_says_how_long_its_pods_run(world):
    reference = world.job_reference(**{"ghostfleet.dev/duration": "30s"})
    world.pod(ownerReferences=[reference])
    world.run(60)
    assert world.times()["Succeeded"] == 30


def test_durations_are_read_from_commands_when_asked(make_world):
    for commands, end in (("played", 10), ("endless", 0), ("ignored", 0)):
        world = make_world(commands=commands)
        world.nodes()
        world.pod(command=["sleep", "10"], job=True)
        world.run(60)
        assert world.times()["Succeeded"] == end


def test_a_pod_that_waits_for_ever_is_ended_by_no_stage_where_commands_count(make_world):
    for commands, phase in (("played", "Running"), ("endless", "Running"), ("ignored", "Succeeded")):
        world = make_world(commands=commands)
        world.nodes()
        world.pod(command=["sh", "-c", "sleep infinity"], job=True)
        world.run(3600)
        assert world.phase() == phase


def test_init_containers_take_their_time_where_commands_are_played(make_world):
    for commands, start in (("played", 12), ("endless", 0)):
        world = make_world(commands=commands)
        world.nodes()
        first, second = ({"name": f"init-{each}", "image": "x", "command": ["sleep", each]} for each in ("5", "7"))
        world.pod(spec={"initContainers": [first, second]})
        world.run(60)
        assert world.times()["Running"] == start


def test_pods_fail_as_likely_as_they_say(make_world):
    world = make_world(seed=1)
    world.nodes(10)
    for number in range(400):
        more = {"ghostfleet.dev/failure-probability": "0.25"}
        world.pod(f"pod-{number}", node=f"node-{number % 10}", annotations=more, job=True)
    world.run()
    failed = [number for number in range(400) if world.phase(f"pod-{number}") == "Failed"]
    assert 70 < len(failed) < 130
    terminated = world.get(f"pod-{failed[0]}")["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (1, "Error")


def test_the_time_to_start_follows_the_stated_distribution(make_world):
    world = make_world(seed=3)
    world.nodes(10)
    for number in range(400):
        more = {"ghostfleet.dev/startup": "exponential(2s)"}
        world.pod(f"pod-{number}", node=f"node-{number % 10}", annotations=more)
    world.run(60)
    starts = sorted(world.times(f"pod-{number}")["Running"] for number in range(400))
    assert 1.7 < sum(starts) / 400 < 2.3
    assert 1.1 < starts[200] < 1.7


def test_a_wish_that_makes_no_sense_is_told(world):
    world.pod(annotations={"ghostfleet.dev/duration": "soon"}, job=True)
    world.run()
    assert world.phase() == "Succeeded"
    assert any("ghostfleet.dev/duration" in problem and "'soon'" in problem for problem in world.fleet.problems)


def test_a_delay_that_kwok_ignores_in_silence_is_told(make_world):
    world = make_world("general")
    world.nodes()
    world.pod(annotations={"pod-create.stage.kwok.x-k8s.io/delay": "60"})
    world.run(60)
    assert world.phase() == "Running"
    (problem,) = world.fleet.problems
    assert "'60'" in problem
    assert "pod-create" in problem


# -- stages applied at run time ----------------------------------------------------------------------------------------


def apply_definition(world):
    world.create(stage_definition())
    world.run()


def test_stages_can_be_applied_and_taken_back_at_run_time(world, make_stage):
    apply_definition(world)
    slow = make_stage("pod-ready", "Pending", "Running", delay={"durationMilliseconds": 30_000})
    world.create(slow)
    world.run()
    (condition,) = world.store.get("stages.kwok.x-k8s.io", "", "pod-ready")["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Loaded", "True")
    world.pod("slow")
    world.run(29)
    assert world.phase("slow") == "Pending"
    world.run(1)
    assert world.phase("slow") == "Running"
    world.delete("Stage", "pod-ready", api_version="kwok.x-k8s.io/v1alpha1")
    world.run()
    world.pod("fast")
    world.run()
    assert world.phase("fast") == "Running"


def test_an_applied_stage_that_cannot_be_read_says_why_and_is_not_played(world, make_stage):
    apply_definition(world)
    broken = make_stage("pod-ready", "Pending", "Running")
    broken["spec"]["selector"]["matchExpressions"][0]["key"] = ".status | nonsense"
    world.create(broken)
    world.run()
    (condition,) = world.store.get("stages.kwok.x-k8s.io", "", "pod-ready")["status"]["conditions"]
    assert condition["status"] == "False"
    assert "stage 'pod-ready'" in condition["message"]
    assert "nonsense" in condition["message"]
    world.pod()
    world.run()
    assert world.phase() == "Running"


def test_stages_of_a_kind_that_comes_later_wait_for_it(world):
    apply_definition(world)
    stage = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": "widget-done"},
        "spec": {
            "resourceRef": {"apiGroup": "example.com/v1", "kind": "Widget"},
            "selector": {"matchExpressions": [{"key": ".status.done", "operator": "DoesNotExist"}]},
            "next": {"statusTemplate": "done: {{ Now | Quote }}"},
        },
    }
    world.create(stage)
    world.run()
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    names = {"kind": "Widget", "plural": "widgets", "singular": "widget"}
    world.create(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": names,
                "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
            },
        }
    )
    world.run(5)
    world.create({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}})
    world.run(1)
    assert world.get("w", "widgets.example.com")["status"]["done"] == "2026-01-01T00:00:05Z"


# -- determinism -------------------------------------------------------------------------------------------------------


def event_log(make_world, seed):
    world = make_world("general+chaos", seed=seed, heartbeats=True)
    lines = []
    world.store.listen_to_all(lambda change: lines.append(orjson.dumps((change.type, change.new))))
    world.nodes(20)
    for number in range(200):
        wish = {"ghostfleet.dev/duration": "lognormal(20s, 1)"} if number % 3 == 0 else {}
        world.pod(f"pod-{number}", node=f"node-{number % 20}", annotations=wish, job=number % 2 == 0)
    world.run(1300)
    return b"\n".join(lines)


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others(make_world):
    first, again, other = event_log(make_world, 7), event_log(make_world, 7), event_log(make_world, 8)
    assert first == again
    assert first != other
