"""Whether a queue may take resources back from others.

A job may try if its queue stays within its fair share. A scenario is valid if every victim's queue has more than it may
keep (or more than its quota, while the reclaimer stays within its own), compared right below the queues' lowest common
ancestor, and if no reclaiming queue, nor any ancestor of it, ends up further above its fair share than a sibling that
lost something.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ghostfleet.schedulers.kai.plugins.proportion.resource_share import RESOURCES, QueueAttributes
from ghostfleet.schedulers.kai.resources import UNLIMITED, Quantities, less_equal

__all__ = ["Reclaimer", "Refusal", "Victim", "can_reclaim", "hierarchy", "is_reclaimable", "reclaim_refusal"]

#: Why victims may not be taken: their queue has no more than it may keep, the reclaiming queue would end up further
#: above its fair share than one that lost something, or it would be above its quota with what cannot be preempted.
KEEPS, FURTHER_ABOVE, OVER_QUOTA = "keeps", "further above", "over quota"

Queues = Mapping[str, QueueAttributes]


@dataclass(frozen=True)
class Reclaimer:
    """Who wants resources: a queue, what its job needs, which of these count as involved."""

    queue: str
    needed: Quantities
    involved: frozenset[int]
    preemptible: bool


@dataclass(frozen=True)
class Victim:
    """Resources that are taken together."""

    taken: Quantities
    involved: frozenset[int]


class Refusal(NamedTuple):
    """Which rule forbids a reclaim, and between which queues."""

    rule: str
    queue: str
    other: str = ""


def can_reclaim(queues: Queues, reclaimer: Reclaimer) -> bool:
    """Whether the job may look for victims at all."""
    queue = queues[reclaimer.queue]
    if not less_equal(_plus(queue.allocated, reclaimer.needed), queue.fair_share):
        return False
    return reclaimer.preemptible or less_equal(_plus(queue.allocated_non_preemptible, reclaimer.needed), queue.deserved)


def is_reclaimable(
    queues: Queues, reclaimer: Reclaimer, victims: Mapping[str, Sequence[Victim]], multiplier: float
) -> bool:
    """Whether these victims, by queue, may be taken."""
    return reclaim_refusal(queues, reclaimer, victims, multiplier) is None


def reclaim_refusal(
    queues: Queues, reclaimer: Reclaimer, victims: Mapping[str, Sequence[Victim]], multiplier: float
) -> Refusal | None:
    """Why these victims, by queue, may not be taken; None when they may."""
    remaining: dict[str, list[float]] = {}
    involved: dict[str, set[int]] = {}
    for queue_id, taken in victims.items():
        if not _take(queues, reclaimer, queue_id, taken, remaining, involved):
            return Refusal(KEEPS, queue_id)
    return _beyond_boundaries(queues, reclaimer, remaining, involved, multiplier)


def _take(
    queues: Queues,
    reclaimer: Reclaimer,
    queue_id: str,
    victims: Sequence[Victim],
    remaining: dict[str, list[float]],
    involved: dict[str, set[int]],
) -> bool:
    reclaimers, reclaimees = hierarchy(queues, reclaimer.queue), hierarchy(queues, queue_id)
    mine, theirs = _leveled(reclaimers, reclaimees)
    involved[queue_id] = {resource for victim in victims for resource in victim.involved}
    left = remaining.setdefault(theirs.uid, list(theirs.allocated))
    starved = less_equal(_plus(mine.allocated, reclaimer.needed), mine.deserved)
    allocatable = theirs.allocatables()
    for victim in victims:
        over_fair = not less_equal(left, allocatable)
        over_quota = starved and not less_equal(left, theirs.deserved)
        if not over_fair and not over_quota:
            return False
        for queue in reclaimees:
            kept = remaining.setdefault(queue.uid, list(queue.allocated))
            for resource in RESOURCES:
                kept[resource] -= victim.taken[resource]
    if victims:
        for queue in reclaimees:
            involved.setdefault(queue.uid, set()).update(involved[queue_id])
    return True


def _beyond_boundaries(
    queues: Queues,
    reclaimer: Reclaimer,
    remaining: Mapping[str, list[float]],
    involved: Mapping[str, set[int]],
    multiplier: float,
) -> Refusal | None:
    for queue in reversed(hierarchy(queues, reclaimer.queue)):
        kept = remaining.get(queue.uid)
        allocated = _plus(queue.allocated if kept is None else kept, reclaimer.needed)
        if kept is not None:
            kept[:] = allocated
        for sibling_id, left in remaining.items():
            sibling = queues[sibling_id]
            if sibling.parent != queue.parent or sibling.uid == queue.uid:
                continue
            resources = involved.get(sibling_id, set()) | reclaimer.involved
            if any(_exceeds(queue, allocated, sibling, left, each, multiplier) for each in resources):
                return Refusal(FURTHER_ABOVE, queue.uid, sibling_id)
        if reclaimer.preemptible:
            continue
        if not less_equal(_plus(queue.allocated_non_preemptible, reclaimer.needed), queue.deserved):
            return Refusal(OVER_QUOTA, queue.uid)
    return None


def _exceeds(
    queue: QueueAttributes,
    allocated: Sequence[float],
    sibling: QueueAttributes,
    left: Sequence[float],
    resource: int,
    multiplier: float,
) -> bool:
    """Whether a queue would be above its fair share, and more so than a sibling."""
    mine, theirs = queue.fair_share[resource], sibling.fair_share[resource]
    if mine == UNLIMITED and theirs == UNLIMITED:
        return False
    saturation = _saturation(allocated[resource], mine)
    if saturation <= 1 or theirs <= 0:
        return False
    return saturation * multiplier >= _saturation(left[resource], theirs)


def _saturation(allocated: float, fair_share: float) -> float:
    if fair_share == 0:
        return math.inf if allocated > 0 else 0.0
    return 0.0 if fair_share == UNLIMITED else allocated / fair_share


def hierarchy(queues: Queues, queue_id: str) -> list[QueueAttributes]:
    """A queue and its ancestors, from the top; a circle is walked once."""
    path: list[QueueAttributes] = []
    queue = queues.get(queue_id)
    while queue is not None and queue not in path:
        path.append(queue)
        queue = queues.get(queue.parent)
    return path[::-1]


def _leveled(
    reclaimers: Sequence[QueueAttributes], reclaimees: Sequence[QueueAttributes]
) -> tuple[QueueAttributes, QueueAttributes]:
    """The two queues right below the lowest common ancestor."""
    for mine, theirs in zip(reclaimers, reclaimees, strict=False):
        if mine.uid != theirs.uid:
            break
    return mine, theirs


def _plus(left: Sequence[float], right: Quantities) -> list[float]:
    return [left[0] + right[0], left[1] + right[1], left[2] + right[2]]
