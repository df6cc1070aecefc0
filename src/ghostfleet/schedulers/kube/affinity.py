"""InterPodAffinity: near to some pods, away from others.

A new pod's required terms must be met by pods that are there, its anti-affinity terms by none, and no pod that is
there may have an anti-affinity term that means the new one. Wishes, on both sides, add up to a score by topology
value. A pod that wants to be near pods like itself may go anywhere when it is the first of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ghostfleet.schedulers.kube.counting import Census, Counter, HeldTerm, Resident
from ghostfleet.schedulers.kube.table import BoolArray, IntArray, NodeTable
from ghostfleet.schedulers.kube.terms import AffinityTerm, PodTerms

__all__ = ["PodAffinity"]

NOT_NEAR = "node(s) didn't match pod affinity rules"
NOT_AWAY = "node(s) didn't match pod anti-affinity rules"
MINDED = "node(s) didn't satisfy existing pods anti-affinity rules"


class PodAffinity:
    """What pods of one kind (namespace, labels, terms) and the pods on nodes think of each other."""

    def __init__(
        self,
        table: NodeTable,
        census: Census,
        namespace: str,
        labels: Mapping[str, str],
        terms: PodTerms,
        *,
        hard_weight: int = 1,
        ignore_held_wishes: bool = False,
    ) -> None:
        self._table = table
        self._census = census
        self._namespace = namespace
        self._labels = labels
        self.terms = terms
        self._hard_weight = hard_weight
        self._ignore_held = ignore_held_wishes and not terms.like and not terms.dislike
        self._held_version = -1
        self._minders: list[HeldTerm] = []
        self._wishers: list[HeldTerm] = []

    def _look_at_held(self) -> None:
        if self._held_version != self._census.held_version:
            self._held_version = self._census.held_version
            self._minders = self._census.minding(self._namespace, self._labels, ("away",))
            sides = ("near", "like", "dislike") if self._hard_weight else ("like", "dislike")
            wishers = self._census.minding(self._namespace, self._labels, sides)
            self._wishers = [] if self._ignore_held else wishers

    @property
    def filters(self) -> bool:
        """Whether any node can be ruled out."""
        self._look_at_held()
        return bool(self.terms.near or self.terms.away or self._minders)

    @property
    def scoring(self) -> bool:
        """Whether nodes can get different scores."""
        self._look_at_held()
        return bool(self.terms.like or self.terms.dislike or self._wishers)

    # -- counters ----------------------------------------------------------------------------------------------------

    def _matching(self, terms: Sequence[AffinityTerm]) -> Counter:
        """Pods on nodes that all these terms mean."""
        census = self._census

        def asks(namespace: str, labels: Mapping[str, str], _: bool) -> bool:
            own = census.namespace_labels(namespace)
            return all(term.matches(namespace, own, labels) for term in terms)

        return census.counter(("terms", *(term.key for term in terms)), asks, terms[0].selector.equalities())

    def _is_first(self, without: int = 0) -> bool:
        """Whether no pod on a node with the labels asked for matches, and the pod matches itself."""
        near = self.terms.near
        counter = self._matching(near)
        there = sum(int(counter.by(term.topology_key).sums.sum()) for term in near) + without
        own = self._census.namespace_labels(self._namespace)
        return there <= 0 and all(term.matches(self._namespace, own, self._labels) for term in near)

    # -- filters -----------------------------------------------------------------------------------------------------

    def check(self, slots: Any) -> tuple[BoolArray, BoolArray, BoolArray]:
        """Nodes at `slots` ruled out because pods asked for are not there, unwanted ones are, or others mind."""
        self._look_at_held()
        lonely = self._lonely(slots)
        unwanted: BoolArray = np.zeros(len(slots), np.bool_)
        for term in self.terms.away:
            unwanted |= self._somebody(self._matching([term]), term.topology_key, slots)
        minded: BoolArray = np.zeros(len(slots), np.bool_)
        for held in self._minders:
            minded |= self._somebody(held.counter, held.term.topology_key, slots)
        return lonely, unwanted & ~lonely, minded & ~unwanted & ~lonely

    def _lonely(self, slots: Any) -> BoolArray:
        near = self.terms.near
        lacking: BoolArray = np.zeros(len(slots), np.bool_)
        lonely: BoolArray = np.zeros(len(slots), np.bool_)
        if not near:
            return lonely
        counter = self._matching(near)
        for term in near:
            domain = counter.by(term.topology_key)
            codes = domain.codes[slots]
            lacking |= codes < 0
            lonely |= domain.sums[codes] <= 0
        return lacking if self._is_first() else lacking | lonely

    def _somebody(self, counter: Counter, key: str, slots: Any) -> BoolArray:
        domain = counter.by(key)
        codes = domain.codes[slots]
        answer: BoolArray = (codes >= 0) & (domain.sums[codes] > 0)
        return answer

    def reason_with(self, slot: int, changes: Sequence[tuple[Resident, int]]) -> tuple[str, bool] | None:
        """Why a node is not possible when pods came to it (+1) or left it (-1), and whether that is final."""
        self._look_at_held()
        if self._lonely_with(slot, changes):
            return NOT_NEAR, True
        for term in self.terms.away:
            extra = sum(sign for each, sign in changes if self._means(term, each))
            if self._crowded_with(self._matching([term]), term.topology_key, slot, extra):
                return NOT_AWAY, False
        if self._minded_with(slot, changes):
            return MINDED, False
        return None

    def _means(self, term: AffinityTerm, resident: Resident) -> bool:
        own = self._census.namespace_labels(resident.namespace)
        return term.matches(resident.namespace, own, resident.labels)

    def _crowded_with(self, counter: Counter, key: str, slot: int, extra: int) -> bool:
        domain = counter.by(key)
        code = int(domain.codes[slot])
        return code >= 0 and int(domain.sums[code]) + extra > 0

    def _lonely_with(self, slot: int, changes: Sequence[tuple[Resident, int]]) -> bool:
        near = self.terms.near
        if not near:
            return False
        extra = sum(sign for each, sign in changes if all(self._means(term, each) for term in near))
        counter = self._matching(near)
        company = True
        for term in near:
            if int(counter.by(term.topology_key).codes[slot]) < 0:
                return True
            company = company and self._crowded_with(counter, term.topology_key, slot, extra)
        return not company and not self._is_first(without=extra * len(near))

    def _minded_with(self, slot: int, changes: Sequence[tuple[Resident, int]]) -> bool:
        own = self._census.namespace_labels(self._namespace)
        extra: dict[Any, int] = {}
        for each, sign in changes:
            for term in each.terms.away if each.terms is not None else ():
                if term.matches(self._namespace, own, self._labels):
                    key = (term.key, term.topology_key)
                    extra[key] = extra.get(key, 0) + sign
        for held in self._minders:
            more = extra.pop((held.term.key, held.term.topology_key), 0)
            if self._crowded_with(held.counter, held.term.topology_key, slot, more):
                return True
        return any(
            more > 0 and int(self._table.labels(topology_key).codes[slot]) >= 0
            for (_, topology_key), more in extra.items()
        )

    # -- scores ------------------------------------------------------------------------------------------------------

    def scores(self, slots: IntArray) -> IntArray:
        """The scores, 0 to 100, of the nodes at `slots`, which are all there is to choose from."""
        self._look_at_held()
        raw: IntArray = np.zeros(len(slots), np.int64)
        for term in self.terms.like:
            raw += self._weight(self._matching([term]), term.topology_key, slots, term.weight)
        for term in self.terms.dislike:
            raw -= self._weight(self._matching([term]), term.topology_key, slots, term.weight)
        for held in self._wishers:
            weight = {"near": self._hard_weight, "like": held.term.weight, "dislike": -held.term.weight}[held.side]
            raw += self._weight(held.counter, held.term.topology_key, slots, weight)
        least, most = int(raw.min()), int(raw.max())
        if most == least:
            return np.zeros(len(slots), np.int64)
        answer: IntArray = (100.0 * ((raw - least) / float(most - least))).astype(np.int64)
        return answer

    def _weight(self, counter: Counter, key: str, slots: IntArray, weight: int) -> IntArray:
        domain = counter.by(key)
        codes = domain.codes[slots]
        return np.where(codes >= 0, domain.sums[codes] * weight, 0)
