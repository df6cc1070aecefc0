"""What limits the nodes of a pod besides amounts: node affinity, taints, other pods, ports and volumes.

Terms are those of Kubernetes, as plain data: a node selector term is (requirements on labels, requirements on fields),
a requirement is (key, operator, values); a pod affinity term has a label selector as a function of labels, namespaces
and a topology key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

__all__ = [
    "Affinity",
    "HostPort",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "PodAffinityTerm",
    "StorageClaim",
    "are_ports_taken",
    "matches_node",
    "reaches_volumes",
]

NodeSelectorRequirement = tuple[str, str, tuple[str, ...]]
#: Protocol, address, number.
HostPort = tuple[str, str, int]
_ANY_ADDRESS = "0.0.0.0"


@dataclass(frozen=True)
class NodeSelectorTerm:
    """All requirements must hold: on the node's labels, and on its name."""

    labels: tuple[NodeSelectorRequirement, ...] = ()
    fields: tuple[NodeSelectorRequirement, ...] = ()


@dataclass(frozen=True)
class PodAffinityTerm:
    """Pods with such labels in such namespaces (none given: the pod's own), by topology key."""

    selector: tuple[tuple[str, str], ...]
    topology_key: str
    namespaces: tuple[str, ...] = ()
    matches: Callable[[Mapping[str, str]], bool] | None = field(default=None, compare=False)

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether a pod with these labels is meant."""
        if self.matches is not None:
            return self.matches(labels)
        return all(labels.get(key) == value for key, value in self.selector)


@dataclass(frozen=True)
class StorageClaim:
    """A volume claim of a pod: its class, its size in bytes, its phase, and whether it goes when the pod goes."""

    storage_class: str
    size: int
    phase: str = "Bound"
    owned: bool = False
    deleted_owner: bool = False


@dataclass(frozen=True)
class Affinity:
    """The placement rules of a pod."""

    node_selector: Mapping[str, str] = field(default_factory=dict)
    node_terms: Sequence[NodeSelectorTerm] | None = None
    tolerations: Sequence[Mapping[str, Any]] = ()
    pod_affinity: tuple[PodAffinityTerm, ...] = ()
    pod_anti_affinity: tuple[PodAffinityTerm, ...] = ()
    preferred_pods: tuple[tuple[int, PodAffinityTerm], ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    #: For each volume the terms of which a node must match one.
    volumes: tuple[tuple[NodeSelectorTerm, ...], ...] = ()

    @cached_property
    def is_required(self) -> bool:
        """Whether nodes are limited by label, field or name."""
        return bool(self.node_selector) or self.node_terms is not None or bool(self.volumes)

    @cached_property
    def signature(self) -> tuple[object, ...]:
        """All of it, to be compared and hashed."""
        terms = None if self.node_terms is None else tuple(self.node_terms)
        tolerations = tuple(tuple(sorted(t.items())) for t in self.tolerations)
        selector = tuple(sorted(self.node_selector.items()))
        pods = (self.pod_affinity, self.pod_anti_affinity, self.preferred_pods)
        return (selector, terms, tolerations, pods, self.host_ports, self.volumes)


def are_ports_taken(wanted: Iterable[HostPort], taken: Iterable[HostPort]) -> bool:
    """Whether a wanted port is taken; a port on any address is in the way of every address."""
    held = list(taken)
    return any(
        (protocol, number) == (other, port) and (address == where or _ANY_ADDRESS in (address, where))
        for protocol, address, number in wanted
        for other, where, port in held
    )


def matches_node(affinity: Affinity, name: str, labels: Mapping[str, str]) -> bool:
    """Whether a node is one of those that the pod's selector and required node affinity allow."""
    if any(labels.get(key) != value for key, value in affinity.node_selector.items()):
        return False
    if affinity.node_terms is None:
        return True
    return any(_matches_term(term, name, labels) for term in affinity.node_terms)


def reaches_volumes(affinity: Affinity, name: str, labels: Mapping[str, str]) -> bool:
    """Whether all volumes of a pod can be reached from a node."""
    return all(any(_matches_term(term, name, labels) for term in terms) for terms in affinity.volumes)


def _matches_term(term: NodeSelectorTerm, name: str, labels: Mapping[str, str]) -> bool:
    if not term.labels and not term.fields:
        return False
    fields = {"metadata.name": name}
    return all(_holds(rule, labels) for rule in term.labels) and all(_holds(rule, fields) for rule in term.fields)


def _holds(rule: NodeSelectorRequirement, labels: Mapping[str, str]) -> bool:
    key, operator, values = rule
    present = labels.get(key)
    if operator == "In":
        return present is not None and present in values
    if operator == "NotIn":
        return present is None or present not in values
    if operator == "Exists":
        return present is not None
    if operator == "DoesNotExist":
        return present is None
    try:
        number, bound = int(present or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return number > bound if operator == "Gt" else number < bound
