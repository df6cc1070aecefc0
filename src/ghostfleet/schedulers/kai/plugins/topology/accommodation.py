"""How well a domain suits the tasks of a job: how many pods it can take, and which part of it they would fill.

Tasks of one kind are counted by the largest of them: how often it fits on each node. Tasks of different kinds are only
compared by their sum with what the domain has left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.plugins.topology.domains import Domain
from ghostfleet.schedulers.kai.pod_info import Pod, PodInfo
from ghostfleet.schedulers.kai.resources import Resource, ResourceRequirements

__all__ = ["are_alike", "count_allocatable", "ratio_to_free", "sum_of_tasks"]

REQUIRED_RESOURCE_NOT_IN_DOMAIN = 1000.0
#: Regular, fraction ... matters for fitting; KAI's test pods have no type, which makes them shared requests.
_TEST_POD = "Test"


def sum_of_tasks(tasks: Sequence[PodInfo]) -> Resource:
    total = Resource()
    for task in tasks:
        total.add_requirements(task.pod.request)
    return total


def are_alike(tasks: Sequence[PodInfo]) -> bool:
    """Whether all tasks ask for the same kinds of resources."""
    with_gpu = sum(1 for task in tasks if task.pod.request.gpus > 0)
    if with_gpu not in (0, len(tasks)):
        return False
    names = [frozenset(task.pod.request.scalars) for task in tasks]
    return len(set(names)) == 1


def count_allocatable(tasks: Sequence[PodInfo], domain: Domain) -> None:
    """Count for a domain and all below it how many of the largest task they can take."""
    largest = _largest(tasks)
    if largest is not None:
        _count(_Ladder(largest, len(tasks)), domain)


def _count(ladder: _Ladder, domain: Domain) -> int:
    if domain.children:
        domain.allocatable_pods = sum(_count(ladder, child) for child in domain.children)
    else:
        domain.allocatable_pods = sum(ladder.fitting(node) for node in domain.nodes.values())
    return domain.allocatable_pods


def _largest(tasks: Sequence[PodInfo]) -> ResourceRequirements | None:
    """The greatest of every amount; None if tasks ask for different portions of GPUs."""
    largest = ResourceRequirements()
    for task in tasks:
        request = task.pod.request
        if largest.portion and request.portion and largest.portion != request.portion:
            return None
        gpus = request if request.gpus > largest.gpus else largest
        largest = ResourceRequirements(
            cpu=max(largest.cpu, request.cpu),
            memory=max(largest.memory, request.memory),
            pods=max(largest.pods, request.pods),
            scalars=_greatest(largest.scalars, request.scalars),
            count=gpus.count,
            portion=gpus.portion,
            mig=_greatest(largest.mig, request.mig),
        )
    return largest


class _Ladder:
    """Test pods of one, two, three ... times the largest task, made as far as they are needed."""

    def __init__(self, largest: ResourceRequirements, tasks: int) -> None:
        self._largest = largest
        self._tasks = tasks
        self._pods = [Pod("1-pods-resources", "1-pods-resources", request=largest, request_type=_TEST_POD)]

    def fitting(self, node: NodeInfo) -> int:
        """How many of the largest task a node can take."""
        if self._largest.less_equal(_ONE_POD):
            return self._tasks
        count = 0
        while _fits(self._rung(count), node):
            count += 1
        return count

    def _rung(self, index: int) -> Pod:
        while len(self._pods) <= index:
            last = self._pods[-1].request
            request = replace(
                last,
                cpu=last.cpu + self._largest.cpu,
                memory=last.memory + self._largest.memory,
                pods=last.pods + self._largest.pods,
                scalars=_plus(last.scalars, self._largest.scalars),
                count=last.count if last.mig else last.count + self._largest.count,
                mig=_plus(last.mig, self._largest.mig) if last.mig else last.mig,
            )
            self._pods.append(Pod(f"{len(self._pods) + 1}-pods-resources", "", request=request, request_type=_TEST_POD))
        return self._pods[index]


_ONE_POD = ResourceRequirements(pods=1)


def _fits(pod: Pod, node: NodeInfo) -> bool:
    """A test pod is no request for whole GPUs: groups that have room count too."""
    idle, releasing, request = node.idle, node.releasing, pod.request
    free = idle.clone()
    free.add(releasing)
    if not request.base_fits(free) or not node.is_valid_portion(request):
        return False
    return math.floor(free.gpus) + node.shared.fitting_count(request) >= request.count


def _greatest(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in {**left, **right}}


def _plus(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    return {name: left.get(name, 0) + right.get(name, 0) for name in {**left, **right}}


def ratio_to_free(asked: Resource, domain: Domain) -> float:
    """The greatest part of what a domain has left that a job would fill; above 1 it does not fit."""
    free = domain.free
    ratio = 0.0
    if asked.gpus > 0:
        ratio = asked.gpus / free.gpus if free.gpus else math.inf
    amounts = [
        (math.ceil(int(asked.cpu) / 1000), math.ceil(int(free.cpu) / 1000)),
        (int(asked.memory), int(free.memory)),
    ]
    # KAI takes the counts of extended resources for thousandths and rounds them up.
    amounts += [
        (math.ceil(count / 1000), math.ceil(free.scalars.get(name, 0) / 1000)) for name, count in asked.scalars.items()
    ]
    for wanted, there in amounts:
        if wanted:
            ratio = max(ratio, wanted / there if there else REQUIRED_RESOURCE_NOT_IN_DOMAIN)
    return ratio
