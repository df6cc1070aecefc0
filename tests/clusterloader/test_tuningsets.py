"""Tuning sets: when the actions of a phase begin."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.cluster import Cluster
from ghostfleet.cluster.config import BARE
from ghostfleet.clusterloader import config
from ghostfleet.clusterloader.tuningsets import Action, TuningSets
from ghostfleet.drive.embedded import Embedded

_SECOND = 1_000_000
_CLUSTER = Embedded(Cluster(config=BARE))


def _began(count: int, takes: int = 0, *sets: config.TuningSet) -> tuple[list[int], int]:
    """When each of some actions began, in a phase for each of the sets, and when all were done."""
    cluster, times = _CLUSTER, []
    start = cluster.now()

    async def act() -> None:
        times.append(cluster.now() - start)
        await cluster.sleep(takes)

    actions: list[Action] = [act] * count
    tuning_sets = TuningSets(cluster, list({each.name: each for each in sets}.values()), Random(0))

    async def phases() -> None:
        await cluster.together([tuning_sets.execute(each.name, actions) for each in sets])

    cluster.run(phases())
    return sorted(times), cluster.now() - start


def _set(**load: Any) -> config.TuningSet:
    return config.TuningSet(name="set", **load)


def test_a_rate_begins_actions_at_even_times_and_waits_after_the_last() -> None:
    times, end = _began(5, 0, _set(qps_load=config.QpsLoad(2)))
    assert times == [0, 500_000, 1_000_000, 1_500_000, 2_000_000]
    assert end == 2_500_000


def test_slow_actions_do_not_hold_up_a_rate_but_are_waited_for() -> None:
    times, end = _began(3, 10 * _SECOND, _set(qps_load=config.QpsLoad(1)))
    assert times == [0, _SECOND, 2 * _SECOND]
    assert end == 12 * _SECOND


def test_steps_begin_bursts() -> None:
    load = config.SteppedLoad(burst_size=2, step_delay=config.Duration(3 * _SECOND))
    times, end = _began(5, 0, _set(stepped_load=load))
    assert times == [0, 0, 3 * _SECOND, 3 * _SECOND, 6 * _SECOND]
    assert end == 9 * _SECOND


def test_a_time_limit_is_shared_out_evenly() -> None:
    times, end = _began(4, 0, _set(time_limited_load=config.TimeLimitedLoad(config.Duration(8 * _SECOND))))
    assert times == [0, 2 * _SECOND, 4 * _SECOND, 6 * _SECOND]
    assert end == 8 * _SECOND


def test_limited_parallelism_begins_the_next_when_one_has_ended() -> None:
    load = config.ParallelismLimitedLoad(parallelism_limit=2)
    times, end = _began(5, _SECOND, _set(parallelism_limited_load=load))
    assert times == [0, 0, _SECOND, _SECOND, 2 * _SECOND]
    assert end == 3 * _SECOND


def test_a_global_rate_is_shared_by_the_phases_that_name_it() -> None:
    one = _set(global_qps_load=config.GlobalQPSLoad(qps=10, burst=3))
    times, _ = _began(10, 0, one, one)
    assert len(times) == 20
    assert times[:3] == [0, 0, 0]
    assert all(later - earlier == 100_000 for earlier, later in pairwise(times[2:]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: _set(randomized_load=config.RandomizedLoad(average_qps=10)),
        lambda: _set(poisson_load=config.PoissonLoad(expected_actions_per_second=10)),
        lambda: _set(randomized_time_limited_load=config.TimeLimitedLoad(config.Duration(40 * _SECOND))),
    ],
)
def test_random_loads_keep_their_average(make: Callable[[], config.TuningSet]) -> None:
    times, end = _began(400, 0, make())
    assert len(times) == 400
    assert 30 * _SECOND < max(times) <= end < 50 * _SECOND
    assert times == _began(400, 0, make())[0]


@given(count=st.integers(0, 40), limit=st.integers(1, 8), takes=st.integers(0, 3))
def test_every_action_is_done_once_whatever_the_limit(count: int, limit: int, takes: int) -> None:
    load = config.ParallelismLimitedLoad(parallelism_limit=limit)
    times, end = _began(count, takes * _SECOND, _set(parallelism_limited_load=load))
    assert len(times) == count
    assert end == -(-count // limit) * takes * _SECOND
