"""The queue: who is next, who waits, and what wakes them; and preemption, which happens between two tries."""

from __future__ import annotations

from typing import Any

from ghostfleet.core.clock import SECOND
from ghostfleet.core.latency import Client, parse_curve
from ghostfleet.core.ratelimit import TokenBucket
from ghostfleet.schedulers.framework import Pace


def test_higher_priority_goes_first_then_age(lab: Any) -> None:
    for name, priority in (("low", 1), ("high", 10), ("also-high", 10)):
        lab.gpus(name, 8, priority=priority)
    lab.node("n0")
    lab.node("n1")
    lab.run()
    assert lab.node_of("low") is None
    assert lab.node_of("high") is not None
    assert lab.node_of("also-high") is not None


def test_a_gated_pod_is_not_tried_until_its_gates_are_gone(lab: Any) -> None:
    lab.node("n0")
    pod = lab.pod("p", schedulingGates=[{"name": "wait"}])
    lab.run()
    assert lab.node_of("p") is None
    assert lab.events("p") == []
    spec = {key: value for key, value in pod["spec"].items() if key != "schedulingGates"}
    lab.store.update("pods", {**pod, "spec": spec})
    lab.run()
    assert lab.node_of("p") == "n0"


def test_pods_of_other_schedulers_are_left_alone_but_count(lab: Any) -> None:
    lab.node("n0")
    lab.gpus("foreign", 4, schedulerName="other")
    lab.gpus("there", 6, schedulerName="other", nodeName="n0")
    lab.gpus("mine", 4)
    lab.run()
    assert lab.node_of("foreign") is None
    assert lab.node_of("mine") is None


def test_many_waiting_pods_go_in_order_as_room_appears(lab: Any) -> None:
    lab.node("n0")
    for index in range(100):
        lab.gpus(f"p{index:03}", 8)
    lab.run()
    for index in range(99):
        assert [name for name in names(lab) if lab.node_of(name)] == [f"p{index:03}"]
        assert "Insufficient nvidia.com/gpu" in lab.message(f"p{index + 1:03}")
        lab.delete(f"p{index:03}")
        lab.run()


def names(lab: Any) -> list[str]:
    return [pod["metadata"]["name"] for pod in lab.store.list("pods")]


def test_a_pod_at_the_head_of_the_line_that_is_deleted_does_not_stop_the_line(lab: Any) -> None:
    lab.node("n0")
    lab.gpus("running", 8)
    lab.run()
    for index in range(50):
        lab.gpus(f"p{index:02}", 8)
    lab.run()
    lab.delete("running")
    lab.delete("p00")
    lab.run()
    assert lab.node_of("p01") == "n0"


def test_a_waiting_pod_that_is_changed_is_tried_again(lab: Any) -> None:
    lab.node("n0", taints=[{"key": "gpu", "effect": "NoSchedule"}])
    lab.pod("p")
    lab.run()
    pod = lab.get("p")
    lab.store.update("pods", {**pod, "spec": {**pod["spec"], "tolerations": [{"operator": "Exists"}]}})
    lab.run()
    assert lab.node_of("p") == "n0"


def test_a_pending_pod_does_not_keep_the_clock_running(lab: Any) -> None:
    lab.node("n0")
    lab.gpus("big", 9)
    lab.gpus("small", 1)
    lab.start()
    lab.clock.run()
    assert lab.node_of("big") is None
    assert lab.clock.pending == 0


def test_the_condition_keeps_its_time_while_only_its_words_change(lab: Any) -> None:
    lab.node("n0")
    lab.gpus("p", 9)
    lab.run()
    first = lab.condition("p")
    lab.clock.advance(60 * SECOND)
    lab.node("n1", allocatable={"cpu": "0"}, gpus=10, taints=[{"key": "x", "effect": "NoSchedule"}])
    lab.store.delete("nodes", "", "n0")
    lab.node("n2", gpus=9, allocatable={"pods": "0"})
    pod = lab.get("p")
    lab.store.update("pods", {**pod, "metadata": {**pod["metadata"], "labels": {"changed": "yes"}}})
    lab.run()
    second = lab.condition("p")
    assert second["message"] != first["message"]
    assert second["lastTransitionTime"] == first["lastTransitionTime"]


def test_a_pod_tells_its_story_in_events(lab: Any) -> None:
    lab.node("n0")
    lab.gpus("first", 8)
    lab.run()
    lab.gpus("second", 8)
    lab.run()
    lab.finish("first")
    lab.run()
    failed, scheduled = lab.events("second")
    assert (failed["type"], failed["reason"], failed["action"]) == ("Warning", "FailedScheduling", "Scheduling")
    assert failed["message"] == (
        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. no new claims to deallocate, "
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )
    assert (scheduled["type"], scheduled["reason"], scheduled["action"]) == ("Normal", "Scheduled", "Binding")
    assert scheduled["message"] == "Successfully assigned default/second to n0"
    assert scheduled["reportingComponent"] == "default-scheduler"


