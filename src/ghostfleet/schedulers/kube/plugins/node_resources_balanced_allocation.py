"""NodeResourcesBalancedAllocation: nodes whose resources would be used to more even degrees than before are better.

The score is there twice, for one slot in plain integers and for many slots in numpy; both give the same numbers, which
are those of kube-scheduler to the last digit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np

from ghostfleet.schedulers.framework.arguments import plugin_fields
from ghostfleet.schedulers.framework.nodetable import IntArray, NodeTable
from ghostfleet.schedulers.framework.plugin import MAX_SCORE, Plugin, Score, Slots
from ghostfleet.schedulers.framework.podinfo import CPU, MEMORY, PodInfo, SpecInfo, is_scalar
from ghostfleet.schedulers.kube.plugins.node_resources_fit import read_resources

__all__ = ["BalanceScore", "NodeResourcesBalancedAllocation"]

_RESOURCES = ((CPU, 1), (MEMORY, 1))


class NodeResourcesBalancedAllocation(Plugin):
    """Scores nodes by how evenly their resources would be used."""

    name = "NodeResourcesBalancedAllocation"
    weight = 1

    @classmethod
    def read_arguments(cls, path: str, given: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
        plugin_fields(path, given, "resources")
        return read_resources(f"{path}.resources", given.get("resources") or ()) or _RESOURCES

    @classmethod
    def default_arguments(cls) -> tuple[tuple[str, int], ...]:
        return _RESOURCES

    def pre_score(self, pod: PodInfo) -> Score | None:
        score = BalanceScore(self.snapshot.nodes, pod.info, self.arguments)
        return score if score.applies else None


class BalanceScore(Score):
    """How evenly the resources of nodes would be used with a pod of this spec."""

    def __init__(self, table: NodeTable, info: SpecInfo, resources: Sequence[tuple[str, int]]) -> None:
        self._table = table
        asked = info.requests.asked
        named = [(name, asked.get(name, 0)) for name, _ in resources]
        #: Pods that ask for none of the resources are not scored, lest they all go to one node.
        self.applies = any(adds for _, adds in named)
        self._parts = [(table.column(name), adds) for name, adds in named if adds or not is_scalar(name)]

    def one(self, slot: int) -> int:
        allocatable, used = self._table.allocatable[slot], self._table.used[slot]
        if len(self._parts) == 2:
            (first, adds), (second, more) = self._parts
            there, too = allocatable[first], allocatable[second]
            uses, use = used[first], used[second]
            if there and too and uses + adds <= there and use + more <= too:
                without = uses / there - use / too
                with_pod = (uses + adds) / there - (use + more) / too
                evenness = int((1 - abs(with_pod / 2)) * MAX_SCORE) - int((1 - abs(without / 2)) * MAX_SCORE)
                return 50 + (50 + evenness) // 2
        before: list[float] = []
        after: list[float] = []
        for column, adds in self._parts:
            there = allocatable[column]
            if there:
                uses = used[column]
                before.append(min(uses / there, 1.0))
                after.append(min((uses + adds) / there, 1.0))
        return 50 + (50 + _evenness(after) - _evenness(before)) // 2

    def many(self, slots: Slots) -> IntArray:
        allocatable, used = self._table.flush()
        there = [allocatable[column].take(slots) for column, _ in self._parts]
        uses = [used[column].take(slots) for column, _ in self._parts]
        counted = [each > 0 for each in there]
        whole = all(each.all() for each in counted)
        divisors = there if whole else [np.maximum(each, 1) for each in there]
        before = [np.minimum(use / divisor, 1.0) for use, divisor in zip(uses, divisors, strict=True)]
        after = [
            np.minimum((use + adds) / divisor, 1.0)
            for use, divisor, (_, adds) in zip(uses, divisors, self._parts, strict=True)
        ]
        if whole and len(there) == 2:
            return 50 + (50 + _evenness_of_two(*after) - _evenness_of_two(*before)) // 2
        with_pod = _evenness_of_all(np.array(after), np.array(counted))
        return 50 + (50 + with_pod - _evenness_of_all(np.array(before), np.array(counted))) // 2


def _evenness_of_two(first: Any, second: Any) -> IntArray:
    answer: IntArray = ((1 - np.abs((first - second) / 2)) * MAX_SCORE).astype(np.int64)
    return answer


def _evenness(fractions: list[float]) -> int:
    count = len(fractions)
    if count == 2:
        return int((1 - abs((fractions[0] - fractions[1]) / 2)) * MAX_SCORE)
    if count < 2:
        return MAX_SCORE
    mean = 0.0
    for fraction in fractions:
        mean += fraction
    mean /= count
    square = 0.0
    for fraction in fractions:
        square += (fraction - mean) * (fraction - mean)
    return int((1 - sqrt(square / count)) * MAX_SCORE)


def _evenness_of_all(fractions: Any, counted: Any) -> IntArray:
    count = counted.sum(axis=0)
    # Added one after another, as for one node: numpy's own sum may add in another order.
    total = np.zeros(fractions.shape[1])
    for row, counts in zip(fractions, counted, strict=True):
        total = total + np.where(counts, row, 0.0)
    mean = total / np.maximum(count, 1)
    square = np.zeros(fractions.shape[1])
    for row, counts in zip(fractions, counted, strict=True):
        square = square + np.where(counts, (row - mean) * (row - mean), 0.0)
    deviation = np.sqrt(square / np.maximum(count, 1))
    if len(fractions) >= 2:
        largest = np.where(counted, fractions, -np.inf).max(axis=0)
        smallest = np.where(counted, fractions, np.inf).min(axis=0)
        deviation = np.where(count == 2, np.abs((largest - smallest) / 2), deviation)
    deviation = np.where(count < 2, 0.0, deviation)
    answer: IntArray = ((1 - deviation) * MAX_SCORE).astype(np.int64)
    return answer
