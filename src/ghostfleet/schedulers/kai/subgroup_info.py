"""The tree of a pod group: sub group sets, and pod sets as leaves that hold the tasks and a minimum of them.

A pod group without sub groups has a nameless root with one pod set, `default`. A topology constraint may stand on every
level.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.pod_status import ACTIVE_ALLOCATED, ACTIVE_USED, ALIVE, GATED, PENDING

__all__ = ["DEFAULT_SUB_GROUP", "PodSet", "SubGroupSet", "TopologyConstraint"]

DEFAULT_SUB_GROUP = "default"


@dataclass(frozen=True)
class TopologyConstraint:
    """The domains of a topology that pods must (required level) or should (preferred level) share."""

    topology: str
    required: str = ""
    preferred: str = ""


class PodSet:
    """Tasks of one kind and the least number of them that makes sense."""

    __slots__ = (
        "active_allocated",
        "active_used",
        "alive",
        "min_available",
        "name",
        "parent",
        "statuses",
        "tasks",
        "topology",
        "waiting",
    )

    def __init__(self, name: str, min_available: int, topology: TopologyConstraint | None = None) -> None:
        self.name = name
        self.min_available = min_available
        self.topology = topology
        self.parent: SubGroupSet | None = None
        self.tasks: dict[str, PodInfo] = {}
        self.statuses: dict[str, int] = {}
        self.active_allocated = 0
        self.active_used = 0
        self.alive = 0
        self.waiting: dict[int, int] = {PENDING: 0, GATED: 0}

    def assign(self, task: PodInfo) -> None:
        """Take in a task, or take note of its new status."""
        old = self.statuses.get(task.uid, 0)
        self._count(old, -1)
        self._count(task.status, 1)
        self.statuses[task.uid] = task.status
        self.tasks[task.uid] = task

    def remove(self, uid: str) -> None:
        """Forget a task."""
        self._count(self.statuses.pop(uid, 0), -1)
        self.tasks.pop(uid, None)

    def _count(self, status: int, sign: int) -> None:
        if status & ACTIVE_ALLOCATED:
            self.active_allocated += sign
        if status & ACTIVE_USED:
            self.active_used += sign
        if status & ALIVE:
            self.alive += sign
        if status in self.waiting:
            self.waiting[status] += sign

    @property
    def is_ready(self) -> bool:
        """Whether there are enough pods, gates aside."""
        return self.alive - self.waiting[GATED] >= self.min_available

    @property
    def is_gang_satisfied(self) -> bool:
        return self.active_used >= self.min_available

    @property
    def is_elastic(self) -> bool:
        return self.min_available < len(self.tasks)


class SubGroupSet:
    """An inner node of the tree: either further sets or pod sets."""

    __slots__ = ("groups", "name", "parent", "pod_sets", "topology")

    def __init__(self, name: str = "", topology: TopologyConstraint | None = None) -> None:
        self.name = name
        self.topology = topology
        self.parent: SubGroupSet | None = None
        self.groups: list[SubGroupSet] = []
        self.pod_sets: list[PodSet] = []

    def add_group(self, group: SubGroupSet) -> None:
        if not self.pod_sets:
            group.parent = self
            self.groups.append(group)

    def add_pod_set(self, pod_set: PodSet) -> None:
        if not self.groups:
            pod_set.parent = self
            self.pod_sets.append(pod_set)

    def all_pod_sets(self) -> Iterator[PodSet]:
        yield from self.pod_sets
        for group in self.groups:
            yield from group.all_pod_sets()

    def clone(self) -> SubGroupSet:
        """The same tree without tasks."""
        copy = SubGroupSet(self.name, self.topology)
        for pod_set in self.pod_sets:
            copy.add_pod_set(PodSet(pod_set.name, pod_set.min_available, pod_set.topology))
        for group in self.groups:
            copy.add_group(group.clone())
        return copy
