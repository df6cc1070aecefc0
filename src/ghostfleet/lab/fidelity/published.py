"""Published figures: how near the embedded cluster comes to what others have measured on real ones.

A *comparison* is one published figure beside ours. Ours is the average of several trials, for a script that counts
whole seconds and asks once a second is off by up to two of them in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml

from ghostfleet.lab.errors import LabError
from ghostfleet.lab.progress import Progress
from ghostfleet.lab.stress import StressPlan, run_stress
from ghostfleet.lab.stress.modes import Mode

__all__ = ["LARGEST_ERROR", "MEAN_ERROR", "Comparison", "compare", "holds", "mean_error", "published_modes", "source"]

#: What is thought good enough: for the mean of a mode, and for each of its figures.
MEAN_ERROR, LARGEST_ERROR = 0.05, 0.10
ITERATIONS = 5
_DATA = Path(__file__).parent.parent / "data" / "published.yaml"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One published figure and ours, in seconds."""

    mode: str
    jobs: int
    published: float
    ours: float

    @property
    def error(self) -> float:
        return (self.ours - self.published) / self.published


def published_modes() -> list[str]:
    """The modes of which figures were published."""
    return list(_published())


def source(mode: str) -> str:
    """Who published them."""
    return str(_published()[mode]["source"])


def compare(
    modes: Sequence[str],
    progress: Progress,
    *,
    iterations: int = ITERATIONS,
    seed: int = 0,
    profile: str = "",
    instead: Mode | None = None,
) -> list[Comparison]:
    """Run what was published and put both side by side; `instead` is tried in place of the mode."""
    compared = []
    for mode in modes:
        if mode not in _published():
            raise LabError(f"nothing is published for mode {mode!r}; figures exist for {', '.join(_published())}")
        figures: dict[int, float] = _published()[mode]["seconds"]
        plan = StressPlan((mode,), tuple(figures), iterations=iterations, seed=seed, profile=profile)
        trials = run_stress(plan, progress, instead=instead)
        for jobs, published in figures.items():
            ours = fmean(trial.seconds for trial in trials if trial.jobs == jobs)
            compared.append(Comparison(mode, jobs, published, ours))
    return compared


def mean_error(comparisons: Sequence[Comparison], mode: str) -> float:
    """The mean of the errors of one mode, whatever their signs."""
    return fmean(abs(each.error) for each in comparisons if each.mode == mode)


def holds(comparisons: Sequence[Comparison]) -> bool:
    """Whether all modes are near enough."""
    modes = {each.mode for each in comparisons}
    return all(mean_error(comparisons, mode) <= MEAN_ERROR for mode in modes) and all(
        abs(each.error) <= LARGEST_ERROR for each in comparisons
    )


@lru_cache(maxsize=1)
def _published() -> dict[str, dict[str, Any]]:
    read: dict[str, dict[str, Any]] = yaml.safe_load(_DATA.read_text(encoding="utf-8"))
    return read
