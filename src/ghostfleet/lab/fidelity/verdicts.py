"""Verdicts: whether the embedded cluster comes near enough to a real one, figure by figure.

A total is *met* when it is wrong by a tenth at most, a phase by a fifth or half a second at most. A phase that is
little more than *one request* on the real cluster, by its median, is held to a fifth or five milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ghostfleet.lab.fidelity.figures import FIGURES, Measurement

__all__ = [
    "ONE_REQUEST",
    "PHASE_ERROR",
    "PHASE_SECONDS",
    "REQUEST_SECONDS",
    "TOTAL_ERROR",
    "Line",
    "judge",
    "worst_first",
]

TOTAL_ERROR = 0.10
PHASE_ERROR, PHASE_SECONDS, REQUEST_SECONDS = 0.20, 0.5, 0.005
#: A median that is not longer than this is that of one request.
ONE_REQUEST = 0.025


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of both clusters, in seconds."""

    test: str
    jobs: int
    nodes: int
    title: str
    measure: str
    total: bool
    real: float
    ours: float

    @property
    def difference(self) -> float:
        return self.ours - self.real

    @property
    def error(self) -> float:
        """As a share of the real one; infinite where that is nothing and ours is not."""
        if self.real:
            return self.difference / self.real
        return float("inf") if self.difference else 0.0

    @property
    def seconds(self) -> float:
        """By how much it may be wrong however large a share that is."""
        if self.total:
            return 0.0
        return REQUEST_SECONDS if self.measure == "p50" and self.real <= ONE_REQUEST else PHASE_SECONDS

    @property
    def used(self) -> float:
        """How much of what it may be wrong by it is wrong; up to 1 the goal is met."""
        share = abs(self.error) / (TOTAL_ERROR if self.total else PHASE_ERROR)
        return min(share, abs(self.difference) / self.seconds) if self.seconds else share

    @property
    def met(self) -> bool:
        return self.used <= 1


def judge(real: Iterable[Measurement], ours: Iterable[Measurement]) -> list[Line]:
    """Both sides figure by figure, for the tests that both have."""
    mine = {(each.test, each.jobs, each.nodes): each for each in ours}
    return [
        Line(
            theirs.test,
            theirs.jobs,
            theirs.nodes,
            figure.title,
            figure.measure,
            figure.total,
            theirs.seconds[figure.key],
            own.seconds[figure.key],
        )
        for theirs in real
        if (own := mine.get((theirs.test, theirs.jobs, theirs.nodes))) is not None
        for figure in FIGURES
        if figure.key in theirs.seconds and figure.key in own.seconds
    ]


def worst_first(lines: Iterable[Line]) -> list[Line]:
    """In the order of how much of what they may be wrong by they are wrong."""
    return sorted(lines, key=lambda line: -line.used)
