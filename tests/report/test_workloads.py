"""Joining what was submitted with what was sampled, and delays between moments."""

from __future__ import annotations

import numpy as np
import pytest

from ghostfleet.lab.errors import LabError
from ghostfleet.report.workloads import join


def test_both_files_are_joined_by_name_and_sorted_by_submission(runs):
    late, early = runs.marks(workload=9.5), runs.marks(workload=2.5)
    joined = join(
        [runs.submission("j-late", 9), runs.submission("j-early", 2)],
        [runs.sample("j-late", late), runs.sample("j-early", early)],
    )
    assert list(joined.workloads.names) == ["j-early", "j-late"]
    assert list(joined.workloads.between("submitted", "workload")) == [0.5, 0.5]


def test_nothing_is_dropped_without_being_counted(runs):
    joined = join(
        [runs.submission("j-1"), runs.submission("j-2"), runs.submission("j-3", error="quota exceeded")],
        [runs.sample("j-1", runs.marks(workload=1)), runs.sample("j-of-another-run", runs.marks(workload=1))],
    )
    assert list(joined.workloads.names) == ["j-1"]
    assert joined.unsampled == ["j-2"]
    assert joined.refused == [("j-3", "quota exceeded")]
    assert joined.foreign == 1
    assert joined.submitted == 2


def test_without_a_recorder_delays_are_whole_seconds(runs):
    sample = runs.sample("j", runs.marks(workload=2.2, job=4.9), recorded=False)
    workloads = join([runs.submission("j", 1.9)], [sample]).workloads
    assert list(workloads.between("submitted", "workload")) == [1.0]
    assert list(workloads.between("workload", "job")) == [2.0]
    assert workloads.recorded == 0


def test_with_a_recorder_delays_are_exact_to_the_microsecond(runs):
    workloads = join([runs.submission("j", 1.9)], [runs.sample("j", runs.marks(workload=2.2, job=4.900001))]).workloads
    assert workloads.between("submitted", "workload")[0] == pytest.approx(0.3)
    assert workloads.between("workload", "job")[0] == pytest.approx(2.700001)
    assert workloads.recorded == 1


def test_a_mark_is_never_compared_with_a_timestamp(runs):
    sample = runs.sample("j", runs.marks(workload=2.9))
    sample["jobCreatedTimestamp"] = "2027-01-15T08:00:03Z"
    workloads = join([runs.submission("j")], [sample]).workloads
    assert list(workloads.between("workload", "job")) == [1.0]


def test_a_delay_just_below_zero_counts_as_none_and_a_larger_one_stays(runs):
    slightly = runs.sample("j-1", runs.marks(workload=4), recorded=False)
    badly = runs.sample("j-2", runs.marks(workload=3), recorded=False)
    workloads = join([runs.submission("j-1", 5), runs.submission("j-2", 5)], [slightly, badly]).workloads
    assert list(workloads.between("submitted", "workload")) == [0.0, -2.0]


def test_what_is_not_known_is_nan(runs):
    workloads = join([runs.submission("j")], [runs.sample("j", runs.marks(workload=1))]).workloads
    assert np.isnan(workloads.between("workload", "decided")[0])
    assert not workloads.knows("decided")
    assert list(workloads.incomplete) == [True]


def test_a_sample_as_the_original_tool_writes_it_is_read(runs):
    sample = {
        "jobName": "j",
        "projectName": "project-0",
        "jobNamespace": "runai-project-0",
        "workloadCreatedTimestamp": "2027-01-15T08:00:02Z",
        "jobCreatedTimestamp": "2027-01-15T08:00:03+00:00",
    }
    workloads = join([runs.submission("j")], [sample]).workloads
    assert list(workloads.between("submitted", "job")) == [3.0]
    assert list(workloads.failed) == [False]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("jobCreatedTimestamp", "yesterday", "sampled.json: workload j: jobCreatedTimestamp: expected a time"),
        ("jobCreatedTimestamp", 17, "found 17"),
        ("jobCreatedTimestamp", [], r"found \[\]"),
        ("pods", "many", "sampled.json: pods: expected a number, found 'many'"),
        ("marks", {"job": "soon"}, "sampled.json: job: expected a number, found 'soon'"),
    ],
)
def test_a_value_that_makes_no_sense_is_named(runs, field, value, said):
    sample = runs.sample("j", runs.marks(workload=1), recorded=False)
    with pytest.raises(LabError, match=said):
        join([runs.submission("j")], [{**sample, field: value}])
