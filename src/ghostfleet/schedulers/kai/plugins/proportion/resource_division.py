"""Fair shares: how the queues of one level divide an amount of one resource.

Every queue gets its quota, as far as it asks for it. What remains goes by queue priority, the highest first, in
proportion to the over-quota weights, lowered by recent usage; shares that a queue cannot use up are divided again, and
shares are cut to whole numbers. What the cutting left goes out one by one, by the largest part cut off, to the older
queue first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ghostfleet.schedulers.kai.plugins.proportion.resource_share import QueueAttributes
from ghostfleet.schedulers.kai.resources import UNLIMITED

__all__ = ["divide_resource", "set_fair_shares"]


def set_fair_shares(totals: Sequence[float], k_value: float, queues: Mapping[str, QueueAttributes]) -> None:
    """Fair shares of all queues, top down: children divide what their parent got."""
    children: dict[str, list[QueueAttributes]] = {}
    for queue in queues.values():
        parent = queue.parent if queue.parent in queues else ""
        children.setdefault(parent, []).append(queue)
    top = [queue for queue in children.get("", ()) if not queue.parent]
    _divide_level(totals, k_value, top, children)


def _divide_level(
    totals: Sequence[float],
    k_value: float,
    queues: Sequence[QueueAttributes],
    children: Mapping[str, Sequence[QueueAttributes]],
) -> None:
    for resource, total in enumerate(totals):
        divide_resource(total, k_value, resource, queues)
    for queue in queues:
        if queue.uid in children:
            _divide_level(queue.fair_share, k_value, children[queue.uid], children)


def divide_resource(total: float, k_value: float, resource: int, queues: Sequence[QueueAttributes]) -> float:
    """Add to the fair shares of queues; what nobody wants is the answer."""
    remaining = total
    for queue in queues:
        deserved = queue.deserved[resource]
        amount = min(total if deserved == UNLIMITED else deserved, queue.requestable(resource))
        queue.fair_share[resource] += amount
        remaining -= amount
    if remaining <= 0:
        return 0.0
    return _divide_over_quota(remaining, k_value, resource, queues)


def _divide_over_quota(total: float, k_value: float, resource: int, queues: Sequence[QueueAttributes]) -> float:
    by_priority: dict[int, list[QueueAttributes]] = {}
    for queue in queues:
        by_priority.setdefault(queue.priority, []).append(queue)
    priorities = sorted(by_priority, reverse=True)
    cut_off: dict[int, dict[str, tuple[QueueAttributes, float]]] = {}
    remaining = total
    for priority in priorities:
        remaining, cut_off[priority] = _divide_by_weight(remaining, k_value, resource, by_priority[priority])
    for priority in priorities:
        if remaining <= 0:
            break
        remaining = _divide_cut_off(remaining, resource, cut_off[priority])
    return remaining


def _divide_by_weight(
    total: float, k_value: float, resource: int, queues: Sequence[QueueAttributes]
) -> tuple[float, dict[str, tuple[QueueAttributes, float]]]:
    """What is left, and what was cut off from whose share."""
    cut_off: dict[str, tuple[QueueAttributes, float]] = {}
    again = True
    while again and total != 0:
        again = False
        weights = _share_weights(queues, resource, k_value)
        weights_sum = sum(weights.values())
        if weights_sum == 0:
            break
        pot = total
        for queue in queues:
            if total == 0:
                break
            if _is_satisfied(queue, resource) or queue.weight[resource] == 0:
                continue
            wanted = _wanted(queue, resource)
            share = pot * (weights[queue.uid] / weights_sum)
            if wanted <= share:
                given = wanted
                cut_off.pop(queue.uid, None)
            else:
                given = max(float(math.floor(share)), 0.0)
                if share - given > 0:
                    cut_off[queue.uid] = (queue, share - given)
            if given == 0:
                continue
            queue.fair_share[resource] += given
            total -= given
            again = again or wanted < share
    return total, cut_off


def _share_weights(queues: Sequence[QueueAttributes], resource: int, k_value: float) -> dict[str, float]:
    total = sum(queue.weight[resource] for queue in queues if _wanted(queue, resource) > 0)
    if total == 0:
        return {}
    weights = {}
    for queue in queues:
        if not _is_satisfied(queue, resource):
            weight = queue.weight[resource] / total
            weights[queue.uid] = max(0.0, weight + k_value * (weight - queue.usage[resource]))
    return weights


def _is_satisfied(queue: QueueAttributes, resource: int) -> bool:
    fair = queue.fair_share[resource]
    limit = queue.max_allowed[resource]
    return queue.request[resource] <= fair or (limit != UNLIMITED and limit <= fair)


def _wanted(queue: QueueAttributes, resource: int) -> float:
    return max(queue.requestable(resource) - queue.fair_share[resource], 0.0)


def _divide_cut_off(total: float, resource: int, cut_off: Mapping[str, tuple[QueueAttributes, float]]) -> float:
    order = sorted(cut_off.values(), key=lambda each: (-each[1], each[0].created, each[0].uid))
    for queue, _part in order:
        if total == 0:
            break
        given = min(1.0, total)
        queue.fair_share[resource] += given
        total -= given
    return total
