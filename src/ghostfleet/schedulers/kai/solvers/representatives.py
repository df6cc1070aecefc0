"""Jobs that failed, as a measure: a job with the same constraints that is not easier to place need not be tried.

Jobs are compared by their pending tasks, from the smallest request up.
"""

from __future__ import annotations

from functools import cmp_to_key

from ghostfleet.schedulers.kai.pod_status import ACTIVE_ALLOCATED
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.resources import ResourceRequirements
from ghostfleet.schedulers.kai.subgroup_info import PodSet, SubGroupSet

__all__ = ["MinimalJobRepresentatives"]


class MinimalJobRepresentatives:
    """The smallest job that failed, by constraints."""

    def __init__(self) -> None:
        self._representatives: dict[tuple[object, ...], PodGroupInfo] = {}

    def is_easier(self, job: PodGroupInfo) -> bool:
        """Whether a job may succeed where another failed."""
        representative = self._representatives.get(_signature(job))
        return representative is None or _is_easier(job, representative)

    def update(self, job: PodGroupInfo) -> None:
        """A job failed."""
        key = _signature(job)
        current = self._representatives.get(key)
        if current is None or _is_smaller(job, current):
            self._representatives[key] = job


def _signature(job: PodGroupInfo) -> tuple[object, ...]:
    return tuple(sorted(repr(_pod_set_signature(pod_set)) for pod_set in job.pod_sets.values()))


def _pod_set_signature(pod_set: PodSet) -> tuple[object, ...]:
    if pod_set.active_allocated == len(pod_set.tasks):
        return ()
    topologies: list[object] = [pod_set.topology]
    parent: SubGroupSet | None = pod_set.parent
    while parent is not None:
        topologies.append(parent.topology)
        parent = parent.parent
    waiting = [task for task in pod_set.tasks.values() if not task.status & ACTIVE_ALLOCATED]
    return (*topologies, *sorted(repr(task.pod.constraints) for task in waiting))


def _requests(job: PodGroupInfo) -> list[ResourceRequirements]:
    requests = [task.pod.request for task in job.tasks() if task.uid in job.pending]
    return sorted(requests, key=cmp_to_key(_compare))


def _compare(left: ResourceRequirements, right: ResourceRequirements) -> int:
    return -1 if left.less_equal(right) else 1


def _is_easier(job: PodGroupInfo, other: PodGroupInfo) -> bool:
    mine, theirs = _requests(job), _requests(other)
    if not mine or not theirs:
        return False
    if len(theirs) > len(mine):
        return True
    for request, compared in zip(mine, theirs, strict=False):
        if request.less_equal(compared) and not compared.less_equal(request):
            return True
    return False


def _is_smaller(job: PodGroupInfo, other: PodGroupInfo) -> bool:
    mine, theirs = _requests(job), _requests(other)
    if not mine or not theirs or len(mine) > len(theirs):
        return False
    return all(request.less_equal(compared) for request, compared in zip(mine, theirs, strict=False))
