"""Time-based fair share: usage over windows, with and without a half-life, and what it does to fair shares."""

from __future__ import annotations

import pytest

from ghostfleet.schedulers.kai.cycle import run_once
from ghostfleet.schedulers.kai.usage import CRON, TUMBLING, UsageHistory, UsageParams
from support.kai import CONFIG, NOW, cluster, job, node, queue

CAPACITY = (100.0, 100.0, 10.0)
HOUR = 3600.0


def history(params: UsageParams) -> UsageHistory:
    """Ten hours of half the GPUs, then ten hours of nothing."""
    kept = UsageHistory(params)
    kept.record(0, CAPACITY, {"q": (0.0, 0.0, 5.0)})
    kept.record(10 * HOUR, CAPACITY, {"q": (0.0, 0.0, 0.0)})
    return kept


def test_usage_is_the_part_of_the_capacity_in_the_window() -> None:
    kept = history(UsageParams(window_size=20 * HOUR))
    assert kept.usage(10 * HOUR)["q"][2] == pytest.approx(0.5)
    assert kept.usage(20 * HOUR)["q"][2] == pytest.approx(0.25)
    assert kept.usage(25 * HOUR)["q"][2] == pytest.approx(0.125)
    assert kept.usage(31 * HOUR).get("q", (0.0, 0.0, 0.0))[2] == 0.0


def test_what_lies_back_counts_less_by_half_life() -> None:
    kept = history(UsageParams(half_life=10 * HOUR))
    # Of two stretches of one half-life each the older weighs half of the newer.
    assert kept.usage(20 * HOUR)["q"][2] == pytest.approx(0.5 / 3)


def test_a_tumbling_window_starts_anew() -> None:
    kept = history(UsageParams(window_size=8 * HOUR, window_type=TUMBLING))
    assert kept.usage(8 * HOUR)["q"][2] == pytest.approx(0.5)
    assert kept.usage(12 * HOUR)["q"][2] == pytest.approx(0.25)
    assert kept.usage(17 * HOUR)["q"][2] == 0.0


def test_a_window_may_follow_a_schedule() -> None:
    params = UsageParams(window_type=CRON, cron="0 6 * * *")
    assert params.window_start(12 * HOUR) == 6 * HOUR
    assert params.window_start(29 * HOUR) == 6 * HOUR
    assert params.window_start(31 * HOUR) == 30 * HOUR


def test_a_queue_that_had_much_gets_less_of_the_rest() -> None:
    jobs = [job(f"{name}{number}", name, [""], age=number) for name in "ab" for number in range(4)]
    snapshot = cluster([node("n1", 4)], [queue("all", quota=-1), queue("a", "all"), queue("b", "all", created=1)], jobs)
    assert [each.job[0] for each in run_once(snapshot, CONFIG, NOW).binds].count("a") == 2
    snapshot.usage = {"a": (0.0, 0.0, 1.0)}
    assert [each.job[0] for each in run_once(snapshot, CONFIG, NOW).binds].count("a") == 0
