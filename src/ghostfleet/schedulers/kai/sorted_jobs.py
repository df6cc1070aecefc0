"""The jobs of one queue whose ranks do not change while they wait: a sorted list, popped as a heap would be."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable
from typing import Any

from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo

__all__ = ["SortedJobs"]


class SortedJobs:
    """Jobs by key, the least first, or backwards; no two have the same key."""

    __slots__ = ("_backwards", "_jobs", "_key", "_start")

    def __init__(
        self, jobs: Iterable[PodGroupInfo], key: Callable[[PodGroupInfo], tuple[Any, ...]], backwards: bool
    ) -> None:
        self._key = key
        self._backwards = backwards
        self._jobs = sorted(jobs, key=key)
        #: Jobs before it were popped.
        self._start = 0

    def __len__(self) -> int:
        return len(self._jobs) - self._start

    def push(self, job: PodGroupInfo) -> None:
        insort(self._jobs, job, lo=self._start, key=self._key)

    def pop(self) -> PodGroupInfo:
        if self._backwards:
            return self._jobs.pop()
        self._start += 1
        return self._jobs[self._start - 1]

    def peek(self) -> PodGroupInfo:
        return self._jobs[-1 if self._backwards else self._start]
