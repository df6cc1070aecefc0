"""A heap that is laid out as Go's container/heap lays it out, with KAI's limit and lazy repair.

The order of equal items, and of items whose rank changed while they waited, depends on the layout, so the moves are
those of Go: up after a push, down after a pop, and both in `fix`. KAI repairs its heaps only at the top and only when
something told it to, so that a heap may be out of order below. A full queue drops the item in its last slot, which need
not be the worst one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["INFINITE", "PriorityQueue"]

INFINITE = -1

T = TypeVar("T")


class PriorityQueue(Generic[T]):
    """Items by a less function: the least is popped first."""

    __slots__ = ("items", "less", "max_size")

    def __init__(self, less: Callable[[T, T], bool], max_size: int = INFINITE) -> None:
        self.items: list[T] = []
        self.less = less
        self.max_size = max_size

    def __len__(self) -> int:
        return len(self.items)

    def push(self, item: T) -> None:
        self.items.append(item)
        self._up(len(self.items) - 1)
        if self.max_size != INFINITE and len(self.items) > self.max_size:
            self._remove(self.max_size)

    def pop(self) -> T:
        last = len(self.items) - 1
        self._swap(0, last)
        self._down(0, last)
        return self.items.pop()

    def peek(self) -> T:
        return self.items[0]

    def fix(self, index: int) -> None:
        """Restore the order after the item at a place changed its rank."""
        if not self._down(index, len(self.items)):
            self._up(index)

    def _remove(self, index: int) -> T:
        last = len(self.items) - 1
        if last != index:
            self._swap(index, last)
            if not self._down(index, last):
                self._up(index)
        return self.items.pop()

    def _swap(self, left: int, right: int) -> None:
        items = self.items
        items[left], items[right] = items[right], items[left]

    def _up(self, index: int) -> None:
        items, less = self.items, self.less
        while index > 0:
            parent = (index - 1) // 2
            if not less(items[index], items[parent]):
                break
            items[parent], items[index] = items[index], items[parent]
            index = parent

    def _down(self, start: int, size: int) -> bool:
        items, less = self.items, self.less
        index = start
        while True:
            child = 2 * index + 1
            if child >= size:
                break
            right = child + 1
            if right < size and less(items[right], items[child]):
                child = right
            if not less(items[child], items[index]):
                break
            items[index], items[child] = items[child], items[index]
            index = child
        return index > start
