"""Arrivals: when workloads are submitted, where a rate or the times themselves are asked for.

A *steady* rate has the same gap between any two (`10/s`, `90/m`, `5/h`); *poisson* arrivals (`poisson:10/s`) come by
chance with that rate on average, as those of many independent users do. A *schedule* is a list of times, and has an
end. Times are microseconds after the start.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ghostfleet.core.clock import SECOND
from ghostfleet.core.randomness import Streams

__all__ = ["ArrivalSchedule", "Arrivals", "Rate", "parse_rate"]

_RATE = re.compile(r"(?:(poisson|steady):)?([0-9]+(?:\.[0-9]+)?)/(s|m|h)")
_SPANS = {"s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND}
_LONGEST_GAP = 365 * 24 * 3600 * SECOND


@dataclass(frozen=True, slots=True)
class Rate:
    """Arrivals without an end."""

    #: Microseconds between two, on average.
    gap: float
    poisson: bool = False

    def times(self, seed: int | str) -> Iterator[int]:
        """When each comes; the same for the same seed."""
        if not self.poisson:
            number = 0
            while True:
                yield int(number * self.gap)
                number += 1
        stream = Streams(seed).stream("arrivals")
        time = 0.0
        while True:
            yield int(time)
            time -= math.log1p(-stream.random()) * self.gap


@dataclass(frozen=True, slots=True)
class ArrivalSchedule:
    """Arrivals at given times, from the earliest to the latest."""

    moments: tuple[int, ...]

    def times(self, seed: int | str) -> Iterator[int]:
        """When each comes; nothing is left to chance."""
        del seed
        return iter(self.moments)


Arrivals = Rate | ArrivalSchedule


def parse_rate(text: str) -> Rate:
    """Arrivals from what users write; a ValueError if it is no rate."""
    match = _RATE.fullmatch(text.strip())
    number = float(match[2]) if match is not None else 0.0
    if match is None or number == 0:
        raise ValueError(f"{text!r}: expected a number above 0 a second, minute or hour: 10/s or poisson:10/s")
    gap = _SPANS[match[3]] / number
    if gap > _LONGEST_GAP:
        raise ValueError(f"{text!r}: expected at least one in a year: 10/s or poisson:10/s")
    return Rate(gap, match[1] == "poisson")
