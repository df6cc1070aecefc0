"""Rate limits against the answers of golang.org/x/time/rate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.profile import load_profile
from ghostfleet.core.ratelimit import (
    ItemBucket,
    ItemExponentialBackoff,
    MaxOf,
    Meter,
    Meters,
    Saturated,
    TokenBucket,
    controller_limiter,
    saturated_since,
)

SECOND = 1_000_000


def test_a_burst_passes_and_then_requests_wait_for_their_token():
    bucket = TokenBucket(qps=5, burst=3)
    assert [bucket.reserve(0) for _ in range(6)] == [0, 0, 0, 200_000, 400_000, 600_000]


def test_a_bucket_fills_while_nobody_asks_but_not_over_its_burst():
    bucket = TokenBucket(qps=10, burst=2)
    assert [bucket.reserve(0) for _ in range(2)] == [0, 0]
    assert bucket.reserve(50_000) == 50_000
    assert [bucket.reserve(3600 * SECOND) for _ in range(3)] == [0, 0, 100_000]


def test_waits_are_whole_microseconds_that_never_end_too_early():
    bucket = TokenBucket(qps=3, burst=1)
    assert [bucket.reserve(0) for _ in range(4)] == [0, 333_334, 666_667, SECOND]


def test_rates_have_the_precision_that_client_go_gives_them():
    bucket = TokenBucket(qps=0.1, burst=1)
    bucket.reserve(0)
    assert bucket.reserve(0) == 9_999_999 + 1
    assert bucket.qps == pytest.approx(0.1)
    assert bucket.qps != 0.1


def test_trying_takes_a_token_only_if_there_is_one():
    bucket = TokenBucket(qps=2, burst=1)
    assert [bucket.try_accept(now) for now in (0, 0, 499_999, 500_000, 500_000)] == [True, False, False, True, False]


@pytest.mark.parametrize("qps", [None, 0, -1])
def test_without_a_rate_everything_passes(qps):
    bucket = TokenBucket(qps)
    assert [bucket.reserve(0) for _ in range(100)] == [0] * 100
    assert bucket.try_accept(0)


def test_a_rate_without_burst_could_never_let_anything_pass():
    with pytest.raises(ValueError, match="burst of 1 or more"):
        TokenBucket(5, 0)


def test_a_clock_that_steps_back_gains_no_tokens():
    bucket = TokenBucket(qps=1, burst=1)
    assert bucket.reserve(10 * SECOND) == 0
    assert bucket.reserve(9 * SECOND) == SECOND


@given(st.integers(1, 200), st.integers(1, 50), st.lists(st.integers(0, 400_000), min_size=1, max_size=200))
def test_no_more_than_the_burst_and_the_rate_pass_in_any_span(qps, burst, steps):
    bucket = TokenBucket(qps, burst)
    now, starts = 0, []
    for step in steps:
        now += step
        starts.append(now + bucket.reserve(now))
    for first, start in enumerate(starts):
        for last in range(first, len(starts)):
            allowed = burst + (starts[last] - start) / SECOND * qps
            assert last - first + 1 <= allowed + 1e-3


def test_failures_of_an_item_double_its_wait_up_to_the_limit():
    backoff = ItemExponentialBackoff(5_000, 60_000)
    assert [backoff.when("a") for _ in range(6)] == [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]
    assert backoff.when("b") == 5_000
    assert (backoff.retries("a"), backoff.retries("b"), backoff.retries("c")) == (6, 1, 0)
    backoff.forget("a")
    backoff.forget("never seen")
    assert backoff.retries("a") == 0
    assert backoff.when("a") == 5_000


def test_very_many_failures_stay_at_the_limit():
    backoff = ItemExponentialBackoff(1, 1000)
    assert [backoff.when("a") for _ in range(200)][-1] == 1000


def test_the_slowest_of_several_limiters_decides_and_each_keeps_its_count():
    backoff = ItemExponentialBackoff(5_000, SECOND)
    both = MaxOf(backoff, ItemBucket(TokenBucket(1, 1)))
    assert [both.when("a", 0), both.when("a", 0)] == [5_000, SECOND]
    assert both.retries("a") == backoff.retries("a") == 2
    both.forget("a")
    assert both.retries("a") == 0
    assert MaxOf().when("a") == 0


def test_the_limiter_of_controllers_is_that_of_kubernetes():
    limiter = controller_limiter()
    assert [limiter.when("a", 0) for _ in range(4)] == [5_000, 10_000, 20_000, 40_000]
    for item in range(96):
        limiter.when(item, 0)
    assert limiter.when("late", 0) == 100_000


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 80)), max_size=30), st.integers(0, 2000))
def test_waits_that_overlap_count_once(waits, later):
    meter, now, covered = Meter("x", "y"), 0, set()
    for pause, delay in waits:
        now += pause
        meter.wait(now, delay)
        covered |= set(range(now, now + delay))
    told = meter.reading(now + later)
    assert told.time == len([each for each in covered if each < now + later])
    assert (told.waits, told.waited) == (len(waits), sum(delay for _, delay in waits))


def test_what_is_open_counts_until_now():
    meter = Meter("Nodes", "work")
    meter.begin(10)
    meter.begin(20)
    meter.end(30)
    assert meter.reading(35).time == 25
    meter.end(40)
    assert meter.reading(90).time == 30


def test_a_bucket_is_saturated_while_somebody_waits_for_a_token():
    meter = Meter("Job controller", "20 requests/s")
    bucket = TokenBucket(20, 30, meter)
    for _ in range(30):
        assert bucket.reserve(0) == 0
    assert meter.reading(0).time == 0
    for _ in range(20):
        bucket.reserve(0)
    assert meter.reading(SECOND // 2).time == SECOND // 2
    assert meter.reading(5 * SECOND) == Saturated("Job controller", "20 requests/s", SECOND, 20, 10_500_000)


def test_only_a_metered_profile_keeps_count():
    profile = load_profile("kubernetes")
    assert profile.meter("x", "y") is None
    meters = Meters()
    bucket = profile.metered(meters).limiter("kube-scheduler", "Scheduler")
    assert bucket is not None
    assert [(each.component, each.limit) for each in meters.reading(0)] == [("Scheduler", "50 requests/s")]


def test_what_came_about_between_two_times_has_the_worst_first():
    before = [Saturated("a", "1/s", 5, 1, 5), Saturated("b", "1/s", 0, 0, 0)]
    after = [Saturated("a", "1/s", 7, 2, 7), Saturated("b", "1/s", 0, 0, 0), Saturated("c", "1/s", 9, 1, 9)]
    assert saturated_since(before, after) == [Saturated("c", "1/s", 9, 1, 9), Saturated("a", "1/s", 2, 1, 2)]
