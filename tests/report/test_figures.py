"""The pictures."""

from __future__ import annotations

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from ghostfleet.report.figures import figure_of, figure_png
from ghostfleet.report.phases import measure
from ghostfleet.report.workloads import join


def titles_of(figure):
    return [axes.get_title() for axes in figure.axes]


def test_the_general_picture_shows_the_whole_time_to_the_decision(runs):
    marks = runs.marks(workload=1, decided=3.5)
    figure = figure_of("general", measure(join([runs.submission("j")], [runs.sample("j", marks)])))
    title = "Time between Workload Submission and Pod Scheduling Decision (average: 3.50 seconds)"
    assert titles_of(figure) == [title, title]
    assert figure.get_suptitle() == "Total number of jobs run: 1"


def test_the_detailed_picture_has_a_row_for_each_step_that_was_measured(runs):
    figure = figure_of("detailed", runs.measured(50))
    assert [title.partition(" (")[0] for title in titles_of(figure)[::2]] == [
        "Time between Workload Submission and Workload Creation",
        "Time between Workload Creation and Job Creation",
        "Time between Job Creation and First Pod Creation",
        "Time between Job Creation and Last Pod Creation",
        "Time between First Pod Creation and Pod Group Creation",
        "Time between Pod Group Creation and Pod Scheduling Decision",
        "Time between Pod Scheduling Decision and Last Pod Bound",
        "Time between Last Pod Bound and Last Pod Running",
    ]
    left, right = figure.axes[:2]
    assert (left.get_xlabel(), left.get_ylabel()) == ("Submit time (UTC)", "Time (seconds)")
    assert (right.get_xlabel(), right.get_ylabel()) == ("Time (seconds)", "Number of jobs")


@pytest.mark.parametrize("recorded", [True, False])
def test_a_picture_is_a_png_and_always_the_same(runs, recorded):
    measured = runs.measured(30, recorded=recorded)
    first = figure_png("general", measured)
    assert first.startswith(b"\x89PNG")
    assert first == figure_png("general", measured)
