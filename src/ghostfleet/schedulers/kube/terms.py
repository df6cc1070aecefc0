"""Terms that say which other pods a pod wants to be near to, or away from.

An *affinity term* names pods by a label selector and by namespaces (listed, or chosen by their labels; without
either, the namespace of the pod that has the term), and a *topology key*, the node label whose value says what "near"
means. A *weighted* term only expresses a wish. A *spread constraint* asks that pods of a selector be as many in one
topology value as in another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ghostfleet.core.selectors import EVERYTHING, NOTHING, LabelSelector, Requirement, selector_from_object

__all__ = ["AffinityTerm", "PodTerms", "SpreadConstraint", "pod_terms", "spread_constraints"]

Labels = Mapping[str, str]


class AffinityTerm:
    """One term of a pod in one namespace."""

    __slots__ = ("key", "namespace_selector", "namespaces", "selector", "topology_key", "weight")

    def __init__(self, term: Mapping[str, Any], namespace: str, weight: int = 0) -> None:
        listed = term.get("namespaces") or ()
        by_labels = term.get("namespaceSelector")
        self.namespaces = frozenset(listed if listed or by_labels is not None else (namespace,))
        self.namespace_selector = _selector(by_labels)
        self.selector = _selector(term.get("labelSelector"))
        self.topology_key: str = term.get("topologyKey", "")
        self.weight = weight
        #: Terms with the same key match the same pods.
        self.key = (tuple(sorted(self.namespaces)), _text(self.namespace_selector), _text(self.selector))

    def matches(self, namespace: str, namespace_labels: Labels | None, labels: Labels | None) -> bool:
        """Whether a pod in a namespace (with these labels of its own) is meant."""
        here = namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        return here and self.selector.matches(labels)


class PodTerms(NamedTuple):
    """All affinity terms of one pod."""

    near: tuple[AffinityTerm, ...]
    away: tuple[AffinityTerm, ...]
    like: tuple[AffinityTerm, ...]
    dislike: tuple[AffinityTerm, ...]

    @property
    def any(self) -> bool:
        return bool(self.near or self.away or self.like or self.dislike)


class SpreadConstraint(NamedTuple):
    """One topology spread constraint."""

    topology_key: str
    max_skew: int
    selector: LabelSelector
    min_domains: int
    honor_affinity: bool
    honor_taints: bool


def pod_terms(affinity: Mapping[str, Any] | None, namespace: str) -> PodTerms:
    """The terms of a pod with this affinity in this namespace."""
    affinity = affinity or {}
    toward, from_ = affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}
    return PodTerms(
        _required(toward, namespace),
        _required(from_, namespace),
        _preferred(toward, namespace),
        _preferred(from_, namespace),
    )


def _required(side: Mapping[str, Any], namespace: str) -> tuple[AffinityTerm, ...]:
    listed = side.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
    return tuple(AffinityTerm(term, namespace) for term in listed)


def _preferred(side: Mapping[str, Any], namespace: str) -> tuple[AffinityTerm, ...]:
    listed = side.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return tuple(AffinityTerm(each.get("podAffinityTerm") or {}, namespace, each.get("weight", 0)) for each in listed)


def spread_constraints(listed: Sequence[Mapping[str, Any]], labels: Labels, action: str) -> list[SpreadConstraint]:
    """The constraints that do `action` (DoNotSchedule, ScheduleAnyway) for a pod with these labels."""
    return [
        SpreadConstraint(
            each["topologyKey"],
            each.get("maxSkew", 1),
            _with_labels(_selector(each.get("labelSelector")), each.get("matchLabelKeys") or (), labels),
            each.get("minDomains") or 1,
            each.get("nodeAffinityPolicy", "Honor") == "Honor",
            each.get("nodeTaintsPolicy", "Ignore") == "Honor",
        )
        for each in listed
        if each.get("whenUnsatisfiable", "DoNotSchedule") == action
    ]


def _with_labels(selector: LabelSelector, keys: Sequence[str], labels: Labels) -> LabelSelector:
    own = [Requirement(key, "=", (labels[key],)) for key in keys if key in labels]
    if not own or selector is NOTHING:
        return selector
    return LabelSelector([*own, *selector.requirements])


def _selector(selector: Mapping[str, Any] | None) -> LabelSelector:
    if selector is None:
        return NOTHING
    return selector_from_object(selector) if selector else EVERYTHING


def _text(selector: LabelSelector) -> str | None:
    return str(selector) if selector.requirements or selector.empty else None
