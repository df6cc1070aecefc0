"""InterPodAffinity: near to some pods, away from others.

A new pod's required terms must be met by pods that are there, its anti-affinity terms by none, and no pod that is
there may have an anti-affinity term that means the new one. Preferred terms, on both sides, add up to a score by
topology value. A pod that wants to be near pods like itself may go anywhere when it is the first of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ghostfleet.core.changes import Object
from ghostfleet.schedulers.framework.arguments import plugin_fields, whole_number
from ghostfleet.schedulers.framework.nodetable import BoolArray, IntArray
from ghostfleet.schedulers.framework.plugin import MAX_SCORE, Filter, Objection, Plugin, Scope, Score, Slots
from ghostfleet.schedulers.framework.podinfo import PodInfo, SpecInfo
from ghostfleet.schedulers.framework.podtable import Counter, ExistingTerm
from ghostfleet.schedulers.framework.snapshot import Snapshot
from ghostfleet.schedulers.framework.terms import NO_TERMS, AffinityTerm

__all__ = ["InterPodAffinity"]

_AFFINITY = "node(s) didn't match pod affinity rules"
_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
_EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"


class _Arguments(NamedTuple):
    hard_weight: int = 1
    ignore_existing: bool = False


class InterPodAffinity(Plugin):
    """Puts pods near to some pods and away from others."""

    name = "InterPodAffinity"
    weight = 2
    events = frozenset(("pods", "nodes"))
    arguments: _Arguments

    @classmethod
    def read_arguments(cls, path: str, given: Mapping[str, Any]) -> _Arguments:
        plugin_fields(path, given, "hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods")
        weight = whole_number(f"{path}.hardPodAffinityWeight", given.get("hardPodAffinityWeight", 1), 0, 100)
        return _Arguments(weight, bool(given.get("ignorePreferredTermsOfExistingPods")))

    @classmethod
    def default_arguments(cls) -> _Arguments:
        return _Arguments()

    def sign(self, pod: Object, info: SpecInfo) -> tuple[object, ...] | None:  # noqa: ARG002
        return () if info.has_terms or self.snapshot.pods.existing_terms else None

    def pre_filter(self, pod: PodInfo) -> Filter | None:
        return _Required(self.snapshot, pod)

    def pre_score(self, pod: PodInfo) -> Score | None:
        return _Preferred(self.snapshot, pod, self.arguments)


class _Terms:
    """The terms of pods of one signature, and those of pods on nodes that mean them."""

    def __init__(self, snapshot: Snapshot, pod: PodInfo, kinds: Sequence[str]) -> None:
        self._pods = snapshot.pods
        self._pod = pod
        self._kinds = kinds
        self.own = pod.terms or NO_TERMS
        self._version = -1
        self._existing: list[ExistingTerm] = []

    def existing(self) -> list[ExistingTerm]:
        """Terms of pods on nodes that mean the pod."""
        pods = self._pods
        if self._version != pods.terms_version:
            self._version = pods.terms_version
            self._existing = pods.existing_terms_for(self._pod.namespace, self._pod.labels, self._kinds)
        return self._existing

    def matching(self, terms: Sequence[AffinityTerm]) -> Counter:
        """Pods on nodes that all these terms mean."""
        pods = self._pods

        def asks(namespace: str, labels: Mapping[str, str], _: bool) -> bool:
            own = pods.namespace_labels(namespace)
            return all(term.matches(namespace, own, labels) for term in terms)

        return pods.counter(("terms", *(term.key for term in terms)), asks, terms[0].selector.equalities())

    def is_first(self, terms: Sequence[AffinityTerm]) -> bool:
        """Whether no pod on a node with the labels asked for matches, and the pod matches itself."""
        counter = self.matching(terms)
        there = sum(int(counter.by(term.topology_key).sums.sum()) for term in terms)
        own = self._pods.namespace_labels(self._pod.namespace)
        return there <= 0 and all(term.matches(self._pod.namespace, own, self._pod.labels) for term in terms)


class _Required(Filter):
    scope = Scope.CLUSTER

    def __init__(self, snapshot: Snapshot, pod: PodInfo) -> None:
        self._pods = snapshot.pods
        self._terms = _Terms(snapshot, pod, ("required_anti_affinity",))
        self._has_own = bool(self._terms.own.required_affinity or self._terms.own.required_anti_affinity)

    @property
    def active(self) -> bool:
        return self._has_own or (bool(self._pods.existing_terms) and bool(self._terms.existing()))

    def objections(self, slots: Slots) -> Sequence[Objection]:
        own = self._terms.own
        unmet = self._unmet(own.required_affinity, slots)
        unwanted: BoolArray = np.zeros(len(slots), np.bool_)
        for term in own.required_anti_affinity:
            unwanted |= _somebody(self._terms.matching([term]), term.topology_key, slots)
        unwelcome: BoolArray = np.zeros(len(slots), np.bool_)
        for each in self._terms.existing():
            unwelcome |= _somebody(each.counter, each.term.topology_key, slots)
        return (
            Objection(_AFFINITY, unmet, False),
            Objection(_ANTI_AFFINITY, unwanted & ~unmet, True),
            Objection(_EXISTING_ANTI_AFFINITY, unwelcome & ~unwanted & ~unmet, True),
        )

    def _unmet(self, terms: Sequence[AffinityTerm], slots: Slots) -> BoolArray:
        """Nodes without the pods that terms ask for."""
        lacking: BoolArray = np.zeros(len(slots), np.bool_)
        unmet: BoolArray = np.zeros(len(slots), np.bool_)
        if not terms:
            return unmet
        counter = self._terms.matching(terms)
        for term in terms:
            domain = counter.by(term.topology_key)
            codes = domain.codes[slots]
            lacking |= codes < 0
            unmet |= domain.sums[codes] <= 0
        return lacking if self._terms.is_first(terms) else lacking | unmet


def _somebody(counter: Counter, key: str, slots: Slots) -> BoolArray:
    domain = counter.by(key)
    codes = domain.codes[slots]
    answer: BoolArray = (codes >= 0) & (domain.sums[codes] > 0)
    return answer


class _Preferred(Score):
    local = False

    def __init__(self, snapshot: Snapshot, pod: PodInfo, arguments: _Arguments) -> None:
        kinds = ("preferred_affinity", "preferred_anti_affinity")
        self._pods = snapshot.pods
        self._terms = _Terms(snapshot, pod, (*kinds, "required_affinity") if arguments.hard_weight else kinds)
        self._has_own = bool(self._terms.own.preferred_affinity or self._terms.own.preferred_anti_affinity)
        self._ignore_existing = arguments.ignore_existing and not self._has_own
        self._hard_weight = arguments.hard_weight

    @property
    def active(self) -> bool:
        return self._has_own or (bool(self._pods.existing_terms) and bool(self._existing()))

    def _existing(self) -> list[ExistingTerm]:
        return [] if self._ignore_existing else self._terms.existing()

    def many(self, slots: Slots) -> IntArray:
        own = self._terms.own
        raw: IntArray = np.zeros(len(slots), np.int64)
        for term in own.preferred_affinity:
            raw += _weight(self._terms.matching([term]), term.topology_key, slots, term.weight)
        for term in own.preferred_anti_affinity:
            raw -= _weight(self._terms.matching([term]), term.topology_key, slots, term.weight)
        for each in self._existing():
            weight = {
                "required_affinity": self._hard_weight,
                "preferred_affinity": each.term.weight,
                "preferred_anti_affinity": -each.term.weight,
            }[each.kind]
            raw += _weight(each.counter, each.term.topology_key, slots, weight)
        return raw

    def normalise(self, scores: IntArray) -> IntArray:
        least, most = int(scores.min()), int(scores.max())
        if most == least:
            return np.zeros(len(scores), np.int64)
        answer: IntArray = (float(MAX_SCORE) * ((scores - least) / float(most - least))).astype(np.int64)
        return answer


def _weight(counter: Counter, key: str, slots: Slots, weight: int) -> IntArray:
    domain = counter.by(key)
    codes = domain.codes[slots]
    return np.where(codes >= 0, domain.sums[codes] * weight, 0)
