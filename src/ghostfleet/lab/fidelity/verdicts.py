"""Verdicts: whether the embedded cluster comes near enough to a real one, figure by figure.

A total is *met* when it is wrong by a tenth at most, a phase by a fifth or half a second at most: a phase may be as
short as a request, where a share of it says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ghostfleet.lab.fidelity.figures import FIGURES, Measurement

__all__ = ["PHASE_ERROR", "PHASE_SECONDS", "TOTAL_ERROR", "Line", "judge"]

TOTAL_ERROR = 0.10
PHASE_ERROR, PHASE_SECONDS = 0.20, 0.5


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of both clusters, in seconds."""

    test: str
    jobs: int
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
    def met(self) -> bool:
        if self.total:
            return abs(self.error) <= TOTAL_ERROR
        return abs(self.error) <= PHASE_ERROR or abs(self.difference) <= PHASE_SECONDS


def judge(real: Iterable[Measurement], ours: Iterable[Measurement]) -> list[Line]:
    """Both sides figure by figure, for the tests that both have."""
    mine = {(each.test, each.jobs): each for each in ours}
    return [
        Line(
            theirs.test,
            theirs.jobs,
            figure.title,
            figure.measure,
            figure.total,
            theirs.seconds[figure.key],
            own.seconds[figure.key],
        )
        for theirs in real
        if (own := mine.get((theirs.test, theirs.jobs))) is not None
        for figure in FIGURES
        if figure.key in theirs.seconds and figure.key in own.seconds
    ]
