"""How GPUs were used over a run: utilisation, fragmentation, and what had to wait.

Where a recorder ran, it has written down what the cluster's API told at every moment (`gpus.jsonl`, see
`lab.occupancy`); figures are then those of the whole cluster, other people's pods included. Else they come from the
*holds* of the run's pods that were still there when they were sampled: from when to when each had how many GPUs, to the
second; nothing is then known of others, nor of what was free.

*Utilisation* is the share of the GPUs there that were in use; *fragmentation* is the share of the free ones that were
stranded. Averages are over the time in which the run had any GPUs; a share is never made of nothing, so that it is 0
where there is nothing to share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ghostfleet.core.timestamps import MICRO, parse_rfc3339
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.occupancy import COLUMNS
from ghostfleet.lab.records import Sample
from ghostfleet.report.workloads import Column, Mask

__all__ = ["Usage", "UsagePoint", "held_usage", "joined_series", "recorded_usage"]


@dataclass(frozen=True, slots=True)
class UsagePoint:
    """The GPUs of the cluster at one time, in seconds since the epoch."""

    time: float
    there: int
    in_use: int
    stranded: int
    largest_block: int

    @property
    def utilisation(self) -> float:
        return self.in_use / self.there if self.there else 0.0

    @property
    def free(self) -> int:
        return self.there - self.in_use

    @property
    def fragmentation(self) -> float:
        return self.stranded / self.free if self.free else 0.0


@dataclass(frozen=True, slots=True)
class Usage:
    """What is known of the use of GPUs."""

    #: Times at which something changed, in seconds since the epoch, and what was true from then on, by column.
    times: Column
    columns: Mapping[str, Column]
    #: How long each was true, in seconds; 0 where nothing is known of the time after it.
    spans: Column
    #: Whether all of the cluster was seen, not only the run's own pods.
    recorded: bool
    #: The largest request.
    request: int = 0

    def mean(self, column: str) -> float:
        """The average over the time in which the run had any GPUs."""
        while_busy = self._busy
        length = float(self.spans[while_busy].sum())
        return float((self.columns[column] * self.spans)[while_busy].sum()) / length if length else 0.0

    @property
    def _busy(self) -> Mask:
        """From the first GPU that the run had to the last; all of the time where it had none."""
        had = np.flatnonzero((self.columns["byRun"] > 0) & (self.spans > 0))
        busy = np.zeros(len(self.times), dtype=bool)
        if len(had):
            busy[had[0] : had[-1] + 1] = True
        return busy if len(had) else ~busy

    @property
    def peak(self) -> UsagePoint:
        """When the greatest share of the GPUs was in use."""
        there = self.columns["there"]
        share = np.divide(self.columns["inUse"], there, out=np.zeros(len(there)), where=there > 0)
        return self._moment(int(np.argmax(share)))

    @property
    def worst(self) -> UsagePoint:
        """When the most GPUs were stranded."""
        return self._moment(int(np.argmax(self.columns["stranded"])))

    def _moment(self, row: int) -> UsagePoint:
        there, in_use, stranded, block = (
            int(self.columns[name][row]) if name in self.columns else 0
            for name in ("there", "inUse", "stranded", "largestBlock")
        )
        return UsagePoint(float(self.times[row]), there, in_use, stranded, block)

    @property
    def utilisation(self) -> float:
        """The share of the GPUs there that were in use, on average."""
        return _share(self.mean("inUse"), self.mean("there"))

    @property
    def fragmentation(self) -> float:
        """The share of the free GPUs that were stranded, on average."""
        return _share(self.mean("stranded"), self.mean("there") - self.mean("inUse"))

    @property
    def refused_seconds(self) -> float:
        """How long there was a pod for which the scheduler had found no node."""
        return float(self.spans[self.columns["refusedPods"] > 0].sum())

    def averages(self, column: str, edges: Column) -> list[float | None]:
        """The average over each slice of time; None where nothing is known of it."""
        # What has come together by each edge; nothing does while nothing is known.
        lengths = np.interp(edges, self.times, np.cumsum(self.spans) - self.spans)
        weights = self.columns[column] * self.spans
        amounts = np.interp(edges, self.times, np.cumsum(weights) - weights)
        return [
            round(float((after - before) / (end - start)), 2) if end > start else None
            for (before, after), (start, end) in zip(pairwise(amounts), pairwise(lengths), strict=True)
        ]

    def as_json(self, start: float) -> dict[str, Any]:
        """Utilisation and fragmentation, with times in seconds since `start`."""
        if not self.recorded:
            return {"utilisation": {"peakGpus": self.peak.in_use, "meanGpus": self.mean("inUse")}}
        peak, worst = self.peak, self.worst
        return {
            "utilisation": {
                "peak": peak.utilisation,
                "peakGpus": peak.in_use,
                "peakOfGpus": peak.there,
                "peakAfterSeconds": _after(peak.time, start),
                "mean": self.utilisation,
                "meanOfRun": _share(self.mean("byRun"), self.mean("there")),
            },
            "fragmentation": {
                "request": self.request,
                "mean": self.fragmentation,
                "atPeakUse": peak.fragmentation,
                "worst": worst.fragmentation,
                "worstStrandedGpus": worst.stranded,
                "worstFreeGpus": worst.free,
                "worstLargestFreeBlock": worst.largest_block,
                "worstAfterSeconds": _after(worst.time, start),
            },
        }


def _after(time: float, start: float) -> float:
    return max(0.0, round(time - start, 6))


def _share(part: float, whole: float) -> float:
    return min(part / whole, 1.0) if whole > 0 else 0.0


def joined_series(timed: Sequence[Mapping[str, Any]], names: Iterable[str]) -> tuple[dict[str, Column], Column]:
    """The columns of what recorders saw one after the other, and for how many seconds each point held."""
    columns = {name: np.concatenate([np.asarray(each[name], dtype=np.float64) for each in timed]) for name in names}
    return columns, np.concatenate([np.diff(each["time"], append=each["time"][-1]) for each in timed]) / MICRO


def recorded_usage(series: Sequence[Mapping[str, Any]]) -> Usage | None:
    """What recorders saw, one after the other; None when none did."""
    timed = [each for each in series if each.get("time")]
    if not timed:
        return None
    try:
        columns, spans = joined_series(timed, COLUMNS)
        request = max(int(each["request"]) for each in timed)
    except (KeyError, ValueError, TypeError) as error:
        raise LabError(f"gpus.jsonl does not tell how GPUs were used: {error!r}") from None
    return Usage(columns.pop("time") / MICRO, columns, spans, recorded=True, request=request)


def held_usage(samples: Sequence[Sample], end: float, capacity: float) -> Usage | None:
    """What the pods of the run held by their own timestamps, up to `end`; None when none of them held any GPU."""
    holds = [hold for sample in samples for hold in sample.get("gpuHolds") or ()]
    if not holds:
        return None
    try:
        begins = np.array([parse_rfc3339(begin) for begin, _, _ in holds], dtype=np.float64) / MICRO
        ends = np.array([parse_rfc3339(over) / MICRO if over else end for _, over, _ in holds], dtype=np.float64)
        gpus = np.array([number for _, _, number in holds], dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise LabError(f"sampled.json: gpuHolds: expected pairs of times and a number of GPUs: {error}") from None
    ends = np.maximum(begins, ends)
    times, at = np.unique(np.concatenate((begins, ends)), return_inverse=True)
    in_use = np.cumsum(np.bincount(at, weights=np.concatenate((gpus, -gpus)), minlength=len(times)))
    nothing = np.zeros(len(times))
    # Nodes may have come or gone since they were counted: then it is not known how many GPUs there were.
    there = np.full(len(times), capacity if capacity >= in_use.max() else 0.0)
    columns = {name: nothing for name in COLUMNS if name != "time"} | {"inUse": in_use, "byRun": in_use, "there": there}
    return Usage(times, columns, np.diff(times, append=times[-1]), recorded=False)
