"""`times.csv`: one line a workload, for a spreadsheet.

Eleven columns say which workload it is and when its moments were, twelve how long each phase took, in seconds; a cell
is empty where nothing is known. Columns have the names and the order that the Run:ai scale test tool gives them; a run
of a mix has one more, the last: the class of the workload.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from math import isnan

import numpy as np

from ghostfleet.core.timestamps import MICRO, rfc3339, rfc3339_micro
from ghostfleet.report.moments import RUNAI_PHASES
from ghostfleet.report.phases import Measured
from ghostfleet.report.workloads import Column, Texts, WorkloadTable

__all__ = ["times_csv"]

_MOMENT_COLUMNS = {
    "Workload Created": "workload",
    "Job Created": "job",
    "First Pod Created": "firstPod",
    "Last Pod Created": "lastPod",
    "Pod Group Created": "podGroup",
    "Pod Scheduling Decision": "decided",
    "Workload Submitted": "submitted",
    "Backend Job Created": "backendJob",
}
_HEADER = ["Job Name", "Namespace", "projectName", *_MOMENT_COLUMNS, *(phase.title for phase in RUNAI_PHASES)]
#: A cell that begins with one of these would be run as a formula by spreadsheet programs.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def times_csv(measured: Measured, classes: Texts | None = None) -> str:
    """The text of the file; `classes` are those of the workloads of a mix."""
    workloads = measured.workloads
    columns: list[Iterable[str]] = [
        map(_harmless, workloads.names),
        map(_harmless, workloads.namespaces),
        map(_harmless, workloads.projects),
    ]
    columns += [_moments(workloads, key) for key in _MOMENT_COLUMNS.values()]
    columns += [_delays(measured.delays.get(phase.key), len(workloads)) for phase in RUNAI_PHASES]
    if classes is not None:
        columns.append(map(_harmless, classes))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEADER if classes is None else [*_HEADER, "Class"])
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def _moments(workloads: WorkloadTable, key: str) -> Iterator[str]:
    for mark, stamp in zip(workloads.marks[key].tolist(), workloads.stamps[key].tolist(), strict=True):
        if not isnan(mark):
            yield rfc3339_micro(int(mark))
        else:
            yield rfc3339(int(stamp) * MICRO) if not isnan(stamp) else ""


def _delays(delays: Column | None, count: int) -> Iterable[str]:
    if delays is None:
        return [""] * count
    whole = np.array_equal(delays, np.floor(delays), equal_nan=True)
    form = "{:.0f}" if whole else "{:.6f}"
    return [form.format(delay) if not isnan(delay) else "" for delay in delays.tolist()]
