"""Work queues: each key once, after the write that woke it, and no failure takes others along."""

from __future__ import annotations

import pytest

from ghostfleet.controllers.queue import WorkQueue
from ghostfleet.core.clock import SECOND, VirtualClock


def test_a_key_added_often_is_worked_on_once():
    clock, done = VirtualClock(), []
    queue: WorkQueue[str] = WorkQueue(clock, done.append)
    for key in ("a", "b", "a"):
        queue.add(key)
    assert done == []
    clock.settle()
    assert done == ["a", "b"]


def test_a_key_added_while_it_is_worked_on_comes_again():
    clock, done = VirtualClock(), []

    def work(key: str) -> None:
        done.append(key)
        if len(done) < 3:
            queue.add(key)

    queue: WorkQueue[str] = WorkQueue(clock, work)
    queue.add("a")
    clock.settle()
    assert done == ["a", "a", "a"]


def test_later_work_waits_and_the_last_word_counts():
    clock, done = VirtualClock(), []
    queue: WorkQueue[str] = WorkQueue(clock, done.append)
    queue.add_after("a", SECOND)
    queue.add_after("a", 3 * SECOND)
    assert len(queue) == 1
    clock.advance(2 * SECOND)
    assert done == []
    clock.advance(SECOND)
    assert done == ["a"]


def test_failed_work_does_not_take_along_what_waits_behind_it():
    clock, done = VirtualClock(), []

    def work(key: str) -> None:
        if key == "bad":
            raise RuntimeError("no")
        done.append(key)

    queue: WorkQueue[str] = WorkQueue(clock, work)
    for key in ("bad", "a", "b"):
        queue.add(key)
    with pytest.raises(RuntimeError):
        clock.settle()
    clock.settle()
    assert done == ["a", "b"]
