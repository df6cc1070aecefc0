"""PodTopologySpread: as many pods here as there.

The *skew* of a node is how many pods of the constraint's selector its topology value would have, less the fewest any
value has. A hard constraint forbids nodes with too much of it; a soft one only prefers the others. Values count only
over nodes that have all the labels asked for and, unless the pod says otherwise, that its node affinity allows. Pods
without constraints of their own get the defaults, with the selector of the services and controllers they belong to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import Any, NamedTuple

import numpy as np

from ghostfleet.schedulers.kube.counting import Census, Counter
from ghostfleet.schedulers.kube.facts import Facts
from ghostfleet.schedulers.kube.matching import Matcher
from ghostfleet.schedulers.kube.table import BoolArray, IntArray, NodeTable
from ghostfleet.schedulers.kube.terms import SpreadConstraint

__all__ = ["HardSpread", "SoftSpread"]

NOT_MET = "node(s) didn't match pod topology spread constraints"
NO_LABEL = f"{NOT_MET} (missing required label)"
HOSTNAME = "kubernetes.io/hostname"
_NO_MINIMUM = 2**31 - 1


class _Place(NamedTuple):
    """Where a spread is asked for: the tables it needs, the pod it is for."""

    table: NodeTable
    census: Census
    matcher: Matcher
    facts: Facts
    namespace: str
    labels: Mapping[str, str]


def _counter(place: _Place, constraint: SpreadConstraint) -> Counter | None:
    """Pods that the constraint's selector means, those being deleted left out; None when it means none."""
    selector, namespace = constraint.selector, place.namespace
    if not selector.requirements:
        return None

    def asks(where: str, labels: Mapping[str, str], leaving: bool) -> bool:
        return where == namespace and not leaving and selector.matches(labels)

    return place.census.counter(("spread", namespace, str(selector)), asks, selector.equalities())


def _eligible(place: _Place, constraint: SpreadConstraint, keys: Sequence[str]) -> tuple[BoolArray | None, bytes]:
    """Nodes that count for a constraint, and a name for this set of them."""
    mask: BoolArray | None = None
    for key in keys:
        has = place.table.labels(key).codes >= 0
        mask = has if mask is None else mask & has
    parts: list[bytes] = [",".join(keys).encode()]
    if constraint.honor_affinity:
        allowed = place.matcher.allowed(place.facts)
        parts.append(place.facts.node_key)
        if allowed is not None:
            mask = allowed if mask is None else mask & allowed
    if constraint.honor_taints:
        tolerated = place.matcher.tolerated(place.facts)
        parts.append(place.facts.toleration_key)
        if tolerated is not None:
            mask = tolerated if mask is None else mask & tolerated
    return mask, b"|".join(parts)


