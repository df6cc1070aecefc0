"""Figures: a measured value, the baseline it is to be read against, and the goal it must reach.

A *baseline* is the simplest thing that does a comparable job, measured in the same run on the same machine; so a ratio
says more about our own code than a value does, which a busy machine can halve.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["REPETITIONS", "Baseline", "Figure", "Goal", "at_least", "at_most", "best", "cpu_seconds_of", "seconds_of"]

REPETITIONS = 3


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound that a value must keep to."""

    bound: float
    upper: bool

    def reached_by(self, value: float) -> bool:
        return value <= self.bound if self.upper else value >= self.bound

    def __str__(self) -> str:
        return f"{'<=' if self.upper else '>='} {_number(self.bound)}"


def at_least(bound: float) -> Goal:
    return Goal(bound, upper=False)


def at_most(bound: float) -> Goal:
    return Goal(bound, upper=True)


@dataclass(frozen=True, slots=True)
class Baseline:
    """What the value is compared with."""

    what: str
    value: float


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the report."""

    name: str
    value: float
    unit: str
    baseline: Baseline
    goal: Goal | None = None

    @property
    def missed(self) -> bool:
        return self.goal is not None and not self.goal.reached_by(self.value)

    def __str__(self) -> str:
        ratio = self.value / self.baseline.value
        line = f"{self.name}: {_number(self.value)} {self.unit} "
        line += f"(x{ratio:.3g} of baseline; {self.baseline.what} {_number(self.baseline.value)})"
        if self.goal is not None:
            line += f" goal {self.goal}: {'missed' if self.missed else 'reached'}"
        return line


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def seconds_of(work: Callable[[], object]) -> float:
    """How long a piece of work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def cpu_seconds_of(work: Callable[[], object]) -> float:
    """How long a piece of work takes of this process' own time: others on the machine count less so."""
    began = time.process_time()
    work()
    return time.process_time() - began


def best(measure: Callable[[], float], *, lowest: bool = False) -> float:
    """The best of a few repetitions: what the machine can do when others leave it alone."""
    values = [measure() for _ in range(REPETITIONS)]
    return min(values) if lowest else max(values)
