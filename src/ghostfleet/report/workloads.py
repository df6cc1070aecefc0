"""The measured workloads of a run, in columns.

What was submitted and what was sampled are joined by (jobName, projectName) and sorted by the time of submission. A
column is an array with one cell for each workload; a time or a number that is not known is NaN. Each moment has two
columns: *stamps*, whole seconds as the cluster's timestamps tell, and *marks*, microseconds of a recorder. The delay
between two moments comes from their marks when both are known, else from their stamps; so a mark is never compared with
a timestamp that was cut to the second. As in the Run:ai tool, a delay in [-1, 0) seconds counts as none: it comes from
clocks that differ a little.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ghostfleet.core.timestamps import MICRO, parse_rfc3339
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.records import Sample, Submission
from ghostfleet.report.moments import MOMENTS, Moment, Phase

__all__ = ["Column", "JoinedRun", "Mask", "Texts", "WorkloadTable", "join"]

Column = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.object_]

_NUMBER = int | float | None


@dataclass(frozen=True, slots=True)
class WorkloadTable:
    """Columns; all of one length, in the order of submission."""

    names: Texts
    projects: Texts
    namespaces: Texts
    #: The life of a workload as it was seen last: Pending, Running, Succeeded, Failed.
    states: Texts
    failures: Texts
    nodes: Texts
    pods: Column
    gpus: Column
    stamps: Mapping[str, Column]
    marks: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.names)

    def take(self, rows: npt.NDArray[Any] | slice) -> WorkloadTable:
        """Some of them: by a mask, by row numbers or by a slice."""

        def cut(column: Any) -> Any:
            return {key: part[rows] for key, part in column.items()} if isinstance(column, Mapping) else column[rows]

        return WorkloadTable(**{field.name: cut(getattr(self, field.name)) for field in fields(self)})

    def between(self, start: str, end: str) -> Column:
        """Seconds from one moment to another."""
        exact = (self.marks[end] - self.marks[start]) / MICRO
        delay = np.where(np.isnan(exact), self.stamps[end] - self.stamps[start], exact)
        delay[(delay < 0) & (delay >= -1)] = 0
        return delay

    def delays(self, phase: Phase) -> Column:
        return self.between(phase.start, phase.end)

    def at(self, moment: str) -> Column:
        """When a moment was, in seconds since the epoch, as exactly as it is known."""
        exact = self.marks[moment] / MICRO
        return np.where(np.isnan(exact), self.stamps[moment], exact)

    def knows(self, moment: str) -> bool:
        """Whether any workload has reached the moment."""
        return not (np.isnan(self.stamps[moment]).all() and np.isnan(self.marks[moment]).all())

    @property
    def recorded(self) -> int:
        """For how many a recorder told at least one moment after the submission."""
        seen = np.zeros(len(self), dtype=bool)
        for key, column in self.marks.items():
            if key != "submitted":
                seen |= ~np.isnan(column)
        return int(seen.sum())

    @property
    def failed(self) -> Mask:
        failed: Mask = (self.states == "Failed") | (self.failures != "")
        return failed

    @property
    def incomplete(self) -> Mask:
        """Those for which the scheduler has not decided anything yet."""
        return np.isnan(self.stamps["decided"]) & np.isnan(self.marks["decided"])

    @property
    def replaced(self) -> Mask:
        """Those whose pod group is older than their first pod: that pod stands in for one that was killed.

        By marks, a pod group that is made a moment before its pods is just that; by timestamps it cannot be told apart.
        """
        exact = (self.marks["podGroup"] - self.marks["firstPod"]) / MICRO
        whole = self.stamps["podGroup"] - self.stamps["firstPod"]
        return np.where(np.isnan(exact), whole < 0, exact < -1)

    @property
    def backwards(self) -> Mask:
        """Those that were decided on before they were submitted."""
        return self.between("submitted", "decided") < 0


@dataclass(frozen=True, slots=True)
class JoinedRun:
    """Both files of a run, as one."""

    workloads: WorkloadTable
    #: Submissions that the cluster did not take: name and why.
    refused: Sequence[tuple[str, str]]
    #: Submitted, but not in the sample.
    unsampled: Sequence[str]
    #: In the sample, but not submitted by this run.
    foreign: int

    @property
    def submitted(self) -> int:
        return len(self.workloads) + len(self.unsampled)


def join(submitted: Iterable[Submission], sampled: Iterable[Sample]) -> JoinedRun:
    """Join what was submitted with what was sampled."""
    waiting: dict[tuple[str, str], Submission] = {}
    refused: list[tuple[str, str]] = []
    for submission in submitted:
        if submission.error:
            refused.append((submission.name, submission.error))
        else:
            waiting[submission.name, submission.project] = submission
    times: list[int] = []
    samples: list[Sample] = []
    foreign = 0
    for sample in sampled:
        found = waiting.pop((sample["jobName"], sample.get("projectName", "")), None)
        if found is None:
            foreign += 1
        else:
            times.append(found.time)
            samples.append(sample)
    workloads = _columns(times, samples)
    order = np.lexsort((workloads.names.astype(str), workloads.at("submitted")))
    return JoinedRun(workloads.take(order), refused, [name for name, _ in waiting], foreign)


def _columns(submitted: Sequence[int], samples: Sequence[Sample]) -> WorkloadTable:
    reader = _Reader()
    sent = np.array(submitted, dtype=np.float64)
    recorded = [sample.get("marks") or {} for sample in samples]
    stamps = {key: reader.seconds(samples, moment) for key, moment in MOMENTS.items() if key != "submitted"}
    marks = {key: _numbers(recorded, moment.mark) for key, moment in MOMENTS.items()}
    return WorkloadTable(
        names=_texts(samples, "jobName"),
        projects=_texts(samples, "projectName"),
        namespaces=_texts(samples, "jobNamespace"),
        states=_texts(samples, "phase"),
        failures=_texts(samples, "failure"),
        nodes=_texts(samples, "node"),
        pods=_numbers(samples, "pods"),
        gpus=_numbers(samples, "gpus"),
        stamps={"submitted": np.floor(sent / MICRO), **stamps},
        marks={**marks, "submitted": np.where(np.isnan(marks["submitted"]), sent, marks["submitted"])},
    )


class _Reader:
    """Reads timestamps. Most are of the same few seconds, so each text is read once."""

    def __init__(self) -> None:
        self._read: dict[str | None, float] = {None: np.nan, "": np.nan}

    def seconds(self, samples: Sequence[Sample], moment: Moment) -> Column:
        """Whole seconds since the epoch."""
        field, runai = moment.field, moment.runai
        fields = (field if not runai or field in sample else runai for sample in samples)
        return np.fromiter(map(self._second, samples, fields), np.float64, len(samples))

    def _second(self, sample: Mapping[str, Any], field: str) -> float:
        text = sample.get(field)
        try:
            return self._read[text]
        except (KeyError, TypeError):
            pass
        try:
            second = self._read[text] = float(parse_rfc3339(text or "") // MICRO)
        except (ValueError, TypeError):
            raise LabError(
                f"sampled.json: workload {sample['jobName']}: {field}: expected a time such as 2026-01-01T00:00:00Z,"
                f" found {text!r}"
            ) from None
        return second


def _texts(records: Iterable[Mapping[str, Any]], field: str) -> Texts:
    found = [str(record.get(field) or "") for record in records]
    column = np.empty(len(found), dtype=object)
    column[:] = found
    return column


def _numbers(records: Sequence[Mapping[str, Any]], field: str) -> Column:
    try:
        return np.array([record.get(field) for record in records], dtype=np.float64)
    except (ValueError, TypeError):
        wrong = next(each for each in (record.get(field) for record in records) if not isinstance(each, _NUMBER))
        raise LabError(f"sampled.json: {field}: expected a number, found {wrong!r}") from None
