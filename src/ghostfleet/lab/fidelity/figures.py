"""Figures: what a test came to, from the marks that a recorder made of each Job.

A *phase* is the time between two marks of one Job; of each phase the median and the 90th percentile of all Jobs count.
A *total* is the time from the creation of the first Job until a mark was made for the last time, and so is the whole
life of a Job, from its creation to its completion. All are seconds of cluster time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import quantiles
from typing import NamedTuple

from ghostfleet.core.clock import SECOND

__all__ = ["FIGURES", "SCRIPT", "ComparedFigure", "Measurement", "figures_of"]

SCRIPT = "script"


class ComparedFigure(NamedTuple):
    """One number that a test comes to."""

    key: str
    title: str
    #: `p50`, `p90` or `last`
    measure: str
    start: str
    end: str
    total: bool = False


_STEPS = (
    ("podCreated", "Job created to pod created", "workload", "firstPod"),
    ("scheduled", "pod created to scheduled", "firstPod", "bound"),
    ("running", "scheduled to running", "bound", "running"),
    ("succeeded", "running to succeeded", "running", "ended"),
    ("complete", "succeeded to Job complete", "ended", "finished"),
)
_ENDS = (
    ("lastPodCreated", "last pod created", "firstPod"),
    ("lastPodSucceeded", "last pod succeeded", "ended"),
    ("lastJobComplete", "last Job complete", "finished"),
)
#: In the order in which they are told.
FIGURES = (
    *(
        ComparedFigure(f"{key}.{measure}", title, measure, start, end)
        for key, title, start, end in _STEPS
        for measure in ("p50", "p90")
    ),
    *(
        ComparedFigure(f"job.{measure}", "a Job's whole life", measure, "workload", "finished", True)
        for measure in ("p50", "p90")
    ),
    *(ComparedFigure(key, title, "last", "workload", end, True) for key, title, end in _ENDS),
    # What the stress test's script itself measures, which no mark tells.
    ComparedFigure(SCRIPT, "what the script counts", "last", "", "", True),
)


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one test with so many Jobs on so many nodes came to: seconds by the key of their figure."""

    test: str
    jobs: int
    nodes: int
    seconds: Mapping[str, float]
    #: For how many seconds the cluster stood still at worst meanwhile; None if nobody has looked.
    stalled: float | None = None


def figures_of(marks: Iterable[Mapping[str, int]]) -> dict[str, float]:
    """All figures of some Jobs, each given by its marks; without those that no Job has."""
    jobs = list(marks)
    found: dict[str, float] = {}
    for figure in FIGURES:
        spans = sorted(_spans(jobs, figure))
        if spans:
            found[figure.key] = _measured(spans, figure.measure) / SECOND
    return found


def _spans(jobs: list[Mapping[str, int]], figure: ComparedFigure) -> list[int]:
    start, end = figure.start, figure.end
    if figure.measure == "last":
        begin = min((job[start] for job in jobs if start in job), default=0)
        return [job[end] - begin for job in jobs if end in job]
    # Several watches tell the marks of a real cluster, so one may come a moment before what caused it.
    return [max(0, job[end] - job[start]) for job in jobs if start in job and end in job]


def _measured(spans: list[int], measure: str) -> float:
    if measure == "last" or len(spans) == 1:
        return spans[-1]
    tenths = quantiles(spans, n=10, method="inclusive")
    return tenths[4] if measure == "p50" else tenths[8]
