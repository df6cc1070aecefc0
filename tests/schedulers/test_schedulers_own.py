"""Schedulers of one's own: loading them from a file, and what becomes of their decisions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ghostfleet.cluster import BARE, Cluster, ClusterConfig
from ghostfleet.core.clock import SECOND
from ghostfleet.core.latency import Client
from ghostfleet.core.ratelimit import TokenBucket
from ghostfleet.lab.progress import Silent
from ghostfleet.lab.stress import StressPlan, run_stress
from ghostfleet.schedulers.framework import Bind, Decision, Group, Pace, Session
from ghostfleet.schedulers.framework.own import OwnScheduler, load_scheduler

EXAMPLE = Path(__file__).parents[2] / "examples" / "02-own-scheduler.py"
GANGS = EXAMPLE.with_name("02-gang-scheduler.py")


class Nameless:
    """Has nothing that a scheduler needs."""


def test_the_example_packs_gpus(lab: Any) -> None:
    scheduler = load_scheduler(f"{EXAMPLE}:GpuBinpack")
    for index in range(3):
        lab.node(f"n{index}")
    OwnScheduler(lab.store, lab.clock, scheduler)
    for index in range(8):
        lab.gpus(f"p{index}", 1, schedulerName="gpu-binpack")
    lab.gpus("whole", 8, schedulerName="gpu-binpack")
    lab.clock.settle()
    packed = {lab.node_of(f"p{index}") for index in range(8)}
    assert len(packed) == 1
    assert lab.node_of("whole") not in packed
    assert lab.events("whole")[0]["message"] == f"Successfully assigned default/whole to {lab.node_of('whole')}"


def test_a_refused_pod_says_why_and_is_tried_again_when_something_changes(lab: Any) -> None:
    lab.node("n0")
    OwnScheduler(lab.store, lab.clock, load_scheduler(f"{EXAMPLE}:GpuBinpack"))
    lab.gpus("big", 16, schedulerName="gpu-binpack")
    lab.clock.run()
    assert lab.message("big") == "0/1 nodes have 16 nvidia.com/gpu left"
    assert lab.condition("big")["reason"] == "Unschedulable"
    lab.node("huge", gpus=16)
    lab.clock.run()
    assert lab.node_of("big") == "huge"


def test_it_runs_beside_the_default_scheduler(lab: Any) -> None:
    lab.node("n0")
    OwnScheduler(lab.store, lab.clock, load_scheduler(f"{EXAMPLE}:GpuBinpack"))
    lab.start()
    lab.gpus("mine", 4, schedulerName="gpu-binpack")
    lab.gpus("theirs", 4)
    lab.clock.run()
    assert (lab.node_of("mine"), lab.node_of("theirs")) == ("n0", "n0")


def test_a_snapshot_shows_what_is_left_and_who_waits_in_order(lab: Any) -> None:
    class Watcher:
        name = "watcher"

        def __init__(self) -> None:
            self.seen: list[Session] = []

        def schedule(self, session: Session) -> Iterator[Decision]:
            self.seen.append(session)
            yield from ()

    lab.node("n0")
    lab.gpus("there", 3, nodeName="n0")
    lab.gpus("low", 1, schedulerName="watcher")
    lab.gpus("high", 1, schedulerName="watcher", priority=5)
    watcher = Watcher()
    OwnScheduler(lab.store, lab.clock, watcher)
    lab.clock.settle()
    (session,) = watcher.seen
    assert session.nodes[0].free["nvidia.com/gpu"] == 5
    assert session.nodes[0].free["cpu"] == 8000
    assert [pod.key for pod in session.pending] == ["default/high", "default/low"]


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("nothing", "expected kai or path.py:Class"),
        ("missing.py:Thing", "there is no file missing.py"),
        (f"{EXAMPLE}:Missing", "there is no class Missing"),
        (f"{EXAMPLE}:Bind", "cannot be made without arguments"),
        (f"{__file__}:Nameless", "needs a `name`"),
    ],
)
def test_what_cannot_be_loaded_is_named(place: str, why: str) -> None:
    with pytest.raises(ValueError) as error:
        load_scheduler(place)
    assert why in str(error.value)


def test_a_binding_to_a_node_that_does_not_exist_is_an_error(lab: Any) -> None:
    class Wrong:
        name = "wrong"

        def schedule(self, session: Session) -> Iterator[Decision]:
            for pod in session.pending:
                yield Bind(pod, "nowhere")

    lab.pod("p", schedulerName="wrong")
    OwnScheduler(lab.store, lab.clock, Wrong())
    with pytest.raises(ValueError, match="no node 'nowhere'"):
        lab.clock.settle()


def gang(lab: Any, name: str, size: int, gpus: int, *, pods: int | None = None, **spec: Any) -> None:
    for index in range(size if pods is None else pods):
        labels = {"gang": name, "gang-size": str(size)}
        lab.gpus(f"{name}-{index}", gpus, schedulerName="gangs", labels=labels, **spec)


def nodes_of(lab: Any, name: str, size: int) -> list[str | None]:
    return [lab.node_of(f"{name}-{index}") for index in range(size)]


@pytest.fixture
def gangs(lab: Any) -> Any:
    """Two nodes of eight GPUs, and the example's scheduler."""
    lab.node("n0")
    lab.node("n1")
    OwnScheduler(lab.store, lab.clock, load_scheduler(f"{GANGS}:Gangs"))
    return lab


