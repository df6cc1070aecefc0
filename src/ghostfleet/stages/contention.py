"""Contention: work that the pods of one node share.

A stage may say, by the annotation `ghostfleet.dev/contended-work: 1s`, that after its delay each pod needs so much of
its node's work. A node does so many pieces of work at once as its *concurrency* is, which is one unless
`ghostfleet.dev/contended-concurrency` says more; when more pods than that need work, they share it evenly, so that all
of them take longer. That is what a kubelet and a container runtime do to containers that start together, and what
KWOK's fixed delays leave out. A node's *service* is how much work each of its pods has had since the node had none to
do.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Generic, TypeVar

from ghostfleet.core.clock import Clock, Handle
from ghostfleet.core.ratelimit import Meter
from ghostfleet.stages.playstage import StageJob
from ghostfleet.stages.stage import Work

__all__ = ["Contention"]

Working = TypeVar("Working", bound=StageJob)


class _Node(Generic[Working]):
    """One node: who needs its work, by the service at which each has had enough."""

    __slots__ = ("concurrency", "crowded", "handle", "served", "since", "working")

    def __init__(self, concurrency: int) -> None:
        self.concurrency = concurrency
        self.served = 0.0
        self.since = 0
        self.working: list[tuple[float, int, Working]] = []
        self.handle: Handle | None = None
        #: Whether more pods need work than are served at once.
        self.crowded = False

    def share(self) -> float:
        """How much of a hand each pod has."""
        return min(1.0, self.concurrency / len(self.working))

    def serve(self, now: int) -> None:
        if self.working:
            self.served += (now - self.since) * self.share()
        self.since = now


class Contention(Generic[Working]):
    """Jobs that share the work of their nodes; `done` is called for each that has had enough."""

    def __init__(self, clock: Clock, done: Callable[[Working], None]) -> None:
        self._clock = clock
        self._done = done
        self._nodes: dict[str, _Node[Working]] = {}
        self._sequence = 0
        #: How long pods of any node had to share.
        self.meter = Meter("Nodes", "work that the pods of a node share")

    def add(self, node: str, work: Work, job: Working) -> None:
        """A job needs work of a node."""
        place = self._nodes.get(node)
        if place is None:
            place = self._nodes[node] = _Node(work.concurrency)
        place.serve(self._clock.now())
        self._sequence += 1
        heapq.heappush(place.working, (place.served + work.microseconds, self._sequence, job))
        self._wait(node, place)

    def _wait(self, node: str, place: _Node[Working]) -> None:
        """Come back when the first has had enough, if nobody joins before."""
        if place.handle is not None:
            place.handle.cancel()
            place.handle = None
        if place.crowded is not (len(place.working) > place.concurrency):
            place.crowded = not place.crowded
            (self.meter.begin if place.crowded else self.meter.end)(self._clock.now())
        if not place.working:
            del self._nodes[node]
            return
        delay = (place.working[0][0] - place.served) / place.share()
        place.handle = self._clock.call_later(max(0, round(delay)), self._served, node, place)

    def _served(self, node: str, place: _Node[Working]) -> None:
        place.handle = None
        place.serve(self._clock.now())
        ready: list[Working] = []
        # Times are whole microseconds, so that the last one is missed by less than one.
        while place.working and place.working[0][0] <= place.served + 1:
            ready.append(heapq.heappop(place.working)[2])
        self._wait(node, place)
        for job in ready:
            if not job.cancelled:
                self._done(job)
