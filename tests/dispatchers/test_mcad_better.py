"""What the better dispatcher does better: it looks at nodes, waits for events, and lets nobody starve."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from mcad_runs import APPWRAPPERS, STAGES, Lab, custom, job, wrapper

from ghostfleet.core.timestamps import parse_rfc3339


def dispatched_at(lab: Lab, name: str) -> int:
    (found,) = [each for each in lab.status(name)["conditions"] if each["type"] == "Dispatched"]
    return parse_rfc3339(found["lastTransitionMicroTime"])


def test_a_node_that_comes_is_noticed_at_once():
    lab = Lab("better", nodes=1, gpus=4)
    lab.submit(wrapper("w", job("w", gpus=8)))
    lab.advance(7)
    assert lab.state("w") == "Pending"
    lab.add_nodes(1, 8, first=9)
    lab.advance(1)
    assert lab.state("w") == "Completed"


def test_room_that_becomes_free_is_given_away_at_once():
    lab = Lab("better", nodes=1, stages=str(STAGES))
    lab.submit(wrapper("first", job("first", gpus=8)))
    lab.submit(wrapper("second", job("second", gpus=8)))
    lab.advance(60)
    ended = next(each for each in lab.jobs() if each["metadata"]["name"] == "first")["status"]["completionTime"]
    assert abs(dispatched_at(lab, "second") - parse_rfc3339(ended)) < 2_000_000


def test_one_that_does_not_fit_keeps_nobody_waiting_who_does():
    lab = Lab("better", nodes=1)
    lab.submit(wrapper("big", job("big", gpus=16)))
    lab.submit(wrapper("small", job("small", gpus=4)))
    lab.advance(1)
    assert (lab.state("big"), lab.state("small")) == ("Pending", "Completed")


def test_the_most_important_goes_first_and_equals_by_arrival():
    lab = Lab("better", nodes=1, stages=str(STAGES))
    lab.submit(wrapper("holder", job("holder", gpus=8)))
    lab.advance(1)
    for name, priority in (("a", 1), ("b", 1), ("c", 5), ("d", 1)):
        lab.submit(wrapper(name, job(name, gpus=8), priority=priority))
    lab.advance(200)
    order = sorted("abcd", key=lambda name: dispatched_at(lab, name))
    assert order == ["c", "a", "b", "d"]


def test_pods_of_a_gang_are_promised_room_until_they_are_bound():
    lab = Lab("better", nodes=2, stages=str(STAGES))
    lab.submit(wrapper("gang", job("gang", gpus=8, parallelism=2)))
    lab.submit(wrapper("other", job("other", gpus=1)))
    lab.clock.settle()
    lab.advance(3)
    assert (lab.state("gang"), lab.state("other")) == ("Running", "Pending")


def test_gpus_that_are_only_declared_stay_taken_while_the_pods_run():
    lab = Lab("better", nodes=1, stages=str(STAGES))
    lab.submit(wrapper("says-eight", job("first"), custompods=[custom(1, gpus=8)]))
    lab.advance(3)
    lab.submit(wrapper("needs-one", job("second", gpus=1)))
    lab.advance(3)
    assert (lab.state("says-eight"), lab.state("needs-one")) == ("Running", "Pending")


def test_a_warning_tells_of_custompodresources_that_disagree():
    lab = Lab("better")
    lab.submit(wrapper("w", job("w"), custompods=[custom(1, gpus=8)]))
    lab.advance(1)
    told = [each for each in lab.cluster.store.list("events") if each["involvedObject"]["kind"] == "AppWrapper"]
    assert [(each["type"], each["reason"]) for each in told] == [("Warning", "ResourcesDisagree")]


def test_taints_selectors_and_cordons_are_looked_at():
    lab = Lab("better", nodes=2)
    picky = job("picky", nodeSelector={"type": "kwok", "disk": "ssd"})
    lab.submit(wrapper("picky", picky))
    shy = job("shy", tolerations=[])
    lab.submit(wrapper("shy", shy))
    lab.advance(1)
    for name, why in (("picky", "selector or affinity"), ("shy", "taint kwok.x-k8s.io/node")):
        told = lab.cluster.dispatcher.explain("default", name)
        assert told.verdict == "fits in aggregate, but none of 2 nodes is open to its pods"
        assert told.left_out == {why: ["kwok-node-1", "kwok-node-2"]}


def test_a_large_wrapper_gets_nodes_held_for_it_when_it_has_waited_long_enough():
    lab = Lab("better", nodes=1, stages=str(STAGES))
    started = 0

    def keep_busy() -> None:
        nonlocal started
        started += 1
        lab.submit(wrapper(f"small-{started}", job(f"small-{started}", gpus=4)))

    keep_busy()
    lab.advance(11)
    keep_busy()
    lab.submit(wrapper("large", job("large", gpus=8)))
    for _ in range(20):
        # Half of the node is always taken: without a reservation the large one would never fit.
        lab.advance(11)
        keep_busy()
    assert lab.state("large") in ("Running", "Completed")
    assert "small-4" in [each["metadata"]["name"] for each in lab.jobs()]


def test_a_pod_that_finds_no_node_after_all_gives_its_place_back():
    lab = Lab("better", nodes=1)
    apart = {"labelSelector": {"matchLabels": {"app": "w"}}, "topologyKey": "kubernetes.io/hostname"}
    pod = {
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}},
        "containers": [{"name": "main", "image": "app"}],
    }
    spec = {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "w"}},
        "template": {"metadata": {"labels": {"app": "w"}}, "spec": pod},
    }
    two = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w"}, "spec": spec}
    lab.submit(wrapper("w", two, completion=""))
    lab.advance(5)
    assert (lab.state("w"), len(lab.pods())) == ("Running", 2)
    lab.advance(30)
    assert (lab.state("w"), lab.pods()) == ("Pending", [])
    reasons = [each.get("reason") for each in lab.status("w")["conditions"]]
    assert reasons[-2:] == ["PodsFailedScheduling", "PreemptionTriggered"]


def test_failure_is_for_good():
    lab = Lab("better")
    lab.submit(wrapper("w", {"apiVersion": "v1", "kind": "Nothing", "metadata": {"name": "n"}}))
    lab.advance(100)
    assert lab.state("w") == "Failed"
    assert lab.conditions("w").count("Failed") == 1


def test_a_wrapper_whose_spec_is_changed_while_it_waits_is_looked_at_again():
    lab = Lab("better", nodes=1)
    lab.submit(wrapper("w", job("w", gpus=16)))
    lab.advance(1)
    smaller = wrapper("w", job("w", gpus=8))
    lab.cluster.store.update(APPWRAPPERS, {**lab.get("w"), "spec": smaller["spec"]})
    lab.advance(1)
    assert lab.state("w") == "Completed"


SIZES = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 3), st.integers(0, 2), st.floats(0, 30)), min_size=1, max_size=12
)


@settings(max_examples=15)
@given(sizes=SIZES)
def test_no_node_is_ever_promised_more_than_it_has_and_all_that_can_run_do(sizes):
    lab = Lab("better", nodes=2, stages=str(STAGES))
    table = lab.controller.occupancy.table
    for number, (gpus, pods, priority, gap) in enumerate(sizes):
        lab.submit(wrapper(f"w{number}", job(f"w{number}", gpus=gpus, parallelism=pods), priority=priority))
        lab.advance(gap)
        assert (table.free() >= 0).all()
    lab.advance(30 * len(sizes) + 120)
    assert (table.free() >= 0).all()
    for number, (gpus, pods, _, _) in enumerate(sizes):
        possible = gpus == 0 or (8 // gpus) * 2 >= pods
        assert (lab.state(f"w{number}") == "Completed") == possible
    # All is given back at the end.
    assert table.free().tolist() == table.total().tolist()
