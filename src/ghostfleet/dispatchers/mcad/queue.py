"""Queues: who is looked at next.

The *event queue* is first in, first out, and holds each wrapper once: what is added again keeps its place. Whoever
takes from it holds its lock while it works, and all who have something to add wait at the *gate*. The *active queue*
gives out the wrapper of the highest priority first; among equals it has no order that one could rely on, being the heap
of Go's library, which is kept here step by step so that ties come out as they do there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from ghostfleet.core.changes import Object
from ghostfleet.dispatchers.mcad.wrapper import Key

__all__ = ["ActiveQueue", "EventQueue", "Gate", "Seen"]


class Seen(NamedTuple):
    """A wrapper as it was when something happened to it: its status, and the version of the object."""

    status: Object
    version: str


class EventQueue:
    """Wrappers in the order in which something happened to them."""

    def __init__(self) -> None:
        self._keys: dict[Key, Seen] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: Key, seen: Seen) -> None:
        """Add a wrapper, or replace how it was seen where it stands."""
        self._keys[key] = seen

    def remove(self, key: Key) -> None:
        self._keys.pop(key, None)

    def pop(self) -> tuple[Key, Seen] | None:
        """The oldest, taken out; None when there is none."""
        for key, seen in self._keys.items():
            del self._keys[key]
            return key, seen
        return None

    def waiting(self) -> list[Key]:
        return list(self._keys)


class Gate:
    """The lock of the event queue: its worker keeps it while it works on a wrapper, and others wait for it.

    Everyone who waits is let in once between two pieces of work, in the order in which they came.
    """

    def __init__(self) -> None:
        #: Whether the worker is at work.
        self.shut = False
        self._waiting: dict[str, deque[Callable[[], None]]] = {}

    def enter(self, who: str, act: Callable[[], None]) -> bool:
        """Act now if nobody is at work, and when it is one's turn otherwise; answers whether it was done at once."""
        if not self.shut:
            act()
            return True
        self._waiting.setdefault(who, deque()).append(act)
        return False

    def let_in(self) -> bool:
        """Let everyone in who waits, once each; answers whether there was anyone."""
        turns = list(self._waiting.items())
        for who, acts in turns:
            acts.popleft()()
            del self._waiting[who]
            if acts:
                # Whoever has more to do waits again, behind the others.
                self._waiting[who] = acts
        return bool(turns)


class ActiveQueue:
    """Wrappers by priority."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, Key]] = []
        self._places: dict[Key, int] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._places

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, key: Key, priority: float) -> None:
        """Add a wrapper, unless it is there."""
        if key in self._places:
            return
        self._heap.append((priority, key))
        self._places[key] = len(self._heap) - 1
        self._up(len(self._heap) - 1)

    def pop(self) -> Key | None:
        """One of the highest priority, taken out; None when there is none."""
        return self._take(0) if self._heap else None

    def remove(self, key: Key) -> None:
        place = self._places.get(key)
        if place is not None:
            self._take(place)

    def rank(self, priorities: dict[Key, float]) -> None:
        """Order the queue anew by other priorities."""
        waiting = [key for _, key in self._heap]
        self._heap.clear()
        self._places.clear()
        for key in waiting:
            self.add(key, priorities[key])

    def waiting(self) -> list[Key]:
        """All that wait, the next one first."""
        return [key for _, key in sorted(self._heap, key=lambda entry: -entry[0])]

    def _take(self, place: int) -> Key:
        last = len(self._heap) - 1
        self._swap(place, last)
        _, key = self._heap.pop()
        del self._places[key]
        if place < last and not self._down(place):
            self._up(place)
        return key

    def _swap(self, one: int, other: int) -> None:
        heap, places = self._heap, self._places
        heap[one], heap[other] = heap[other], heap[one]
        places[heap[one][1]], places[heap[other][1]] = one, other

    def _up(self, place: int) -> None:
        while place:
            parent = (place - 1) // 2
            if self._heap[place][0] <= self._heap[parent][0]:
                return
            self._swap(place, parent)
            place = parent

    def _down(self, place: int) -> bool:
        start = place
        while (child := 2 * place + 1) < len(self._heap):
            if child + 1 < len(self._heap) and self._heap[child + 1][0] > self._heap[child][0]:
                child += 1
            if self._heap[child][0] <= self._heap[place][0]:
                break
            self._swap(place, child)
            place = child
        return place > start
