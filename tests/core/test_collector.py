"""The garbage collector of a process that holds much."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from ghostfleet.core.collector import pause_collector, relax_collector, sparing_collector


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    # Another test of this process may have relaxed it already.
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()
    gc.enable()


def test_what_exists_is_left_alone_and_the_rest_looked_at_less_often() -> None:
    before = gc.get_threshold()
    relax_collector()
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold()[0] > before[0]


def test_cycles_are_still_collected() -> None:
    relax_collector()
    cycle: list[object] = []
    cycle.append(cycle)
    del cycle
    assert gc.collect() > 0


def test_a_process_that_starts_collects_nothing_until_it_is_ready() -> None:
    pause_collector()
    assert not gc.isenabled()
    relax_collector()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0


def test_a_run_is_hardly_ever_interrupted_and_leaves_all_as_it_was() -> None:
    before = gc.get_threshold()
    with sparing_collector():
        assert gc.get_threshold()[0] > 1_000_000
    assert gc.get_threshold() == before