def test_the_same_failure_again_becomes_a_series(lab: Any) -> None:
    lab.node("n0")
    lab.gpus("p", 9)
    lab.run()
    for step in range(3):
        pod = lab.get("p")
        recorder = lab.scheduler.writer._recorder(pod)
        recorder.record(pod, "Warning", "FailedScheduling", "Scheduling", f"again {step}")
    event = lab.events("p")[-1]
    assert event["message"] == "again 0"
    assert event["series"]["count"] == 2


# -- modelled speed ---------------------------------------------------------------------------------------------------


def test_a_limited_client_binds_no_faster_than_it_may(lab: Any) -> None:
    lab.node("n0", allocatable={"pods": "1000"})
    lab.start(pace=Pace(Client(TokenBucket(10, 5))))
    for index in range(25):
        lab.pod(f"p{index:02}")
    lab.clock.settle()
    assert sum(bool(lab.node_of(name)) for name in names(lab)) == 5
    lab.clock.advance(SECOND)
    assert sum(bool(lab.node_of(name)) for name in names(lab)) == 15
    lab.clock.run()
    assert all(lab.node_of(name) for name in names(lab))


def test_room_is_not_given_twice_while_a_binding_is_on_its_way(lab: Any) -> None:
    lab.node("n0")
    lab.start(pace=Pace(Client(TokenBucket(1, 1))))
    for name in ("a", "b", "c"):
        lab.gpus(name, 4)
    lab.clock.run()
    assert [bool(lab.node_of(name)) for name in ("a", "b", "c")] == [True, True, False]


def test_a_pod_deleted_while_its_binding_is_on_its_way_gives_its_room_back(lab: Any) -> None:
    lab.node("n0")
    lab.start(pace=Pace(Client(TokenBucket(1, 1))))
    lab.gpus("a", 1)
    lab.gpus("b", 7)
    lab.clock.settle()
    lab.delete("b")
    lab.gpus("c", 7)
    lab.clock.run()
    assert lab.node_of("c") == "n0"


def test_a_cycle_takes_its_time(lab: Any) -> None:
    lab.node("n0")
    lab.start(pace=Pace(cycle_cost=parse_curve("1ms")))
    for index in range(10):
        lab.pod(f"p{index}")
    start = lab.clock.now()
    lab.clock.run()
    assert lab.clock.now() - start == 10 * 1000
    assert all(lab.node_of(name) for name in names(lab))


def test_a_cycle_takes_longer_with_more_nodes_and_a_binding_comes_after_it(lab: Any) -> None:
    for index in range(3):
        lab.node(f"n{index}")
    client = Client(requests={"create binding": (5000,)}, informer=(100,))
    lab.start(pace=Pace(client, parse_curve("1ms at 1, 2ms at 2")))
    lab.clock.run()
    start = lab.clock.now()
    lab.pod("p")
    lab.clock.run(until=start + 100 + 3000 + 5000 - 1)
    assert lab.node_of("p") is None
    lab.clock.run(until=start + 100 + 3000 + 5000)
    assert lab.node_of("p") is not None


# -- preemption -------------------------------------------------------------------------------------------------------


def grow_up(lab: Any) -> None:
    """Let pods that are asked to go, go."""
    for pod in lab.store.list("pods"):
        if "deletionTimestamp" in pod["metadata"]:
            lab.delete(pod["metadata"]["name"])
    lab.run()


def test_a_more_important_pod_gets_the_room_of_a_less_important_one(lab: Any) -> None:
    lab.node("n0")
    lab.gpus("low", 8, priority=1)
    lab.run()
    lab.gpus("high", 8, priority=10)
    lab.run()
    assert lab.get("high")["status"]["nominatedNodeName"] == "n0"
    assert lab.message("high") == "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
    low = lab.get("low")
    assert low["metadata"]["deletionGracePeriodSeconds"] == 30
    condition = next(each for each in low["status"]["conditions"] if each["type"] == "DisruptionTarget")
    assert condition["reason"] == "PreemptionByScheduler"
    assert condition["message"] == "default-scheduler: preempting to accommodate a higher priority pod"
    event = lab.events("low")[-1]
    assert (event["reason"], event["action"], event["type"]) == ("Preempted", "Preempting", "Normal")
    assert event["message"] == f"Preempted by pod {lab.get('high')['metadata']['uid']} on node n0"
    grow_up(lab)
    assert lab.node_of("high") == "n0"
    assert "nominatedNodeName" not in lab.get("high")["status"]