class HardSpread:
    """The hard constraints of pods of one kind."""

    def __init__(
        self,
        table: NodeTable,
        census: Census,
        matcher: Matcher,
        facts: Facts,
        namespace: str,
        labels: Mapping[str, str],
        constraints: Sequence[SpreadConstraint],
    ) -> None:
        self._place = _Place(table, census, matcher, facts, namespace, labels)
        self.constraints = constraints
        self._keys = [each.topology_key for each in constraints]

    def check(self, slots: Any) -> tuple[BoolArray, BoolArray]:
        """Nodes at `slots` that lack a label, and nodes that are too full."""
        lacking: BoolArray = np.zeros(len(slots), np.bool_)
        skewed: BoolArray = np.zeros(len(slots), np.bool_)
        for constraint in self.constraints:
            codes = self._place.table.labels(constraint.topology_key).codes[slots]
            missing = (codes < 0) & ~skewed
            lacking |= missing
            skewed |= ~lacking & self._too_full(constraint, codes)
        return lacking, skewed

    def _too_full(self, constraint: SpreadConstraint, codes: IntArray) -> BoolArray:
        own = int(constraint.selector.matches(self._place.labels))
        sums, least = self._counts(constraint)
        return sums[codes] + (own - least) > constraint.max_skew

    def _counts(self, constraint: SpreadConstraint) -> tuple[IntArray, int]:
        eligible, name = _eligible(self._place, constraint, self._keys)
        counter = _counter(self._place, constraint) or Counter(self._place.table, lambda *_: False)
        domain = counter.by(constraint.topology_key, eligible, name)
        least = domain.least()
        if int(domain.present.sum()) < constraint.min_domains:
            return domain.sums, 0
        return domain.sums, _NO_MINIMUM if least is None else least

    def reason_with(self, slot: int, changes: Sequence[tuple[str, Mapping[str, str], int]]) -> str | None:
        """Why a node is not possible when pods (namespace, labels) came to it (+1) or left it (-1); None if it is."""
        place = self._place
        for constraint in self.constraints:
            code = int(place.table.labels(constraint.topology_key).codes[slot])
            if code < 0:
                return NO_LABEL
            change = (
                sum(
                    sign
                    for namespace, labels, sign in changes
                    if namespace == place.namespace and constraint.selector.matches(labels)
                )
                if constraint.selector.requirements
                else 0
            )
            if self._skew_with(constraint, slot, code, change) > constraint.max_skew:
                return NOT_MET
        return None

    def _skew_with(self, constraint: SpreadConstraint, slot: int, code: int, change: int) -> int:
        eligible, name = _eligible(self._place, constraint, self._keys)
        counter = _counter(self._place, constraint) or Counter(self._place.table, lambda *_: False)
        domain = counter.by(constraint.topology_key, eligible, name)
        sums = domain.sums
        if change and domain.eligible[slot]:
            sums = sums.copy()
            sums[code] += change
        there = sums[domain.present]
        least = int(there.min()) if len(there) else _NO_MINIMUM
        if len(there) < constraint.min_domains:
            least = 0
        return int(sums[code]) + int(constraint.selector.matches(self._place.labels)) - least


class SoftSpread:
    """The soft constraints of pods of one kind."""

    def __init__(
        self,
        table: NodeTable,
        census: Census,
        matcher: Matcher,
        facts: Facts,
        namespace: str,
        labels: Mapping[str, str],
        constraints: Sequence[SpreadConstraint],
        *,
        all_labels: bool,
    ) -> None:
        self._place = _Place(table, census, matcher, facts, namespace, labels)
        self._constraints = constraints
        #: Whether only nodes that have all labels are scored; not so for the system's defaults.
        self._keys = [each.topology_key for each in constraints] if all_labels else []

    def scores(self, slots: IntArray) -> IntArray:
        """The scores, 0 to 100, of the nodes at `slots`, which are all there is to choose from."""
        table = self._place.table
        scored: BoolArray = np.ones(len(slots), np.bool_)
        for key in self._keys:
            scored &= table.labels(key).codes[slots] >= 0
        total = np.zeros(len(slots))
        for constraint in self._constraints:
            total += self._crowd(constraint, slots, scored)
        crowd = np.floor(total + 0.5).astype(np.int64)
        return _normalized(crowd, scored)

    def _crowd(self, constraint: SpreadConstraint, slots: IntArray, scored: BoolArray) -> Any:
        place, key = self._place, constraint.topology_key
        codes = place.table.labels(key).codes[slots]
        counter = _counter(place, constraint) or Counter(place.table, lambda *_: False)
        if key == HOSTNAME:
            counts = counter.at(slots)
            size = int(scored.sum())
        else:
            eligible, name = _eligible(place, constraint, self._keys)
            counts = counter.by(key, eligible, name).sums[codes]
            # A node without the label counts as a value of its own, the empty one.
            size = len(np.unique(codes[scored]))
        crowd = counts * log(size + 2) + (constraint.max_skew - 1)
        return np.where(scored & (codes >= 0), crowd, 0.0)


def _normalized(crowd: IntArray, scored: BoolArray) -> IntArray:
    counted = crowd[scored]
    most = max(int(counted.max()), 0) if len(counted) else 0
    if most == 0:
        return np.where(scored, 100, 0)
    return np.where(scored, 100 * (most + int(counted.min()) - crowd) // most, 0)
