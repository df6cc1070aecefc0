"""Capacity: a node takes no more than it has.

A kubelet checks each new pod against what its node can allocate, because a pod may have been bound by anyone. A pod
that does not fit is *rejected*: it fails at once, and says of which resource there was too little. What pods take is
counted here as they are *admitted* and given back when they end. Extended resources that a node does not have at all
are not checked, as in Kubernetes.
"""

from __future__ import annotations

from typing import NamedTuple

from ghostfleet.api.podresources import pod_resources
from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import milli, value

__all__ = ["REASON", "Capacity", "Rejection"]

#: What the reason of a rejection begins with; the resource follows.
REASON = "OutOf"

_PODS = "pods"
#: The order in which Kubernetes looks at resources; others follow.
_FIRST = ("cpu", "memory", "ephemeral-storage")
_NATIVE = frozenset(_FIRST)
_REMEMBERED = 4096

Amounts = tuple[tuple[str, int], ...]
Key = tuple[str, str]


class Rejection(NamedTuple):
    """Why a node does not take a pod."""

    reason: str
    message: str


class _Node:
    """What one node has, and what its pods take of it."""

    __slots__ = ("_stated", "has", "pods", "taken")

    def __init__(self) -> None:
        self._stated: Object | None = None
        self.has: dict[str, int] = {}
        self.taken: dict[str, int] = {}
        self.pods = 0

    def look(self, node: Object) -> None:
        """Read again what the node has, if that changed."""
        status = node.get("status") or {}
        stated = status.get("allocatable") or status.get("capacity")
        if stated is not self._stated:
            self._stated = stated
            self.has = {name: _amount(name, amount) for name, amount in (stated or {}).items()}


class Capacity:
    """What the pods of all nodes take."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}
        #: pods that count, with their node and what they take of it
        self.admitted: dict[Key, tuple[_Node, Amounts]] = {}
        self._amounts: dict[int, tuple[list[Object], Amounts]] = {}

    def admit(self, key: Key, pod: Object, node: Object, *, checked: bool = True) -> Rejection | None:
        """Count a pod that is new on its node; if it does not fit, say why and count nothing."""
        name = node["metadata"]["name"]
        state = self._nodes.get(name)
        if state is None:
            state = self._nodes[name] = _Node()
        amounts = self._amounts_of(pod)
        if checked:
            state.look(node)
            rejection = _rejection(state, amounts)
            if rejection is not None:
                return rejection
        taken = state.taken
        for resource, amount in amounts:
            taken[resource] = taken.get(resource, 0) + amount
        state.pods += 1
        self.admitted[key] = (state, amounts)
        return None

    def release(self, key: Key) -> None:
        """Give back what a pod took; harmless when it took nothing."""
        admitted = self.admitted.pop(key, None)
        if admitted is None:
            return
        state, amounts = admitted
        for resource, amount in amounts:
            state.taken[resource] -= amount
        state.pods -= 1

    def forget(self, node: str) -> None:
        """Drop a node that is gone; what its pods took went with it."""
        self._nodes.pop(node, None)

    def _amounts_of(self, pod: Object) -> Amounts:
        containers = pod["spec"]["containers"]
        if pod["spec"].keys() & {"initContainers", "resources", "overhead"}:
            return _amounts(pod)
        # Pods of one template share their list of containers, which is never changed.
        known = self._amounts.get(id(containers))
        if known is None or known[0] is not containers:
            if len(self._amounts) >= _REMEMBERED:
                self._amounts.clear()
            known = self._amounts[id(containers)] = (containers, _amounts(pod))
        return known[1]


def _amount(name: str, amount: str) -> int:
    return milli(amount) if name == "cpu" else value(amount)


def _amounts(pod: Object) -> Amounts:
    requests = pod_resources(pod)
    ordered = [*(name for name in _FIRST if name in requests), *(name for name in requests if name not in _NATIVE)]
    amounts = ((name, milli(requests[name]) if name == "cpu" else value(requests[name])) for name in ordered)
    return tuple((name, amount) for name, amount in amounts if amount)


def _rejection(node: _Node, amounts: Amounts) -> Rejection | None:
    has, taken = node.has, node.taken
    if node.pods >= has.get(_PODS, 0):
        return _too_little(_PODS, 1, node.pods, has.get(_PODS, 0))
    for name, requested in amounts:
        if requested > has.get(name, 0) - taken.get(name, 0) and (name in has or name in _NATIVE):
            return _too_little(name, requested, taken.get(name, 0), has.get(name, 0))
    return None


def _too_little(name: str, requested: int, taken: int, has: int) -> Rejection:
    why = f"Node didn't have enough resource: {name}, requested: {requested}, used: {taken}, capacity: {has}"
    return Rejection(f"{REASON}{name}", why)
