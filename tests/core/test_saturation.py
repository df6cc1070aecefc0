"""How long limits hold things up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.profile import load_profile
from ghostfleet.core.ratelimit import TokenBucket
from ghostfleet.core.saturation import Meter, Meters, Saturated, saturated_since

SECOND = 1_000_000


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
