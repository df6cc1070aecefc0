"""What rules a scenario out before it is simulated.

Node affinities: every task must have a node it may go to, among the feasible ones and those of victims. Idle GPUs: the
tasks, largest first, must find GPUs on the nodes with the most of them. Domains: the same for the parts of a job that
must share a topology domain. A filter follows one scenario as victims are added to it, so it only looks at the new
ones.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.pods import matches_node
from ghostfleet.schedulers.kai.scenario import Scenario
from ghostfleet.schedulers.kai.subgroup_info import SubGroupSet

__all__ = ["IdleGpus", "NodeAffinities", "ScenarioFilter", "TopologyIdleGpus", "scenario_filters"]


class ScenarioFilter(Protocol):
    @property
    def name(self) -> str: ...

    def is_valid(self, scenario: Scenario) -> bool: ...


def scenario_filters(
    scenario: Scenario,
    nodes: Mapping[str, NodeInfo],
    feasible: Mapping[str, NodeInfo],
    idle_gpus: Mapping[str, float],
) -> list[ScenarioFilter]:
    """The filters that have something to say about a scenario; `idle_gpus` are idle or being released, by node."""
    filters: list[ScenarioFilter] = []
    if any(task.pod.affinity.is_required for task in scenario.pending_tasks):
        filters.append(NodeAffinities(nodes, feasible))
    groups = [group for group in _groups(scenario.preemptor.root) if group.topology and group.topology.required]
    if groups:
        filters.append(TopologyIdleGpus(groups, nodes, idle_gpus))
    filters.append(IdleGpus(scenario, idle_gpus))
    return filters


class _NewVictims:
    """Goes through the victims of a scenario that were not seen before."""

    def __init__(self) -> None:
        self._recorded = False
        self._seen = 0

    def of(self, scenario: Scenario) -> Iterable[PodInfo]:
        if not self._recorded:
            self._recorded = True
            yield from scenario.recorded_tasks
        while self._seen < len(scenario.potential_tasks):
            self._seen += 1
            yield scenario.potential_tasks[self._seen - 1]


class NodeAffinities:
    """A node for every task that is choosy."""

    name = "AccumulatedNodeAffinities"

    def __init__(self, nodes: Mapping[str, NodeInfo], feasible: Mapping[str, NodeInfo]) -> None:
        self._nodes = nodes
        self._feasible = dict(feasible)
        self._new = _NewVictims()

    def is_valid(self, scenario: Scenario) -> bool:
        for task in self._new.of(scenario):
            if task.node in self._nodes:
                self._feasible[task.node] = self._nodes[task.node]
        return all(
            any(matches_node(task.pod.affinity, node.name, node.labels) for node in self._feasible.values())
            for task in scenario.pending_tasks
            if task.pod.affinity.is_required
        )


class IdleGpus:
    """The nodes with the most GPUs, as many as there are tasks, and what they have."""

    name = "AccumulatedIdleGpus"

    def __init__(self, scenario: Scenario, idle_gpus: Mapping[str, float]) -> None:
        self._idle = dict(idle_gpus)
        count = len(scenario.pending_tasks)
        #: Descending.
        self._most = sorted(self._idle, key=lambda name: -self._idle[name])[:count]
        self._needed = sorted((task.pod.request.device_gpus for task in scenario.pending_tasks), reverse=True)
        self._new = _NewVictims()

    def is_valid(self, scenario: Scenario) -> bool:
        for task in self._new.of(scenario):
            if task.node and self._idle:
                self._free(task.node, task.accepted.device_gpus)
        return _match(self._needed, self._most, self._idle)

    def _free(self, node: str, gpus: float) -> None:
        least = self._idle[self._most[-1]] if self._most else 0.0
        self._idle[node] = self._idle.get(node, 0.0) + gpus
        if self._idle[node] > least:
            _raise(self._most, node, self._idle)


def _raise(ordered: list[str], name: str, amounts: Mapping[str, float]) -> None:
    """Move a name whose amount grew to its place in a descending list, or let it take the place of the last."""
    if not ordered:
        return
    if name in ordered:
        ordered.remove(name)
    else:
        ordered.pop()
    ordered.insert(bisect_left(ordered, -amounts[name], key=lambda each: -amounts[each]), name)


class TopologyIdleGpus:
    """GPUs by domain of each required level."""

    name = "TopologyAwareIdleGpus"

    def __init__(
        self, groups: Sequence[SubGroupSet], nodes: Mapping[str, NodeInfo], idle_gpus: Mapping[str, float]
    ) -> None:
        self._needed: dict[tuple[str, str], list[float]] = {}
        for group in groups:
            assert group.topology is not None
            key = (group.topology.topology, group.topology.required)
            tasks = (task for pod_set in group.all_pod_sets() for task in pod_set.tasks.values())
            self._needed.setdefault(key, []).append(sum(task.pod.request.device_gpus for task in tasks))
        self._nodes = nodes
        self._idle: dict[tuple[str, str], dict[str, float]] = {key: {} for key in self._needed}
        for name, gpus in idle_gpus.items():
            self._add(name, gpus)
        self._new = _NewVictims()

    def _add(self, node: str, gpus: float) -> None:
        labels = self._nodes[node].labels if node in self._nodes else {}
        for (_topology, level), domains in self._idle.items():
            domain = labels.get(level)
            if domain:
                domains[domain] = domains.get(domain, 0.0) + gpus

    def is_valid(self, scenario: Scenario) -> bool:
        for task in self._new.of(scenario):
            self._add(task.node, task.accepted.device_gpus)
        for key, needed in self._needed.items():
            domains = self._idle[key]
            ordered = sorted(domains, key=lambda name: -domains[name])
            if not _match(sorted(needed, reverse=True), ordered, domains):
                return False
        return True


def _match(needed: Sequence[float], holders: Sequence[str], amounts: Mapping[str, float]) -> bool:
    """Whether every need, largest first, finds a holder that has enough left; both are descending."""
    taken: dict[str, float] = {}
    last, start = -1.0, 0
    for amount in needed:
        if amount == 0:
            return True
        if amount != last:
            # Holders that were too full for the same amount still are.
            last, start = amount, 0
        while start < len(holders) and amounts[holders[start]] - taken.get(holders[start], 0.0) < amount:
            if amounts[holders[start]] < amount:
                return False
            start += 1
        if start == len(holders):
            return False
        taken[holders[start]] = taken.get(holders[start], 0.0) + amount
    return True


def _groups(root: SubGroupSet) -> Iterable[SubGroupSet]:
    yield root
    for group in root.groups:
        yield from _groups(group)
