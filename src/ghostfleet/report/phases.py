"""How long each phase took: delays, percentiles, and which workloads count.

A workload is *erroneous* when its times contradict one another: its pod group is older than its first pod (the pod was
killed and replaced), or it was decided on before it was submitted. Erroneous workloads can be left out of the figures;
they are counted all the same, as are those that failed, those that are *incomplete* (no pod has a node yet),
submissions that were *refused*, and those not sampled yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ghostfleet.report.moments import CHAIN, PHASES, Phase
from ghostfleet.report.workloads import Column, JoinedRun, Mask, WorkloadTable

__all__ = ["Measured", "PhaseFigures", "WorkloadCounts", "delay_figures", "figures_of", "measure"]

_PERCENTILES = (50, 90, 99)


@dataclass(frozen=True, slots=True)
class PhaseFigures:
    """One phase in numbers; delays in seconds of cluster time."""

    key: str
    phase: str
    start: str
    count: int
    mean: float
    p50: float
    p90: float
    p99: float
    max: float

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def delays(self) -> dict[str, float]:
        """Mean, percentiles and the longest, in seconds."""
        return {"mean": self.mean, "p50": self.p50, "p90": self.p90, "p99": self.p99, "max": self.max}


@dataclass(frozen=True, slots=True)
class WorkloadCounts:
    """How many workloads there are of which sort."""

    #: Taken by the cluster.
    submitted: int
    #: Submissions that failed.
    refused: int
    #: Submitted, but not in the sample.
    unsampled: int
    #: In the sample, but not submitted by this run.
    foreign: int
    #: Sampled, but not decided on yet.
    incomplete: int
    #: Workloads that failed.
    failed: int
    #: Times that contradict one another.
    erroneous: int
    #: Failed, refused or erroneous, each counted once.
    troubled: int
    #: Erroneous ones that the figures leave out.
    skipped: int
    #: What the figures are made of, after all of that and after --head and --tail.
    measured: int
    #: How many of those a recorder followed to the microsecond.
    recorded: int

    @property
    def chosen_away(self) -> int:
        """How many --head and --tail left out."""
        return self.submitted - self.unsampled - self.skipped - self.measured


@dataclass(frozen=True, slots=True)
class Measured:
    """The workloads that count, and their phases."""

    workloads: WorkloadTable
    counts: WorkloadCounts
    #: Phases that at least one workload went through, with their delays.
    phases: Sequence[Phase]
    delays: Mapping[str, Column]
    figures: Sequence[PhaseFigures]
    #: Name, what is wrong, and more words, of each workload that deserves a look.
    problems: Sequence[tuple[str, str, str]]

    @property
    def leading(self) -> Phase | None:
        """The total by which workloads are ranked: to the last pod running, else the furthest that is known."""
        known = {phase.key: phase for phase in self.phases}
        for key in ("totalRunning", "totalBound", "totalDecided", "totalBackendJob"):
            if key in known:
                return known[key]
        return None


def measure(
    joined: JoinedRun, *, skip_errors: bool = True, head: int | None = None, tail: int | None = None
) -> Measured:
    """What counts of a run: without erroneous workloads if so wished, then the first and of these the last few."""
    everything = joined.workloads
    erroneous = everything.replaced | everything.backwards
    workloads = everything.take(~erroneous) if skip_errors else everything
    if head:
        workloads = workloads.take(slice(head))
    if tail:
        workloads = workloads.take(slice(-tail, None))
    phases = [_known_start(phase, workloads) for phase in PHASES]
    wrong = workloads.replaced | workloads.backwards
    delays = {phase.key: _possible(workloads.delays(phase), wrong) for phase in phases}
    figures = {phase.key: figures_of(phase, delays[phase.key]) for phase in phases}
    known = [phase for phase in phases if figures[phase.key].count]
    return Measured(
        workloads=workloads,
        counts=WorkloadCounts(
            submitted=joined.submitted,
            refused=len(joined.refused),
            unsampled=len(joined.unsampled),
            foreign=joined.foreign,
            incomplete=int(everything.incomplete.sum()),
            failed=int(everything.failed.sum()),
            erroneous=int(erroneous.sum()),
            troubled=int((everything.failed | erroneous).sum()) + len(joined.refused),
            skipped=int(erroneous.sum()) if skip_errors else 0,
            measured=len(workloads),
            recorded=workloads.recorded,
        ),
        phases=known,
        delays={phase.key: delays[phase.key] for phase in known},
        figures=[figures[phase.key] for phase in known],
        problems=_problems(joined),
    )


def _possible(delays: Column, wrong: Mask) -> Column:
    """Delays that are not negative: what came before the moment from which it is measured took no time after it.

    Erroneous workloads, which are there only when asked for, show the contradiction as it is.
    """
    return np.where(wrong, delays, np.maximum(delays, 0))


def _known_start(phase: Phase, workloads: WorkloadTable) -> Phase:
    """The phase from a moment that this kind of workload has: a plain Job has no pod group, a bare pod no job."""
    start = phase.start
    while start in CHAIN[1:] and not workloads.knows(start):
        start = CHAIN[CHAIN.index(start) - 1]
    return phase._replace(start=start)


def figures_of(phase: Phase, delays: Column) -> PhaseFigures:
    """A phase in numbers, from the delays of some workloads; a count of 0 where none went through it."""
    return delay_figures(phase.key, phase.title, phase.start_title, delays[~np.isnan(delays)])


def delay_figures(key: str, title: str, start: str, delays: Column) -> PhaseFigures:
    """Delays in numbers."""
    if not len(delays):
        return PhaseFigures(key, title, start, 0, 0.0, 0.0, 0.0, 0.0, 0.0)
    p50, p90, p99 = (float(each) for each in np.percentile(delays, _PERCENTILES))
    return PhaseFigures(key, title, start, len(delays), float(delays.mean()), p50, p90, p99, float(delays.max()))


def _problems(joined: JoinedRun) -> list[tuple[str, str, str]]:
    found = [(name, "refused", error) for name, error in joined.refused]
    workloads = joined.workloads
    found += [
        (workloads.names[row], "failed", workloads.failures[row] or "the workload failed")
        for row in np.flatnonzero(workloads.failed)
    ]
    found += _named(workloads, workloads.replaced, "erroneous", "its pod group is older than its first pod")
    found += _named(workloads, workloads.backwards, "erroneous", "it was decided on before it was submitted")
    found += _named(workloads, workloads.incomplete & ~workloads.failed, "incomplete", "no pod of it has a node yet")
    found += [(name, "not sampled", "it was submitted, but the sample does not have it") for name in joined.unsampled]
    return found


def _named(workloads: WorkloadTable, mask: Any, what: str, why: str) -> list[tuple[str, str, str]]:
    return [(name, what, why) for name in workloads.names[mask]]
