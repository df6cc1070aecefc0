"""Resources: does a pod fit on a node, and how well.

A pod *fits* when every resource it asks for is left in full on the node, and one more pod is allowed there. A
resource that not even the empty node has enough of is *hopeless*: no preemption helps. Scores follow one of three
strategies: LeastAllocated prefers empty nodes, MostAllocated full ones, RequestedToCapacityRatio follows a curve.
*Balance* prefers nodes whose resources would be used to more even degrees than before.

Everything is there twice, for one slot in plain integers and for many slots in numpy; both give the same numbers,
which are those of kube-scheduler to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from ghostfleet.schedulers.kube.facts import Facts
from ghostfleet.schedulers.kube.requests import CPU, MEMORY, is_scalar
from ghostfleet.schedulers.kube.table import (
    CPU_COLUMN,
    MEMORY_COLUMN,
    PODS_COLUMN,
    WEIGHED_CPU,
    WEIGHED_MEMORY,
    BoolArray,
    IntArray,
    NodeTable,
)

__all__ = [
    "LEAST_ALLOCATED",
    "BalanceScorer",
    "FitScorer",
    "Shortage",
    "Strategy",
    "fit_needs",
    "fits",
    "fits_all",
    "shortages",
]

MAX_SCORE = 100

#: A resource to look at in scores: column of what is there, column of what is used, what the pod adds, weight.
_Part = tuple[int, int, int, int]


class Strategy(NamedTuple):
    """How NodeResourcesFit scores."""

    kind: str = "LeastAllocated"
    resources: tuple[tuple[str, int], ...] = ((CPU, 1), (MEMORY, 1))
    #: Points (utilization in percent, score 0-100) of the curve of RequestedToCapacityRatio.
    curve: tuple[tuple[int, int], ...] = ()


LEAST_ALLOCATED = Strategy()


class Shortage(NamedTuple):
    """A resource that is short on some nodes."""

    reason: str
    #: By slot: too little is left; and: not even the empty node has enough.
    short: BoolArray
    hopeless: BoolArray


def fit_needs(table: NodeTable, facts: Facts, ignored: Callable[[str], bool]) -> list[tuple[int, int, str]]:
    """What the pod needs: column, amount, name; in the order in which shortages are told."""
    asked = facts.requests.asked
    order = sorted(asked, key=lambda name: (is_scalar(name), {CPU: 0, MEMORY: 1}.get(name, 2), name))
    return [(table.column(name), asked[name], name) for name in order if asked[name] > 0 and not ignored(name)]


def fits(allocatable: list[int], used: list[int], needs: Sequence[tuple[int, int, str]]) -> bool:
    """Whether one node has room."""
    if used[PODS_COLUMN] >= allocatable[PODS_COLUMN]:
        return False
    short = False
    for column, amount, _ in needs:
        short = short or amount > allocatable[column] - used[column]
    return not short


def fits_all(table: NodeTable, needs: Sequence[tuple[int, int, str]], slots: Any) -> BoolArray:
    """Whether the nodes at `slots` (an index array or a slice) have room."""
    allocatable, used = table.flush()
    room: BoolArray = used[PODS_COLUMN, slots] < allocatable[PODS_COLUMN, slots]
    for column, amount, _ in needs:
        room &= allocatable[column, slots] - used[column, slots] >= amount
    return room


def shortages(table: NodeTable, needs: Sequence[tuple[int, int, str]]) -> list[Shortage]:
    """Why nodes have no room, resource by resource."""
    allocatable, used = table.flush()
    never: BoolArray = np.zeros(table.capacity, np.bool_)
    found = [Shortage("Too many pods", used[PODS_COLUMN] >= allocatable[PODS_COLUMN], never)]
    for column, amount, name in needs:
        short = allocatable[column] - used[column] < amount
        found.append(Shortage(f"Insufficient {name}", short, allocatable[column] < amount))
    return found


class FitScorer:
    """Scores of NodeResourcesFit for pods with the same facts."""

    def __init__(self, table: NodeTable, facts: Facts, strategy: Strategy) -> None:
        self._table = table
        self._one = {
            "LeastAllocated": _least,
            "MostAllocated": _most,
            "RequestedToCapacityRatio": self._on_curve,
        }[strategy.kind]
        self._kind = strategy.kind
        self._curve = strategy.curve
        self._parts = _parts(table, facts, strategy.resources)

    def one(self, allocatable: list[int], used: list[int]) -> int:
        """The score of one node."""
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

    def many(self, slots: Any) -> IntArray:
        """The scores of the nodes at `slots`."""
        allocatable, used = self._table.flush()
        total: IntArray = np.zeros(len(slots), np.int64)
        weights: IntArray = np.zeros(len(slots), np.int64)
        ratio = self._kind == "RequestedToCapacityRatio"
        for has, uses, adds, weight in self._parts:
            there = allocatable[has, slots]
            got = self._many(used[uses, slots] + adds, there)
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


def _parts(table: NodeTable, facts: Facts, resources: Sequence[tuple[str, int]]) -> list[_Part]:
    requests = facts.requests
    parts: list[_Part] = []
    for name, weight in resources:
        if name == CPU:
            parts.append((CPU_COLUMN, WEIGHED_CPU, requests.score_cpu, weight))
        elif name == MEMORY:
            parts.append((MEMORY_COLUMN, WEIGHED_MEMORY, requests.score_memory, weight))
        else:
            adds = requests.by_containers.get(name, 0)
            if adds or not is_scalar(name):
                parts.append((table.column(name), table.column(name), adds, weight))
    return parts


class BalanceScorer:
    """Scores of NodeResourcesBalancedAllocation for pods with the same facts."""

    def __init__(self, table: NodeTable, facts: Facts, resources: Sequence[tuple[str, int]]) -> None:
        self._table = table
        asked = facts.requests.asked
        named = [(name, asked.get(name, 0)) for name, _ in resources]
        #: Pods that ask for none of the resources are not scored, lest they all go to one node.
        self.applies = any(adds for _, adds in named)
        self._parts = [(table.column(name), adds) for name, adds in named if adds or not is_scalar(name)]

    def one(self, allocatable: list[int], used: list[int]) -> int:
        """The score of one node."""
        if len(self._parts) == 2:
            (first, adds), (second, more) = self._parts
            there, too = allocatable[first], allocatable[second]
            if there and too:
                uses, use = used[first], used[second]
                without = _capped(uses / there) - _capped(use / too)
                with_pod = _capped((uses + adds) / there) - _capped((use + more) / too)
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

    def many(self, slots: Any) -> IntArray:
        """The scores of the nodes at `slots`."""
        allocatable, used = self._table.flush()
        there = [allocatable[column, slots] for column, _ in self._parts]
        uses = [used[column, slots] for column, _ in self._parts]
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


def _capped(fraction: float) -> float:
    return fraction if fraction < 1.0 else 1.0


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
