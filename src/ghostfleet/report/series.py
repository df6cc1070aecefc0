"""What the charts of the page are drawn from: small arrays that stand for many workloads.

Time goes by in *slices* of equal width; for each of them it is told how many workloads reached a moment in it. Single
workloads are drawn as points. When they are too many, a part of them is drawn: some evenly chosen, and for each phase
those with the smallest and the largest delay of each stretch of submissions, so that nothing that sticks out is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ghostfleet.report.workloads import Column, WorkloadTable

__all__ = ["DelayHistogram", "Slices", "bin_edges", "drawn_rows", "histogram", "packed", "slices"]

Rows = npt.NDArray[np.intp]

_MOST_SLICES = 160
_MOST_POINTS = 8000
_BINS = 60
_FEWEST_BINS = 12
_WIDTHS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400)
_MICRO = 1e6


class Slices(NamedTuple):
    """Equal parts of the time of a run."""

    #: The beginning of the first, in seconds since the epoch.
    start: float
    #: In seconds.
    width: float
    number: int

    @property
    def length(self) -> float:
        return self.width * self.number

    @property
    def edges(self) -> Column:
        edges: Column = self.start + self.width * np.arange(self.number + 1, dtype=np.float64)
        return edges

    def counted(self, times: Column) -> list[int]:
        """How many of the times lie in each."""
        known = times[~np.isnan(times)]
        rows = ((known - self.start) // self.width).astype(int)
        return [int(each) for each in np.bincount(np.clip(rows, 0, self.number - 1), minlength=self.number)]


class DelayHistogram(NamedTuple):
    """How many delays lie in each of the bins, which are of equal width."""

    low: float
    width: float
    counts: list[int]


def slices(workloads: WorkloadTable) -> Slices:
    """Slices from the first submission to the last thing known, of a width that is easy to read."""
    known = [times[~np.isnan(times)] for times in (workloads.at(key) for key in workloads.stamps)]
    start = float(workloads.at("submitted").min())
    span = max(max((float(times.max()) for times in known if len(times)), default=start) - start, 1e-6)
    width = next((width for width in _all_widths(span) if span / width < _MOST_SLICES), span)
    return Slices(start, width, int(span // width) + 1)


def _all_widths(span: float) -> Iterable[float]:
    """Whole units of time; below the second, powers of ten, since a run may be over in a moment."""
    if span < 40:
        yield from (10.0**power for power in range(-6, 0) if span / 10.0**power >= 4)
    yield from _WIDTHS
    yield from (86_400.0 * days for days in (2, 7, 30, 365))


def bin_edges(delays: Column, most: int = _BINS) -> Column:
    """The edges of bins of equal width over all delays; around whole seconds where the delays are whole."""
    low, high = float(delays.min()), float(delays.max())
    if np.array_equal(delays, np.floor(delays)):
        width = np.ceil((high - low + 1) / most)
        # A few empty bins beside the only full ones, which would else fill the whole width of a chart.
        number = max(_FEWEST_BINS, int((high - low) // width) + 1)
        whole: Column = low - 0.5 + width * np.arange(number + 1, dtype=np.float64)
        return whole
    if high - low < 1 / _MICRO:
        low, high = (0.5 * low, 1.5 * high) if low > 0 else (low - 1, high + 1)
    return np.linspace(low, high, most + 1)


def histogram(delays: Column) -> DelayHistogram:
    """All known delays, in bins."""
    known = delays[~np.isnan(delays)]
    edges = bin_edges(known)
    low, width = float(edges[0]), float(edges[1] - edges[0])
    rows = np.clip(((known - low) // width).astype(int), 0, len(edges) - 2)
    return DelayHistogram(low, width, [int(each) for each in np.bincount(rows, minlength=len(edges) - 1)])


def drawn_rows(columns: Sequence[Column], count: int, most: int = _MOST_POINTS) -> Rows:
    """Which workloads are drawn: all, or some evenly chosen and those that stick out in any of the columns."""
    if count <= most:
        return np.arange(count)
    chosen = [np.linspace(0, count - 1, most // 3).astype(np.intp)]
    stretches = max(1, (most - most // 3) // (2 * max(1, len(columns))))
    bounds = np.linspace(0, count, stretches + 1).astype(np.intp)
    for column in columns:
        for start, end in pairwise(bounds):
            part = column[start:end]
            if not np.isnan(part).all():
                chosen.append(np.array([start + np.nanargmin(part), start + np.nanargmax(part)]))
    return np.unique(np.concatenate(chosen))


def packed(seconds: Column) -> dict[str, Any]:
    """A column as differences of whole numbers, which are short to write; what is unknown is null.

    The unit is a power of ten of microseconds that keeps six digits of the largest value.
    """
    known = ~np.isnan(seconds)
    largest = float(np.abs(seconds[known]).max()) * _MICRO if known.any() else 0.0
    unit = 10 ** max(0, int(np.floor(np.log10(largest))) - 6) if largest > 0 else 1
    whole = np.round(seconds[known] * (_MICRO / unit)).astype(np.int64)
    steps: list[int | None] = [None] * len(seconds)
    for row, step in zip(np.flatnonzero(known).tolist(), np.diff(whole, prepend=0).tolist(), strict=True):
        steps[row] = step
    return {"unit": unit / _MICRO, "steps": steps}
