"""Victims in their order, to be gone through several times from the start.

A job's parts are solved one after the other, each on the same state of the cluster, so the order is built once and what
was popped is remembered. Only a replay that pushes something back, as elastic jobs do, goes on with an order of its
own.
"""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.schedulers.kai.job_order import JobsOrder
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo

__all__ = ["Victims", "VictimsReplay"]


class Victims:
    """The order as far as anybody has gone through it."""

    def __init__(self, build: Callable[[], JobsOrder]) -> None:
        self._build = build
        self._order = build()
        self._popped: list[PodGroupInfo] = []
        self._gone_through = 0

    @property
    def known(self) -> int:
        """How many are known; the others can be found only while the cluster is as it was when the order was built."""
        return len(self._popped)

    def replay(self, go_back: Callable[[], None]) -> VictimsReplay:
        """Go through the victims from the start; `go_back` brings the cluster back to what it was."""
        return VictimsReplay(self, go_back)

    def at(self, index: int) -> PodGroupInfo | None:
        """The victim at a place in the order; None past the end."""
        while index >= len(self._popped):
            job = self._order.pop() if self._order else None
            if job is None:
                return None
            self._popped.append(job)
        return self._popped[index]

    def note(self, count: int) -> None:
        """Somebody has gone through so many."""
        self._gone_through = max(self._gone_through, count)

    def look_ahead(self) -> bool:
        """Whether twice as many victims are known as anybody has gone through."""
        return self._gone_through * 2 <= self.known or not self._order

    def find_more(self) -> None:
        """Get to know victims ahead, while the cluster is as it was."""
        self.at(self._gone_through * 4 + 64)

    def fork(self, popped: int) -> JobsOrder:
        """An order from which so many were popped."""
        order = self._build()
        for _ in range(popped):
            order.pop()
        return order


class VictimsReplay:
    """One way through the victims."""

    def __init__(self, victims: Victims, go_back: Callable[[], None]) -> None:
        self._victims = victims
        self._go_back = go_back
        self._index = 0
        self._own: JobsOrder | None = None

    def pop(self) -> PodGroupInfo | None:
        if self._own is not None:
            return self._own.pop() if self._own else None
        if self._index >= self._victims.known:
            self._go_back()
        job = self._victims.at(self._index)
        self._index += job is not None
        self._victims.note(self._index)
        return job

    def push(self, job: PodGroupInfo) -> None:
        if self._own is None:
            self._go_back()
            self._own = self._victims.fork(self._index)
        self._own.push(job)
