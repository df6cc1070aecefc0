"""times.csv."""

from __future__ import annotations

import csv
import io

from ghostfleet.report.phases import measure
from ghostfleet.report.times import times_csv
from ghostfleet.report.workloads import join

INFO = [
    "Job Name",
    "Namespace",
    "projectName",
    "Workload Created",
    "Job Created",
    "First Pod Created",
    "Last Pod Created",
    "Pod Group Created",
    "Pod Scheduling Decision",
    "Workload Submitted",
    "Backend Job Created",
]
DELTAS = [
    "Workload Creation",
    "Job Creation",
    "First Pod Creation",
    "Last Pod Creation",
    "Pod Group Creation",
    "Pod Scheduling Decision",
    "First Eviction",
    "First PVC Bind Request",
    "First PVC Bind",
    "Backend Job Creation",
    "Total Pod Scheduling Decision",
    "Total Backend Job Creation",
]


def rows_of(joined):
    return list(csv.reader(io.StringIO(times_csv(measure(joined)))))


def test_there_are_eleven_columns_of_info_and_twelve_of_delays(runs):
    header, *rows = rows_of(runs.joined(20))
    assert header == INFO + DELTAS
    assert all(len(row) == 23 for row in rows)
    assert len(rows) == 20


def test_timestamps_give_whole_seconds_and_marks_give_fractions(runs):
    marks = runs.marks(workload=1.25, job=2.5)
    for recorded, created, delay in ((False, "08:00:01Z", "1"), (True, "08:00:01.250000Z", "1.250000")):
        row = rows_of(join([runs.submission("j")], [runs.sample("j", marks, recorded=recorded)]))[1]
        assert row[3] == f"2027-01-15T{created}"
        assert row[11] == delay
        assert row[20:] == ["", "", ""]


def test_a_name_can_neither_break_a_line_nor_become_a_formula(runs):
    name = '=HYPERLINK("http://x"),\nb'
    rows = rows_of(join([runs.submission(name)], [runs.sample(name, runs.marks(workload=1))]))
    assert len(rows) == 2
    assert rows[1][0] == "'" + name
