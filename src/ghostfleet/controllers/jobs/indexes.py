"""Sets of completion indexes, as intervals, and as the text that a Job's status has for them: `0-2,5,7,8`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from ghostfleet.core.changes import Object

__all__ = ["Intervals", "contains", "index_of", "intervals", "intervals_text", "parse_intervals", "pending", "total"]

#: Ordered, disjoint, not even touching; each with its first and its last index.
Intervals = tuple[tuple[int, int], ...]

INDEX = "batch.kubernetes.io/job-completion-index"


def index_of(pod: Object) -> int | None:
    """The completion index of a pod; None when it has no valid one."""
    annotations = pod["metadata"].get("annotations")
    text = annotations.get(INDEX, "") if annotations else ""
    return int(text) if text.isascii() and text.isdigit() else None


def intervals(*parts: Iterable[tuple[int, int]]) -> Intervals:
    """The union of intervals that come in any order."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(each for part in parts for each in part):
        if merged and first <= merged[-1][1] + 1:
            if last > merged[-1][1]:
                merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return tuple(merged)


@lru_cache(maxsize=256)
def parse_intervals(text: str, completions: int) -> Intervals:
    """The indexes below `completions` that a text names."""
    found = []
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        if int(first) < completions:
            found.append((int(first), min(int(last or first), completions - 1)))
    return intervals(found)


def intervals_text(indexes: Intervals) -> str:
    parts = []
    for first, last in indexes:
        if last == first:
            parts.append(str(first))
        else:
            parts.append(f"{first},{last}" if last == first + 1 else f"{first}-{last}")
    return ",".join(parts)


def total(indexes: Intervals) -> int:
    return sum(last - first + 1 for first, last in indexes)


def contains(indexes: Intervals, index: int) -> bool:
    return any(first <= index <= last for first, last in indexes)


def pending(taken: Intervals, count: int, completions: int) -> list[int]:
    """The first `count` indexes below `completions` that are not taken."""
    found: list[int] = []
    candidate = 0
    for first, last in (*taken, (completions, completions)):
        while candidate < min(first, completions) and len(found) < count:
            found.append(candidate)
            candidate += 1
        candidate = max(candidate, last + 1)
    return found
