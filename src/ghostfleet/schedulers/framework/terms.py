"""Affinity terms: which other pods a pod wants to be near to, or away from.

An *affinity term* names pods by a label selector and by namespaces (listed, or chosen by their labels; without
either, the namespace of the pod that has the term), and a *topology key*, the node label whose value says what "near"
means. *Required* terms rule nodes out, *preferred* ones have a weight and only count in scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ghostfleet.core.selectors import EVERYTHING, NOTHING, LabelSelector, selector_from_object

__all__ = ["NO_TERMS", "AffinityTerm", "PodTerms", "label_selector", "pod_terms"]

Labels = Mapping[str, str]


class AffinityTerm:
    """One term of a pod in one namespace."""

    __slots__ = ("key", "namespace_selector", "namespaces", "selector", "topology_key", "weight")

    def __init__(self, term: Mapping[str, Any], namespace: str, weight: int = 0) -> None:
        listed = term.get("namespaces") or ()
        by_labels = term.get("namespaceSelector")
        self.namespaces = frozenset(listed if listed or by_labels is not None else (namespace,))
        self.namespace_selector = label_selector(by_labels)
        self.selector = label_selector(term.get("labelSelector"))
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

    required_affinity: tuple[AffinityTerm, ...]
    required_anti_affinity: tuple[AffinityTerm, ...]
    preferred_affinity: tuple[AffinityTerm, ...]
    preferred_anti_affinity: tuple[AffinityTerm, ...]

    @property
    def any(self) -> bool:
        return any(map(bool, self))


NO_TERMS = PodTerms((), (), (), ())


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


def label_selector(selector: Mapping[str, Any] | None) -> LabelSelector:
    """What a selector means: without one nothing, with an empty one everything."""
    if selector is None:
        return NOTHING
    return selector_from_object(selector) if selector else EVERYTHING


def _text(selector: LabelSelector) -> str | None:
    return str(selector) if selector.requirements or selector.empty else None
