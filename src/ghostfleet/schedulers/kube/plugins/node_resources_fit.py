"""NodeResourcesFit: does a pod fit on a node, and how well.

A pod *fits* when every resource it asks for is left in full on the node, and one more pod is allowed there. Where not
even the empty node has enough of a resource no preemption helps. Scores follow one of three strategies: LeastAllocated
prefers empty nodes, MostAllocated full ones, RequestedToCapacityRatio follows a curve.

Everything is there twice, for one slot in plain integers and for many slots in numpy; both give the same numbers,
which are those of kube-scheduler to the last digit.

A resource that a device class serves is not looked at on nodes that have none of it: DynamicResources sees to that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ghostfleet.api.podclaims import CLASSES
from ghostfleet.core.changes import Change
from ghostfleet.schedulers.framework.arguments import ConfigError, only_fields, plugin_fields, whole_number
from ghostfleet.schedulers.framework.nodetable import (
    CPU_COLUMN,
    MEMORY_COLUMN,
    NONZERO_CPU,
    NONZERO_MEMORY,
    PODS_COLUMN,
    BoolArray,
    IntArray,
    NodeTable,
)
from ghostfleet.schedulers.framework.plugin import MAX_SCORE, Filter, Objection, Plugin, Scope, Score, Slots
from ghostfleet.schedulers.framework.podinfo import CPU, MEMORY, PodInfo, SpecInfo, is_scalar
from ghostfleet.schedulers.framework.snapshot import Snapshot
from ghostfleet.schedulers.kube.plugins.extendedresources import ExtendedResources

__all__ = ["FitArguments", "FitScore", "NodeResourcesFit", "ResourcesFilter", "ScoringStrategy", "read_resources"]

_STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")

#: A resource to look at in scores: column of what is there, column of what is used, what the pod adds, weight.
_Part = tuple[int, int, int, int]


class ScoringStrategy(NamedTuple):
    """How NodeResourcesFit scores."""

    kind: str = "LeastAllocated"
    resources: tuple[tuple[str, int], ...] = ((CPU, 1), (MEMORY, 1))
    #: Points (utilization in percent, score 0-100) of the curve of RequestedToCapacityRatio.
    curve: tuple[tuple[int, int], ...] = ()


class FitArguments(NamedTuple):
    """The arguments of the plugin."""

    strategy: ScoringStrategy = ScoringStrategy()
    ignored_resources: frozenset[str] = frozenset()
    ignored_groups: frozenset[str] = frozenset()

    def ignores(self, resource: str) -> bool:
        """Whether the filter passes over an extended resource."""
        if not self.ignored_resources and not self.ignored_groups:
            return False
        extended = "/" in resource and "kubernetes.io/" not in resource
        return extended and (resource in self.ignored_resources or resource.split("/")[0] in self.ignored_groups)


class NodeResourcesFit(Plugin):
    """Rules out nodes without room, and scores the others by how full they would be."""

    name = "NodeResourcesFit"
    weight = 1
    kinds = (CLASSES,)
    events = frozenset(kinds)
    arguments: FitArguments

    def __init__(self, snapshot: Snapshot, arguments: Any = None) -> None:
        super().__init__(snapshot, arguments)
        self._extended = ExtendedResources.of(snapshot)

    def notice(self, change: Change) -> None:
        self._extended.notice(change)

    @classmethod
    def read_arguments(cls, path: str, given: Mapping[str, Any]) -> FitArguments:
        plugin_fields(path, given, "ignoredResources", "ignoredResourceGroups", "scoringStrategy")
        return FitArguments(
            _read_strategy(f"{path}.scoringStrategy", given.get("scoringStrategy") or {}),
            frozenset(given.get("ignoredResources") or ()),
            frozenset(given.get("ignoredResourceGroups") or ()),
        )

    @classmethod
    def default_arguments(cls) -> FitArguments:
        return FitArguments()

    def pre_filter(self, pod: PodInfo) -> Filter | None:
        by_devices = self._extended.serving(pod.info)
        return ResourcesFilter(self.snapshot.nodes, pod.info, self.arguments, by_devices)

    def pre_score(self, pod: PodInfo) -> Score | None:
        return FitScore(self.snapshot.nodes, pod.info, self.arguments.strategy)


class ResourcesFilter(Filter):
    """Nodes without room for pods of a spec."""

    scope = Scope.PODS
    by_amounts = True

    def __init__(
        self, table: NodeTable, info: SpecInfo, arguments: FitArguments, by_devices: Collection[str] = ()
    ) -> None:
        self._table = table
        asked = info.requests.asked
        order = sorted(asked, key=lambda name: (is_scalar(name), {CPU: 0, MEMORY: 1}.get(name, 2), name))
        #: What a pod needs: column, amount, name; in the order in which shortages are told.
        self.needs = [
            (table.column(name), asked[name], name) for name in order if asked[name] > 0 and not arguments.ignores(name)
        ]
        #: Columns of resources that devices stand for on nodes that have none of them.
        self._by_devices = frozenset(table.column(name) for name in by_devices)

    def objections(self, slots: Slots) -> Sequence[Objection]:
        allocatable, used = self._table.flush()
        found = [Objection("Too many pods", used[PODS_COLUMN, slots] >= allocatable[PODS_COLUMN, slots], True)]
        for column, amount, name in self.needs:
            has = allocatable[column, slots]
            short, never = has - used[column, slots] < amount, has < amount
            if column in self._by_devices:
                short &= has > 0
            found.append(Objection(f"Insufficient {name}", short & ~never, True))
            found.append(Objection(f"Insufficient {name}", short & never, False))
        return found

    def allowed(self, slots: Slots) -> BoolArray:
        allocatable, used = self._table.flush()
        room: BoolArray = used[PODS_COLUMN].take(slots) < allocatable[PODS_COLUMN].take(slots)
        for column, amount, _ in self.needs:
            has = allocatable[column].take(slots)
            enough = has - used[column].take(slots) >= amount
            room &= enough | (has == 0) if column in self._by_devices else enough
        return room

    def allows(self, slot: int) -> bool:
        allocatable, used = self._table.allocatable[slot], self._table.used[slot]
        if used[PODS_COLUMN] >= allocatable[PODS_COLUMN]:
            return False
        for column, amount, _ in self.needs:
            if amount > allocatable[column] - used[column] and (allocatable[column] or column not in self._by_devices):
                return False
        return True


class FitScore(Score):
    """How full nodes would be with a pod of this spec, by a strategy."""

    def __init__(self, table: NodeTable, info: SpecInfo, strategy: ScoringStrategy) -> None:
        self._table = table
        self._one = {
            "LeastAllocated": _least,
            "MostAllocated": _most,
            "RequestedToCapacityRatio": self._on_curve,
        }[strategy.kind]
        self._kind = strategy.kind
        self._curve = strategy.curve
        self._parts = _parts(table, info, strategy.resources)

    def one(self, slot: int) -> int:
        allocatable, used = self._table.allocatable[slot], self._table.used[slot]
        total = weights = 0
        if self._kind == "LeastAllocated":
            for has, uses, adds, weight in self._parts:
                there = allocatable[has]
                if there:
                    left = there - used[uses] - adds
                    if left > 0:
                        total += left * MAX_SCORE // there * weight
                    weights += weight
            return total // weights if weights else 0
        score = self._one
        ratio = self._kind == "RequestedToCapacityRatio"
        for has, uses, adds, weight in self._parts:
            there = allocatable[has]
            if there:
                got = score(used[uses] + adds, there)
                if got > 0 or not ratio:
                    total += got * weight
                    weights += weight
        if not weights:
            return 0
        return _rounded(total, weights) if ratio else total // weights

    def many(self, slots: Slots) -> IntArray:
        allocatable, used = self._table.flush()
        total: IntArray = np.zeros(len(slots), np.int64)
        weights: IntArray = np.zeros(len(slots), np.int64)
        ratio = self._kind == "RequestedToCapacityRatio"
        for has, uses, adds, weight in self._parts:
            there = allocatable[has].take(slots)
            got = self._many(used[uses].take(slots) + adds, there)
            if not ratio and there.all():
                total += got if weight == 1 else got * weight
                weights += weight
                continue
            counts = (there > 0) & (got > 0) if ratio else there > 0
            total += np.where(counts, got * weight, 0)
            weights += counts * weight
        divisor = np.maximum(weights, 1)
        if ratio:
            answer: IntArray = np.floor(total / divisor + 0.5).astype(np.int64)
            return answer
        return total // divisor

    def _many(self, requested: IntArray, there: IntArray) -> IntArray:
        divisor = np.maximum(there, 1)
        if self._kind == "LeastAllocated":
            least: IntArray = np.maximum(there - requested, 0) * MAX_SCORE // divisor
            return least
        if self._kind == "MostAllocated":
            most: IntArray = np.minimum(requested, there) * MAX_SCORE // divisor
            return most
        percent = np.where(requested > there, MAX_SCORE, requested * MAX_SCORE // divisor)
        table = np.array([self._point(each) for each in range(MAX_SCORE + 1)], np.int64)
        answer: IntArray = table[np.clip(percent, 0, MAX_SCORE)]
        return answer

    def _on_curve(self, requested: int, there: int) -> int:
        return self._point(MAX_SCORE if requested > there else requested * MAX_SCORE // there)

    def _point(self, percent: int) -> int:
        curve = self._curve
        for index, (utilization, score) in enumerate(curve):
            if percent <= utilization:
                if index == 0:
                    return score
                before, below = curve[index - 1]
                # Go divides toward zero, also where the curve falls.
                rise = (score - below) * (percent - before)
                step = abs(rise) // (utilization - before)
                return below + (step if rise >= 0 else -step)
        return curve[-1][1]


def _least(requested: int, there: int) -> int:
    return (there - requested) * MAX_SCORE // there if requested <= there else 0


def _most(requested: int, there: int) -> int:
    return min(requested, there) * MAX_SCORE // there


def _rounded(total: int, weights: int) -> int:
    return int(total / weights + 0.5)


def _parts(table: NodeTable, info: SpecInfo, resources: Sequence[tuple[str, int]]) -> list[_Part]:
    requests = info.requests
    parts: list[_Part] = []
    for name, weight in resources:
        if name == CPU:
            parts.append((CPU_COLUMN, NONZERO_CPU, requests.score_cpu, weight))
        elif name == MEMORY:
            parts.append((MEMORY_COLUMN, NONZERO_MEMORY, requests.score_memory, weight))
        else:
            adds = requests.by_containers.get(name, 0)
            if adds or not is_scalar(name):
                parts.append((table.column(name), table.column(name), adds, weight))
    return parts


# -- arguments --------------------------------------------------------------------------------------------------------


def read_resources(path: str, listed: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, int], ...]:
    """Resources with their weights in scores."""
    for index, each in enumerate(listed):
        only_fields(f"{path}[{index}]", each, ("name", "weight"))
    return tuple((each["name"], whole_number(f"{path}.weight", each.get("weight") or 1, 1, 100)) for each in listed)


def _read_strategy(path: str, given: Mapping[str, Any]) -> ScoringStrategy:
    only_fields(path, given, ("type", "resources", "requestedToCapacityRatio"))
    kind = given.get("type") or "LeastAllocated"
    if kind not in _STRATEGIES:
        raise ConfigError(f"{path}.type: unknown strategy {kind!r}; known are {', '.join(_STRATEGIES)}")
    resources = read_resources(f"{path}.resources", given.get("resources") or ()) or ScoringStrategy().resources
    curve = _read_curve(f"{path}.requestedToCapacityRatio", given) if kind == "RequestedToCapacityRatio" else ()
    return ScoringStrategy(kind, resources, curve)


def _read_curve(path: str, given: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    ratio = given.get("requestedToCapacityRatio") or {}
    only_fields(path, ratio, ("shape",))
    points = ratio.get("shape") or ()
    if not points:
        raise ConfigError(f"{path}.shape: Required value: at least one point must be specified")
    curve: list[tuple[int, int]] = []
    for index, point in enumerate(points):
        here = f"{path}.shape[{index}]"
        only_fields(here, point, ("utilization", "score"))
        utilization = whole_number(f"{here}.utilization", point.get("utilization", 0), 0, 100)
        # Scores are given from 0 to 10, and counted from 0 to 100.
        curve.append((utilization, 10 * whole_number(f"{here}.score", point.get("score", 0), 0, 10)))
        if index and utilization <= curve[index - 1][0]:
            raise ConfigError(f"{here}.utilization: values must be sorted in increasing order")
    return tuple(curve)
