"""Saturation: how long each limit of the modelled components held something up.

A *limit* is what a component may do at most: so many requests a second, so much of a node's work. It is *saturated*
while at least one waits because of it; waits that overlap count once. A *meter* belongs to one limit and adds that up
as it happens, at the price of an addition for each wait and of nothing where nobody waits. All times are microseconds
of cluster time, passed in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Meter", "Meters", "Saturated", "saturated_since"]

_SECOND = 1_000_000


class Saturated(NamedTuple):
    """One limit, and how long it was saturated."""

    component: str
    limit: str
    #: How long at least one waited, in microseconds.
    time: int
    #: How many waited their turn, and for how long all of them together; 0 where they are not counted.
    waits: int
    waited: int

    def written(self) -> dict[str, Any]:
        """For records; times in seconds."""
        return {
            "component": self.component,
            "limit": self.limit,
            "seconds": self.time / _SECOND,
            "waits": self.waits,
            "waitedSeconds": self.waited / _SECOND,
        }


class Meter:
    """What one limit has held up so far."""

    __slots__ = ("_open", "_since", "_time", "_until", "_waited", "_waits", "component", "limit")

    def __init__(self, component: str, limit: str) -> None:
        self.component = component
        self.limit = limit
        self._time = 0
        self._until = 0
        self._waits = 0
        self._waited = 0
        self._open = 0
        self._since = 0

    def wait(self, now: int, delay: int) -> None:
        """One waits from now on, for so long; `now` never goes back."""
        end = now + delay
        until = self._until
        if end > until:
            self._time += end - (until if until > now else now)
            self._until = end
        self._waits += 1
        self._waited += delay

    def begin(self, now: int) -> None:
        """One begins to wait, until `end`; who does is not counted."""
        if not self._open:
            self._since = now
        self._open += 1

    def end(self, now: int) -> None:
        """One of those who began to wait does no more."""
        self._open -= 1
        if not self._open:
            self._time += now - self._since

    def reading(self, now: int) -> Saturated:
        """What has come about by now; what is known to come is left out."""
        ahead = max(0, self._until - now)
        running = now - self._since if self._open else 0
        return Saturated(self.component, self.limit, self._time - ahead + running, self._waits, self._waited)


class Meters:
    """The meters of one cluster; those of components that come into being later are added then."""

    def __init__(self) -> None:
        self._meters: list[Meter] = []

    def add(self, meter: Meter) -> None:
        self._meters.append(meter)

    def reading(self, now: int) -> list[Saturated]:
        """All limits, in the order in which they were added."""
        return [meter.reading(now) for meter in self._meters]


def saturated_since(before: Sequence[Saturated], after: Sequence[Saturated]) -> list[Saturated]:
    """What came about between two times at which meters were read; the worst first, and nothing that nobody felt."""
    found = [
        new._replace(time=new.time - old.time, waits=new.waits - old.waits, waited=new.waited - old.waited)
        for old, new in zip(before, after, strict=False)
    ]
    found += after[len(before) :]
    return sorted((each for each in found if each.time > 0), key=lambda each: (-each.time, each.component, each.limit))
