"""A run of a mix, class by class: how long each phase took its workloads, and how long they waited for their nodes.

Which workload is of which class is in what was submitted. *Waiting* is the time from the submission until all pods of a
workload have a node. The GPU time of a class is what its workloads *asked* for: GPUs times how long their pods were to
run; workloads that stay ask for no end of it, and are left out of the sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ghostfleet.lab.records import Submission
from ghostfleet.report.markup import Markup, element, table
from ghostfleet.report.phases import Measured, PhaseFigures, figures_of
from ghostfleet.report.words import amount, span
from ghostfleet.report.workloads import Texts

__all__ = ["ClassFigures", "class_column", "class_figures", "class_section"]

_WAITING = "totalBound"
_HOUR = 3600 * 1e6


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """One class of a mix in numbers."""

    name: str
    #: Those that the figures are made of.
    workloads: int
    failed: int
    #: GPU hours that its workloads asked for.
    gpu_hours: float
    phases: Sequence[PhaseFigures]

    @property
    def waiting(self) -> PhaseFigures | None:
        return next((each for each in self.phases if each.key == _WAITING), None)

    def as_json(self) -> dict[str, Any]:
        return {
            "class": self.name,
            "workloads": self.workloads,
            "failed": self.failed,
            "gpuHoursAsked": round(self.gpu_hours, 6),
            "phases": [each.as_json() for each in self.phases],
        }


def class_column(measured: Measured, submitted: Iterable[Submission]) -> Texts | None:
    """The class of each workload; None for a run without a mix."""
    classes = {each.name: each.workload_class for each in submitted if each.drawn is not None}
    if not classes:
        return None
    column = np.empty(len(measured.workloads), dtype=object)
    column[:] = [classes.get(name, "") for name in measured.workloads.names]
    return column


def class_figures(measured: Measured, submitted: Sequence[Submission]) -> list[ClassFigures]:
    """Each class of the run's mix, by name; nothing for a run without one."""
    column = class_column(measured, submitted)
    if column is None:
        return []
    asked = _gpu_hours(measured, submitted)
    return [_figures(measured, name, column == name, asked) for name in sorted(set(column)) if name]


def _figures(measured: Measured, name: str, rows: Any, asked: Mapping[str, float]) -> ClassFigures:
    workloads = measured.workloads.take(rows)
    phases = [figures_of(phase, measured.delays[phase.key][rows]) for phase in measured.phases]
    return ClassFigures(
        name,
        len(workloads),
        int(workloads.failed.sum()),
        sum(asked[each] for each in workloads.names),
        [each for each in phases if each.count],
    )


def _gpu_hours(measured: Measured, submitted: Iterable[Submission]) -> Mapping[str, float]:
    """What each workload asked for, by its name; its number of pods is what the cluster made of it."""
    pods = dict(zip(measured.workloads.names, np.nan_to_num(measured.workloads.pods).tolist(), strict=True))
    return {
        each.name: pods.get(each.name, 0.0) * each.drawn.gpus * (each.drawn.duration or 0) / _HOUR
        for each in submitted
        if each.drawn is not None
    }


def class_section(classes: Sequence[ClassFigures]) -> Markup:
    """The section of the page; empty for a run without a mix."""
    if not classes:
        return Markup("")
    waiting = [
        [
            each.name,
            f"{each.workloads:,}",
            f"{each.failed:,}",
            amount(each.gpu_hours),
            *(_spans(each.waiting) if each.waiting is not None else ["–"] * 5),
        ]
        for each in classes
    ]
    head = ["Class", "WorkloadTable", "Failed", "GPU hours asked for", "Mean", "p50", "p90", "p99", "Longest"]
    phases = [[each.name, phase.phase, f"{phase.count:,}", *_spans(phase)] for each in classes for phase in each.phases]
    by_phase = ["Class", "Phase", "WorkloadTable", "Mean", "p50", "p90", "p99", "Longest"]
    return element(
        "section",
        element("h2", "Classes", id="classes"),
        element("p", "The classes of the mix, and how long their workloads waited until all their pods had a node."),
        table("Waiting time by class", head, waiting, stacks=True),
        element(
            "details",
            element("summary", "All phases"),
            table("Phases by class", by_phase, phases, texts=2, stacks=True),
        ),
        aria_labelledby="classes",
    )


def _spans(figures: PhaseFigures) -> list[str]:
    return [span(value) for value in (figures.mean, figures.p50, figures.p90, figures.p99, figures.max)]