def test_room_that_is_promised_is_not_given_to_others(lab: Any) -> None:
    lab.node("n0")
    lab.gpus("low", 8, priority=1)
    lab.run()
    lab.gpus("high", 8, priority=10)
    lab.run()
    lab.gpus("sneaky", 8, priority=10)
    grow_up(lab)
    assert lab.node_of("high") == "n0"
    assert lab.node_of("sneaky") is None


def test_preemption_spares_budgets_when_it_can(lab: Any) -> None:
    for index in range(2):
        lab.node(f"n{index}")
    lab.gpus("guarded", 8, priority=1, nodeName="n0", labels={"app": "db"})
    lab.gpus("plain", 8, priority=2, nodeName="n1")
    selector = {"matchLabels": {"app": "db"}}
    status = {"disruptionsAllowed": 0}
    budget = {"kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": {"selector": selector}}
    lab.put({**budget, "status": status})
    lab.gpus("high", 8, priority=10)
    lab.run()
    assert lab.get("high")["status"]["nominatedNodeName"] == "n1"


def test_preemption_takes_the_pods_that_started_last(lab: Any) -> None:
    for index, started in enumerate(("2026-01-01T00:00:00Z", "2026-01-01T09:00:00Z")):
        lab.node(f"n{index}")
        pod = lab.gpus(f"low{index}", 8, priority=1, nodeName=f"n{index}")
        lab.store.patch_status("pods", "default", f"low{index}", {**pod["status"], "startTime": started})
    lab.gpus("high", 8, priority=10)
    lab.run()
    assert lab.get("high")["status"]["nominatedNodeName"] == "n1"


def test_a_pod_that_may_not_preempt_waits(lab: Any) -> None:
    lab.node("n0")
    lab.gpus("low", 8, priority=1, nodeName="n0")
    lab.gpus("high", 8, priority=10, preemptionPolicy="Never")
    lab.run()
    assert lab.message("high").endswith("preemption: not eligible due to preemptionPolicy=Never.")
    assert "deletionTimestamp" not in lab.get("low")["metadata"]


def test_while_victims_go_a_pod_preempts_no_more(lab: Any) -> None:
    lab.node("n0")
    lab.node("n1")
    for index in range(2):
        lab.gpus(f"low{index}", 8, priority=1, nodeName=f"n{index}")
    lab.gpus("high", 8, priority=10)
    lab.run()
    pod = lab.get("high")
    lab.store.update("pods", {**pod, "metadata": {**pod["metadata"], "labels": {"changed": "yes"}}})
    lab.run()
    marked = [each for each in lab.store.list("pods") if "deletionTimestamp" in each["metadata"]]
    assert len(marked) == 1
    assert lab.message("high").endswith("preemption: not eligible due to a terminating pod on the nominated node.")


def test_a_less_important_promise_is_taken_back(lab: Any) -> None:
    lab.node("n0")
    lab.gpus("low", 8, priority=1)
    lab.run()
    lab.gpus("middle", 8, priority=5)
    lab.run()
    assert lab.get("middle")["status"]["nominatedNodeName"] == "n0"
    lab.gpus("high", 8, priority=10)
    grow_up(lab)
    assert lab.node_of("high") == "n0"
    assert lab.node_of("middle") is None


def test_a_crowd_of_waiting_pods_does_not_keep_the_clock_running(lab: Any) -> None:
    lab.node("n0")
    lab.start()
    for index in range(80):
        lab.gpus(f"p{index:02}", 3)
        lab.gpus(f"q{index:02}", 5)
    lab.clock.run(lab.clock.now() + 1000 * SECOND)
    for name in ("p00", "q00"):
        if lab.node_of(name):
            lab.finish(name)
    lab.clock.run()
    assert lab.clock.pending == 0
    assert sum(bool(lab.node_of(name)) for name in names(lab)) >= 3


def test_a_pod_that_could_not_preempt_tries_again_when_less_important_pods_have_come(lab: Any) -> None:
    lab.node("n0")
    lab.gpus("a", 4, priority=10)
    lab.gpus("b", 4, priority=10)
    lab.run()
    lab.gpus("whole", 8, priority=10)
    lab.run()
    lab.finish("a")
    lab.gpus("low", 4, priority=1)
    lab.run()
    assert lab.node_of("low") == "n0"
    lab.finish("b")
    lab.run()
    grow_up(lab)
    assert lab.node_of("whole") == "n0"
