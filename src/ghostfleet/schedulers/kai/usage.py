"""Time-based fair share: what part of the cluster each queue had of late.

KAI asks Prometheus; here the history is kept as it happens: from when to when each queue had how much, and how much
there was. Usage is the one over the other, summed over a window and decayed by a half-life, so that what lies a
half-life back counts half. A window *slides* with the clock, *tumbles* in steps of its size from a start, or begins
anew by a *cron* schedule. Without a half-life everything in the window counts alike.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ghostfleet.controllers.cronjobs import CronSchedule, parse_schedule
from ghostfleet.schedulers.kai.pod_status import ALLOCATED_STATUSES
from ghostfleet.schedulers.kai.resources import Quantities

if TYPE_CHECKING:
    from ghostfleet.schedulers.kai.cluster_info import ClusterInfo

__all__ = ["CRON", "SLIDING", "TUMBLING", "UsageHistory", "UsageParams", "allocated_by_queue", "capacity"]

SLIDING = "sliding"
TUMBLING = "tumbling"
CRON = "cron"
WEEK = 7 * 24 * 3600.0
MICRO = 1_000_000


@dataclass(frozen=True)
class UsageParams:
    """Seconds throughout; the defaults are KAI's."""

    window_size: float = WEEK
    window_type: str = SLIDING
    half_life: float = 0.0
    #: None counts from when the history begins.
    tumbling_start: float | None = None
    cron: str = ""
    #: How often usage is looked at anew; in between decisions see what it was.
    fetch_interval: float = 60.0

    @cached_property
    def _schedule(self) -> CronSchedule:
        return parse_schedule(self.cron)

    def window_start(self, now: float) -> float:
        """From when on usage counts."""
        if self.window_type == CRON:
            return _last_before(self._schedule, now)
        if self.window_type != TUMBLING:
            return now - self.window_size
        start = self.tumbling_start or 0.0
        if start >= now:
            return now
        # A window that ends right now still counts.
        windows = math.ceil((now - start) / self.window_size) - 1
        return start + windows * self.window_size

    def weight(self, begin: float, end: float, now: float) -> float:
        """How much a stretch of time counts, in seconds."""
        if self.half_life <= 0:
            return end - begin
        rate = math.log(2) / self.half_life
        return (math.exp(-rate * (now - end)) - math.exp(-rate * (now - begin))) / rate


@dataclass(frozen=True)
class _Stretch:
    begin: float
    end: float
    capacity: Quantities
    allocated: Mapping[str, Quantities]


class UsageHistory:
    """Tell it what queues have whenever that changes (`record`), and ask it what they had (`usage`)."""

    def __init__(self, params: UsageParams | None = None) -> None:
        self._params = params or UsageParams()
        self._stretches: deque[_Stretch] = deque()
        self._since: float | None = None
        self._capacity: Quantities = (0.0, 0.0, 0.0)
        self._allocated: Mapping[str, Quantities] = {}

    def record(self, now: float, capacity: Quantities, allocated: Mapping[str, Quantities]) -> None:
        """From now on the cluster has this capacity and its queues have this."""
        if self._params.tumbling_start is None:
            self._params = replace(self._params, tumbling_start=now)
        if self._since is not None and now > self._since:
            self._stretches.append(_Stretch(self._since, now, self._capacity, self._allocated))
        self._since, self._capacity, self._allocated = now, capacity, dict(allocated)

    def usage(self, now: float) -> dict[str, Quantities]:
        """The part of the cluster that each queue had, by resource."""
        start = self._params.window_start(now)
        while self._stretches and self._stretches[0].end <= start:
            self._stretches.popleft()
        stretches = list(self._stretches)
        if self._since is not None and now > self._since:
            stretches.append(_Stretch(self._since, now, self._capacity, self._allocated))
        capacity = [0.0, 0.0, 0.0]
        used: dict[str, list[float]] = {}
        for stretch in stretches:
            weight = self._params.weight(max(stretch.begin, start), stretch.end, now)
            _add(capacity, stretch.capacity, weight)
            for queue, amounts in stretch.allocated.items():
                _add(used.setdefault(queue, [0.0, 0.0, 0.0]), amounts, weight)
        return {queue: _ratio(amounts, capacity) for queue, amounts in used.items()}


def capacity(cluster: ClusterInfo) -> Quantities:
    """All that the nodes of a snapshot have."""
    total = [0.0, 0.0, 0.0]
    for node in cluster.nodes.values():
        _add(total, node.allocatable.quantities, 1)
    return (total[0], total[1], total[2])


def allocated_by_queue(cluster: ClusterInfo) -> dict[str, Quantities]:
    """What the jobs of each queue hold, those of the queues below it included."""
    held: dict[str, list[float]] = {}
    for job in cluster.pod_groups.values():
        for status, tasks in job.status_index.items():
            if status & ALLOCATED_STATUSES:
                own = held.setdefault(job.queue, [0.0, 0.0, 0.0])
                for task in tasks.values():
                    _add(own, task.accepted.quantities, 1)
    totals: dict[str, list[float]] = {}
    for name, amounts in held.items():
        queue = cluster.queues.get(name)
        while queue is not None and queue.is_rooted:
            _add(totals.setdefault(queue.uid, [0.0, 0.0, 0.0]), (amounts[0], amounts[1], amounts[2]), 1)
            queue = cluster.queues.get(queue.parent)
    return {name: (amounts[0], amounts[1], amounts[2]) for name, amounts in totals.items()}


def _last_before(schedule: CronSchedule, now: float) -> float:
    """The last time of a schedule before now: looked for from as far back as the third one to come lies ahead."""
    moment = int(now * MICRO)
    ahead = moment
    for _ in range(3):
        ahead = schedule.next(ahead) or ahead
    last = moment - (ahead - moment)
    following = schedule.next(last)
    while following is not None and following < moment:
        last, following = following, schedule.next(following)
    return last / MICRO


def _add(total: list[float], amounts: Quantities, weight: float) -> None:
    for resource, amount in enumerate(amounts):
        total[resource] += amount * weight


def _ratio(amounts: list[float], capacity: list[float]) -> Quantities:
    cpu, memory, gpu = (part / whole if whole else 0.0 for part, whole in zip(amounts, capacity, strict=True))
    return (cpu, memory, gpu)
