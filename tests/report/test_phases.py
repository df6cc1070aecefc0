"""Which workloads count, and the figures of their phases."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ghostfleet.report.breakdown import break_down
from ghostfleet.report.page import report_page
from ghostfleet.report.phases import measure
from ghostfleet.report.workloads import join


def figures_of(measured):
    return {figures.key: figures for figures in measured.figures}


def test_a_phase_has_count_mean_percentiles_and_the_longest(runs):
    seconds = list(range(1, 101))
    joined = join(
        [runs.submission(f"j-{second:03}") for second in seconds],
        [runs.sample(f"j-{second:03}", runs.marks(workload=second, decided=second)) for second in seconds],
    )
    figures = figures_of(measure(joined))["totalDecided"]
    assert (figures.count, figures.mean, figures.max) == (100, 50.5, 100)
    assert (figures.p50, figures.p90, figures.p99) == pytest.approx((50.5, 90.1, 99.01))


def test_a_claim_is_bound_after_its_request_not_after_itself(runs):
    marks = runs.marks(workload=1, job=1, firstPod=1, podGroup=1, claimRequested=2, claimBound=5.5, decided=6)
    figures = figures_of(measure(join([runs.submission("j")], [runs.sample("j", marks)])))
    assert figures["claimRequested"].mean == pytest.approx(1.0)
    assert figures["claimBound"].mean == pytest.approx(3.5)


def test_phases_that_nobody_went_through_are_left_out(runs):
    measured = measure(join([runs.submission("j")], [runs.sample("j", runs.marks(workload=1))]))
    assert [phase.key for phase in measured.phases] == ["workload"]
    assert measured.counts.incomplete == 1
    assert measured.leading is None
    assert break_down(measured) is None


def test_a_bare_pod_is_timed_from_its_submission_on(runs):
    marks = runs.marks(firstPod=0.5, lastPod=0.5, decided=2, bound=2)
    figures = figures_of(measure(join([runs.submission("p")], [runs.sample("p", marks)])))
    assert (figures["firstPod"].start, figures["firstPod"].mean) == ("Workload Submission", 0.5)
    assert (figures["decided"].start, figures["decided"].mean) == ("First Pod Creation", 1.5)


@pytest.fixture
def flawed(runs):
    good = runs.marks(workload=1, job=1, firstPod=2, podGroup=3, decided=4)
    replaced = runs.marks(workload=1, job=1, firstPod=9, podGroup=3, decided=10)
    backwards = runs.marks(workload=1, job=1, firstPod=2, podGroup=3, decided=4)
    return join(
        [runs.submission("good"), runs.submission("replaced"), runs.submission("backwards", 20)],
        [
            runs.sample(name, marks, recorded=False)
            for name, marks in (("good", good), ("replaced", replaced), ("backwards", backwards))
        ],
    )


def test_erroneous_workloads_are_left_out_and_counted(flawed):
    measured = measure(flawed)
    assert list(measured.workloads.names) == ["good"]
    assert (measured.counts.erroneous, measured.counts.skipped, measured.counts.measured) == (2, 2, 1)
    assert [problem[:2] for problem in measured.problems] == [("replaced", "erroneous"), ("backwards", "erroneous")]


def test_erroneous_workloads_can_be_kept(flawed):
    counts = measure(flawed, skip_errors=False).counts
    assert (counts.erroneous, counts.skipped, counts.measured) == (2, 0, 3)


def test_a_pod_group_a_moment_older_than_its_pods_is_no_error_when_marks_tell(runs):
    marks = runs.marks(workload=1, job=1.1, podGroup=1.99, firstPod=2.01, decided=3)
    by_marks = join([runs.submission("j")], [runs.sample("j", marks)])
    by_timestamps = join([runs.submission("j")], [runs.sample("j", marks, recorded=False)])
    assert measure(by_marks).counts.erroneous == 0
    assert measure(by_timestamps).counts.erroneous == 1


@pytest.mark.parametrize(
    ("head", "tail", "expected"), [(3, None, "012"), (None, 2, "89"), (5, 2, "34"), (99, 99, "0123456789")]
)
def test_head_and_tail_cut_the_workloads_in_order_of_submission(runs, head, tail, expected):
    joined = join(
        [runs.submission(str(number), number) for number in range(10)],
        [runs.sample(str(number), runs.marks(workload=number)) for number in reversed(range(10))],
    )
    measured = measure(joined, head=head, tail=tail)
    assert "".join(measured.workloads.names) == expected
    assert measured.counts.chosen_away == 10 - len(expected)


def test_failures_are_counted_and_told(runs):
    marks = runs.marks(workload=1, decided=2)
    joined = join(
        [runs.submission("a"), runs.submission("b"), runs.submission("c", error="HTTP 503")],
        [runs.sample("a", marks), runs.sample("b", marks, phase="Failed", failure="BackoffLimitExceeded")],
    )
    measured = measure(joined)
    assert (measured.counts.failed, measured.counts.refused, measured.counts.measured) == (1, 1, 2)
    assert list(measured.problems) == [("c", "refused", "HTTP 503"), ("b", "failed", "BackoffLimitExceeded")]


def test_the_steps_of_a_group_add_up_to_its_mean_total(runs):
    measured = runs.measured(400, gpus=60)
    breakdown = break_down(measured)
    assert breakdown is not None
    assert [group.title for group in breakdown.groups] == ["All", "Faster half", "Slowest 10 %", "Slowest 1 %"]
    assert breakdown.groups[0].total == pytest.approx(figures_of(measured)["totalRunning"].mean)
    totals = [group.total for group in breakdown.groups]
    assert totals[1] < totals[0] < totals[2] <= totals[3]


#: Moments in any order: clocks differ, and pods are replaced.
LIVES = st.fixed_dictionaries(
    {},
    optional={
        key: st.floats(-20, 200)
        for key in ("workload", "job", "firstPod", "podGroup", "decided", "bound", "running", "finished", "evicted")
    },
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(LIVES, st.booleans(), st.booleans()), min_size=1, max_size=25))
def test_no_figure_is_impossible_whatever_the_times_are(runs, lives):
    names = [f"j-{number:02}" for number in range(len(lives))]
    joined = join(
        [runs.submission(name) for name in names],
        [
            runs.sample(name, runs.marks(**life), recorded=recorded, failure="lost" if failed else "")
            for name, (life, recorded, failed) in zip(names, lives, strict=True)
        ],
    )
    measured = measure(joined)
    for figures in measured.figures:
        assert 0 <= figures.p50 <= figures.p90 <= figures.p99 <= figures.max
        assert 0 <= figures.mean <= figures.max * (1 + 1e-12)
        assert 0 < figures.count <= measured.counts.measured
    counts = measured.counts
    assert max(counts.failed, counts.erroneous) <= counts.troubled <= len(lives)
    assert counts.chosen_away == 0
    page = report_page(measured, runs.record(len(lives), 8))
    shown = re.sub(r"<script.*", "", page, flags=re.DOTALL)
    assert not re.search(r">-\d", shown), "nothing negative is shown"
    assert all(float(each) <= 100 for each in re.findall(r"([\d.]+)%<", shown))
