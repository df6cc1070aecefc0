"""Which of two queues comes first, by KAI's eight rules.

1 a queue that has more than its fair share in everything comes later; 2 one that would stay within its quota with its
next job comes first; 3 the higher priority; 4 one that would use what it has no share of comes later; 5 the smaller
dominant share with the job and without the victims; 6 the same without them; 7 the smaller allocatable share; 8 the
older.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ghostfleet.schedulers.kai.plugins.proportion.resource_share import RESOURCES, QueueAttributes
from ghostfleet.schedulers.kai.resources import Quantities, less_equal

__all__ = ["RULES", "Standing", "compare_by_rule", "compare_queues", "minus", "plus"]

#: What each rule says of the queue that comes first, from rule 1 on.
RULES = (
    "it is not above its fair share in everything, as the other is",
    "it stays within its quota with its next job, and the other does not",
    "its priority is higher",
    "it has a share of all that it uses, and the other does not",
    "with its next job it has a smaller part of what it may have",
    "it has a smaller part of what it may have",
    "it may have less",
    "it is older",
)


class Standing(NamedTuple):
    """A queue as it is compared: what it would have with its next job, and of that what its victims would leave."""

    queue: QueueAttributes
    with_job: Quantities
    remaining: Quantities


def compare_queues(lefts: Standing, rights: Standing, totals: Sequence[float]) -> int:
    """-1 if the left queue comes first, 1 if the right one does; there are no ties."""
    return 1 if compare_by_rule(lefts, rights, totals) > 0 else -1


def compare_by_rule(lefts: Standing, rights: Standing, totals: Sequence[float]) -> int:
    """The number of the rule that decides: negative if the left queue comes first, positive if the right one does."""
    left, left_with, left_remaining = lefts
    right, right_with, right_remaining = rights
    result = _truth(_is_over_fair_share(left), _is_over_fair_share(right))
    if result:
        return result
    result = _truth(not less_equal(left_with, left.deserved), not less_equal(right_with, right.deserved))
    if result:
        return result * 2
    if left.priority != right.priority:
        return -3 if left.priority > right.priority else 3
    result = _truth(_uses_no_share(left, left_with), _uses_no_share(right, right_with))
    if result:
        return result * 4
    result = _number(left.dominant_share(left_remaining, totals), right.dominant_share(right_remaining, totals))
    if result:
        return result * 5
    result = _number(left.dominant_share(left.allocated, totals), right.dominant_share(right.allocated, totals))
    if result:
        return result * 6
    result = _smaller_share(left.allocatables(), right.allocatables())
    if result:
        return result * 7
    return -8 if left.created < right.created else 8


def _truth(left: bool, right: bool) -> int:
    """The one for which something is not true comes first."""
    return int(left) - int(right)


def _number(left: float, right: float) -> int:
    return int(left > right) - int(left < right)


def plus(allocated: Sequence[float], job: Quantities) -> Quantities:
    return (allocated[0] + job[0], allocated[1] + job[1], allocated[2] + job[2])


def minus(allocated: Quantities, victims: Iterable[Quantities]) -> Quantities:
    """What is left after victims, taken away one after the other."""
    cpu, memory, gpu = allocated
    for victim in victims:
        cpu -= victim[0]
        memory -= victim[1]
        gpu -= victim[2]
    return (cpu, memory, gpu)


def _is_over_fair_share(queue: QueueAttributes) -> bool:
    fair, allocated = queue.fair_share, queue.allocated
    return fair[0] < allocated[0] and fair[1] < allocated[1] and fair[2] < allocated[2]


def _uses_no_share(queue: QueueAttributes, allocated: Sequence[float]) -> bool:
    return any(allocated[resource] > 0 and queue.allocatable(resource) == 0 for resource in RESOURCES)


def _smaller_share(left: Sequence[float], right: Sequence[float]) -> int:
    left_below, right_below = less_equal(left, right), less_equal(right, left)
    if left_below and not right_below:
        return -1
    if right_below and not left_below:
        return 1
    return 0
