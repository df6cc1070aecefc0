"""Arrivals: when workloads are submitted, where a rate is asked for.

A *steady* rate has the same gap between any two (`10/s`, `90/m`, `5/h`); *poisson* arrivals (`poisson:10/s`) come by
chance with that rate on average, as those of many independent users do. Times are microseconds after the start.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ghostfleet.core.clock import SECOND
from ghostfleet.core.randomness import Streams
from ghostfleet.lab.errors import LabError

__all__ = ["Arrivals", "parse_rate"]

_RATE = re.compile(r"(?:(poisson|steady):)?([0-9]+(?:\.[0-9]+)?)/(s|m|h)")
_SPANS = {"s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND}


@dataclass(frozen=True, slots=True)
class Arrivals:
    """See the module's words."""

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


def parse_rate(text: str) -> Arrivals:
    """Arrivals from what users write."""
    match = _RATE.fullmatch(text.strip())
    if match is None or float(match[2]) == 0:
        raise LabError(f"--rate {text!r}: expected a number above 0 a second, minute or hour: 10/s or poisson:10/s")
    return Arrivals(_SPANS[match[3]] / float(match[2]), match[1] == "poisson")
