"""Draws: values that are chosen by chance, for the workloads of a mix.

A *draw* makes a value from a number in [0, 1); who has the number has the value, so that what is drawn for a workload
depends on the seed and its number alone. Values are written as one value that is always taken, as a list of which each
is as likely as the other (what was measured somewhere may stand there as it is: an empirical distribution), as an
object of values with their weights, or as a distribution in words: `uniform(1, 8)` for whole numbers, and for durations
all that `stages.distributions` knows, `lognormal(5m, 0.8)`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TypeVar

from ghostfleet.core.durations import parse_duration
from ghostfleet.stages.distributions import LONGEST

__all__ = ["Draw", "always", "one_of", "read_duration", "uniform_in_words"]

T = TypeVar("T")
#: A value from a number in [0, 1).
Draw = Callable[[float], T]

_UNIFORM = re.compile(r"uniform\(\s*([0-9]{1,9})\s*,\s*([0-9]{1,9})\s*\)")


def always(value: T) -> Draw[T]:
    """The same value each time."""
    return lambda _: value


def one_of(values: Sequence[T], weights: Sequence[float] | None = None) -> Draw[T]:
    """One of several values, as likely as its weight says; without weights all are alike."""
    if len(values) == 1:
        return always(values[0])
    if weights is None:
        return lambda point: values[int(point * len(values))]
    bounds = list(accumulate(weights))
    return lambda point: values[min(bisect_right(bounds, point * bounds[-1]), len(values) - 1)]


def uniform_in_words(text: str) -> Draw[int]:
    """A whole number between two, both included, from `uniform(LEAST, MOST)`; a ValueError if it is not that."""
    match = _UNIFORM.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"expected a whole number, a list, weights or uniform(LEAST, MOST), found {text!r}")
    least, most = int(match[1]), int(match[2])
    if most < least:
        raise ValueError(f"expected the smaller number first, found {text!r}")
    return lambda point: least + int(point * (most - least + 1))


def read_duration(text: object) -> int:
    """Microseconds in a duration such as `90s`, from 0 to ten years."""
    try:
        span = parse_duration(text) if isinstance(text, str) else -1
    except ValueError:
        span = -1
    if not 0 <= span <= LONGEST:
        raise ValueError(f"expected a duration from 0s to ten years such as 90s or 2h, found {text!r}")
    return span
