"""Waiting wrappers, in lines of those that are alike.

Wrappers of one *signature* ask for the same pods, the same quota and have the same priority; if the first of them does
not fit, none of the others does. So only the first of each line is looked at, and a line that was found *blocked* is
left alone until something becomes free. Lines are served by priority, and then by who came first.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator

from ghostfleet.dispatchers.mcad.wrapper import Key

__all__ = ["Signature", "WaitingLines"]

Signature = tuple[object, ...]
#: Sorts by priority and arrival; the number keeps signatures from being compared.
_Turn = tuple[float, int, int, Signature]


class _Line:
    __slots__ = ("blocked", "members", "priority")

    def __init__(self, priority: float) -> None:
        self.priority = priority
        self.members: deque[tuple[int, Key]] = deque()
        self.blocked = False


class WaitingLines:
    """All that wait."""

    def __init__(self) -> None:
        self._lines: dict[Signature, _Line] = {}
        self._places: dict[Key, tuple[Signature, int]] = {}
        self._arrivals = 0

    def __contains__(self, key: Key) -> bool:
        return key in self._places

    def __len__(self) -> int:
        return len(self._places)

    def add(self, key: Key, signature: Signature, priority: float) -> bool:
        """Join the line of one's kind; answers whether that line may have a chance."""
        line = self._lines.get(signature)
        if line is None:
            line = self._lines[signature] = _Line(priority)
        self._arrivals += 1
        self._places[key] = (signature, self._arrivals)
        line.members.append((self._arrivals, key))
        return not line.blocked

    def remove(self, key: Key) -> None:
        """Leave; harmless when one is not there."""
        self._places.pop(key, None)

    def unblock(self) -> None:
        """Something has become free."""
        for line in self._lines.values():
            line.blocked = False

    def heads(self) -> Iterator[Key]:
        """The next in turn, again and again until all lines are empty or blocked.

        Whoever takes a head must `remove` it, or `block` it.
        """
        heap: list[_Turn] = []
        for number, (signature, line) in enumerate(list(self._lines.items())):
            self._push(heap, signature, line, number)
        while heap:
            _, arrival, number, signature = heapq.heappop(heap)
            line = self._lines[signature]
            key = line.members[0][1]
            if self._places.get(key) == (signature, arrival):
                yield key
            self._push(heap, signature, line, number)

    def _push(
        self, heap: list[tuple[float, int, int, Signature]], signature: Signature, line: _Line, number: int
    ) -> None:
        members = line.members
        while members and self._places.get(members[0][1]) != (signature, members[0][0]):
            members.popleft()
        if not members:
            del self._lines[signature]
        elif not line.blocked:
            heapq.heappush(heap, (-line.priority, members[0][0], number, signature))

    def block(self, key: Key) -> None:
        """The head of a line does not fit."""
        self._lines[self._places[key][0]].blocked = True

    def oldest_blocked(self) -> Key | None:
        """Of those that do not fit, the most important and oldest."""
        best: tuple[float, int, Key] | None = None
        for signature, line in self._lines.items():
            for arrival, key in line.members:
                if self._places.get(key) == (signature, arrival):
                    candidate = (-line.priority, arrival, key)
                    if line.blocked and (best is None or candidate < best):
                        best = candidate
                    break
        return best[2] if best is not None else None

    def waiting(self) -> list[Key]:
        """All that wait, in the order in which they would be served."""
        order = [
            (-line.priority, arrival, key)
            for signature, line in self._lines.items()
            for arrival, key in line.members
            if self._places.get(key) == (signature, arrival)
        ]
        return [key for _, _, key in sorted(order)]
