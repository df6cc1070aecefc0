"""Why an AppWrapper waits, told from API objects alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from mcad_runs import APPWRAPPERS, STAGES, Lab, custom, job, wrapper

from ghostfleet.core.timestamps import parse_rfc3339
from ghostfleet.dispatchers.mcad import explain


def told(lab: Lab, name: str):
    return lab.cluster.dispatcher.explain("default", name)


def test_it_adds_up_what_is_there_and_what_is_missing():
    lab = Lab("mcad-1.40", nodes=2, stages=str(STAGES))
    lab.submit(wrapper("first", job("first", gpus=8)))
    lab.advance(13)
    lab.submit(wrapper("second", job("second", gpus=16)))
    lab.advance(1)
    found = told(lab, "second")
    assert (found.terms.allocatable.gpu, found.terms.taken.gpu, found.terms.pending.gpu) == (16, 8, 0)
    assert found.terms.available.gpu == 8
    assert found.shortfall == {"nvidia.com/gpu": 8}
    assert found.verdict == "short of 8 nvidia.com/gpu"
    assert [holder.key for holder in found.holders] == [("default", "first")]


def test_it_tells_what_fits_in_aggregate_and_on_no_node():
    lab = Lab("mcad-1.40", nodes=2)
    lab.submit(wrapper("w", job("w", gpus=16)))
    lab.advance(20)
    # It is dispatched all the same; asked about one that waits the answer is the same.
    obj = {**lab.get("w"), "status": {**lab.status("w"), "state": "Pending", "canrun": False}}
    found = explain(
        ("default", "w"), [obj], lab.cluster.store.list("nodes"), [], [], lab.controller.profile, lab.clock.now()
    )
    assert found.verdict == "fits in aggregate, but no node has 16 nvidia.com/gpu free (largest free block 8)"
    assert found.largest.gpu == 8


def test_it_names_nodes_that_are_counted_but_out_of_reach():
    lab = Lab("mcad-1.32", nodes=1)
    lab.add_nodes(1, 8, first=5, labels={"type": "other"})
    lab.submit(wrapper("w", job("w", gpus=24)))
    lab.advance(30)
    node = lab.cluster.store.get("nodes", "", "kwok-node-1")
    lab.cluster.store.update("nodes", {**node, "spec": {**node["spec"], "unschedulable": True}})
    lab.advance(1)
    found = told(lab, "w")
    assert found.left_out == {"cordoned": ["kwok-node-1"]}
    assert found.out_of_reach == {"selector or affinity": ["kwok-node-5"]}


@pytest.mark.parametrize(("dispatcher", "order"), [("mcad-1.32", "cab"), ("mcad-1.40", "abc"), ("better", "cab")])
def test_it_knows_the_place_in_the_queue(dispatcher, order):
    lab = Lab(dispatcher, nodes=1)
    for name, priority in (("a", 0), ("b", 0), ("c", 5)):
        lab.submit(wrapper(name, job(name, gpus=99), priority=priority))
        lab.advance(1)
    assert {told(lab, name).position: name for name in "abc"} == dict(enumerate(order, 1))
    assert told(lab, "a").queued == 3


def test_it_knows_when_the_next_try_is_and_whom_the_worker_sleeps_for():
    lab = Lab("mcad-1.40", nodes=1)
    lab.submit(wrapper("big", job("big", gpus=16)))
    lab.advance(5)
    lab.submit(wrapper("small", job("small", gpus=1)))
    lab.advance(1)
    found = told(lab, "small")
    assert found.blocked_by == ("default", "big")
    assert found.verdict == "waits behind default/big"
    assert told(lab, "big").next_try == pytest.approx(lab.clock.now() + 14_000_000, abs=500_000)


def test_from_outside_the_next_try_is_estimated():
    lab = Lab("mcad-1.32", nodes=1)
    lab.submit(wrapper("w", job("w", gpus=16)))
    lab.advance(50)
    store = lab.cluster.store
    found = explain(
        ("default", "w"),
        store.list(APPWRAPPERS),
        store.list("nodes"),
        store.list("pods"),
        [],
        lab.controller.profile,
        lab.clock.now(),
    )
    (refused,) = [each for each in lab.status("w")["conditions"] if each["type"] == "Backoff"]
    assert found.next_try == parse_rfc3339(refused["lastTransitionMicroTime"]) + 60_000_000
    assert found.next_try == pytest.approx(told(lab, "w").next_try, abs=200_000)
    assert found.next_try_by.endswith("(estimated)")


def test_it_says_how_the_demand_was_computed_and_warns_where_it_is_misleading():
    lab = Lab("better", nodes=1)
    lab.submit(wrapper("w", job("w", parallelism=2), custompods=[custom(1, gpus=16)]))
    lab.advance(1)
    lines = told(lab, "w").lines()
    assert "  1 x 10m cpu, 10M memory, 16 nvidia.com/gpu, from GenericItems[0].custompodresources[0]" in lines
    assert any(line.startswith("warning: GenericItems[0]: custompodresources ask for") for line in lines)
    assert "next try: as soon as something becomes free" in lines


def test_one_that_runs_is_said_to_run():
    lab = Lab("mcad-1.40", stages=str(STAGES))
    lab.submit(wrapper("w", job("w")))
    lab.advance(3)
    found = told(lab, "w")
    assert (found.verdict, found.position) == ("it is Running", None)


def test_one_that_is_not_there_is_a_key_error():
    lab = Lab("mcad-1.40")
    with pytest.raises(KeyError):
        told(lab, "nobody")
