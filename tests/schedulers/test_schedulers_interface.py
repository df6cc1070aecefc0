"""Schedulers of one's own: loading them from a file, and what becomes of their decisions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ghostfleet.schedulers.framework import Bind, Decision, Session
from ghostfleet.schedulers.framework.own import OwnScheduler, load_scheduler

EXAMPLE = Path(__file__).parents[2] / "examples" / "02-own-scheduler.py"


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
        ("nothing", "expected path.py:Class"),
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
