"""Where the time goes: the mean time of each step, for all workloads and for groups of slow and fast ones.

The steps are those between moments that follow one another, from the submission until the last pod runs; moments that
no workload of the run has are left out. So the steps of a group add up to its mean total.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ghostfleet.report.moments import CHAIN, MOMENTS, Phase
from ghostfleet.report.phases import Measured
from ghostfleet.report.workloads import Column

__all__ = ["Breakdown", "WorkloadGroup", "break_down", "chain_steps"]


class WorkloadGroup(NamedTuple):
    """Some workloads, and how long each step took them on average."""

    title: str
    workloads: int
    steps: Sequence[float]

    @property
    def total(self) -> float:
        return sum(self.steps)


class Breakdown(NamedTuple):
    """Groups of workloads, and the names of their steps."""

    titles: Sequence[str]
    groups: Sequence[WorkloadGroup]


def chain_steps(measured: Measured) -> list[tuple[str, Column]]:
    """The steps up to the leading total's end, each with the delays of all workloads."""
    leading = measured.leading
    if leading is None or leading.end not in CHAIN:
        return []
    keys = [key for key in CHAIN[: CHAIN.index(leading.end) + 1] if measured.workloads.knows(key)]
    return [
        (MOMENTS[end].title, np.maximum(measured.workloads.between(start, end), 0)) for start, end in pairwise(keys)
    ]


def break_down(measured: Measured) -> Breakdown | None:
    """All workloads, the faster half, the slowest tenth and hundredth; None when no total is known."""
    steps = chain_steps(measured)
    if measured.leading is None or not steps:
        return None
    whole = ~np.isnan(np.sum([column for _, column in steps], axis=0))
    rows = np.flatnonzero(whole)
    if not len(rows):
        return None
    ranked = rows[np.argsort(_totals(measured, measured.leading)[rows], kind="stable")]
    count = len(ranked)
    parts = [("All", ranked)]
    if count >= 20:
        parts += [("Faster half", ranked[: count // 2]), ("Slowest 10 %", ranked[-(count // 10) :])]
    if count >= 200:
        parts.append(("Slowest 1 %", ranked[-(count // 100) :]))
    groups = [
        WorkloadGroup(title, len(part), [float(column[part].mean()) for _, column in steps]) for title, part in parts
    ]
    return Breakdown([title for title, _ in steps], groups)


def _totals(measured: Measured, leading: Phase) -> Column:
    return measured.delays[leading.key]