def test_a_gang_runs_as_a_whole_or_not_at_all(gangs: Any) -> None:
    gang(gangs, "fits", 3, 4)
    gang(gangs, "large", 3, 4)
    gangs.clock.settle()
    assert None not in nodes_of(gangs, "fits", 3)
    assert nodes_of(gangs, "large", 3) == [None] * 3
    assert gangs.message("large-0") == "no room for all 3 pods of its gang"


def test_a_gang_waits_for_its_last_pod(gangs: Any) -> None:
    gang(gangs, "g", 2, 8, pods=1)
    gangs.clock.settle()
    assert gangs.message("g-0") == "waits for the rest of its gang"
    gangs.gpus("g-1", 8, schedulerName="gangs", labels={"gang": "g", "gang-size": "2"})
    gangs.clock.settle()
    assert sorted(nodes_of(gangs, "g", 2)) == ["n0", "n1"]


def test_a_gang_evicts_less_important_pods_and_is_bound_when_they_are_gone(gangs: Any) -> None:
    gang(gangs, "low", 3, 4)
    gangs.clock.settle()
    gang(gangs, "high", 2, 8, priority=10)
    gangs.clock.settle()
    victims = [each for each in gangs.store.list("pods") if "deletionTimestamp" in each["metadata"]]
    assert len(victims) == 3
    assert all("makes room for a gang" in each["status"]["conditions"][-1]["message"] for each in victims)
    nominated = {gangs.get(f"high-{index}")["status"]["nominatedNodeName"] for index in range(2)}
    assert nominated == {"n0", "n1"}
    # As long as one victim is there nobody of the gang is bound, nor does anybody else take the room.
    for each in victims[:-1]:
        gangs.delete(each["metadata"]["name"])
    gang(gangs, "late", 1, 1)
    gangs.clock.settle()
    assert nodes_of(gangs, "high", 2) == [None, None]
    assert nodes_of(gangs, "late", 1) == [None]
    gangs.delete(victims[-1]["metadata"]["name"])
    gangs.clock.settle()
    assert sorted(nodes_of(gangs, "high", 2)) == ["n0", "n1"]


def test_nothing_of_a_group_is_written_when_one_of_its_pods_is_gone(lab: Any) -> None:
    class Late:
        name = "late"

        def schedule(self, session: Session) -> Iterator[Decision | Group]:
            if len(session.pending) == 2:
                decided = Group(*(Bind(pod, "n0") for pod in session.pending))
                lab.delete("p0")
                yield decided

    lab.node("n0")
    OwnScheduler(lab.store, lab.clock, Late())
    lab.gpus("p0", 1, schedulerName="late")
    lab.gpus("p1", 1, schedulerName="late")
    lab.clock.settle()
    assert lab.node_of("p1") is None


def test_a_group_waits_for_the_client_as_a_whole(lab: Any) -> None:
    lab.node("n0")
    pace = Pace(Client(TokenBucket(1, 1), {"create binding": (SECOND,)}))
    OwnScheduler(lab.store, lab.clock, load_scheduler(f"{GANGS}:Gangs"), pace)
    gang(lab, "g", 3, 2)
    lab.clock.settle()
    assert nodes_of(lab, "g", 3) == [None] * 3
    lab.clock.run(until=lab.clock.now() + 3 * SECOND - 1)
    assert nodes_of(lab, "g", 3) == [None] * 3
    lab.clock.run(until=lab.clock.now() + 1)
    assert nodes_of(lab, "g", 3) == ["n0"] * 3


def test_a_scheduler_with_a_period_is_called_by_the_clock(lab: Any) -> None:
    class Ticking:
        name = "ticking"
        period = "1s"

        def __init__(self) -> None:
            self.times: list[int] = []

        def schedule(self, session: Session) -> Iterator[Decision]:
            self.times.append(session.now)
            if len(self.times) == 3:
                yield from (Bind(pod, "n0") for pod in session.pending)

    lab.node("n0")
    ticking = Ticking()
    OwnScheduler(lab.store, lab.clock, ticking)
    lab.gpus("p", 1, schedulerName="ticking")
    lab.clock.run()
    assert [time - ticking.times[0] for time in ticking.times] == [0, SECOND, 2 * SECOND]
    assert lab.node_of("p") == "n0"


def test_it_takes_the_place_of_the_default_scheduler_in_tests_of_whole_clusters(lab: Any) -> None:
    own = (f"{EXAMPLE}:GpuBinpack",)
    (trial,) = run_stress(
        StressPlan(jobs=(5,), scheduling=ClusterConfig(schedulers=own, replaces_default=True)), Silent()
    )
    assert trial.jobs == 5
    cluster = Cluster(config=ClusterConfig(without=BARE.without, schedulers=own, replaces_default=True))
    lab.store = cluster.store
    lab.node("n0")
    lab.node("n1")
    for index in range(6):
        lab.gpus(f"p{index}", 1)
    cluster.clock.settle()
    assert len({pod["spec"]["nodeName"] for pod in cluster.store.list("pods")}) == 1
