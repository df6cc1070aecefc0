"""Pods and nodes of a fleet: what is special about playing them.

A node is *managed* if it is one of the fleet's, and alive until it fails: by `fail`, or by the annotation
`ghostfleet.dev/failed: "true"`, which a stage can set as well as a user. A node that failed is silent: it renews no
lease, and nothing happens to it or to the pods on it until it recovers. A pod is played on a managed node that is
alive; when it comes there it must fit, or it is rejected, and it waits for devices that it has claims on.

A kubelet checks each new pod against what its node can allocate, because a pod may have been bound by anyone. A pod
that does not fit is *rejected*: it fails at once, and says of which resource there was too little. What pods take is
counted here as they are *admitted* and given back when they end. Extended resources that a node does not have at all
are not checked, as in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ghostfleet.api.podclaims import EXTENDED
from ghostfleet.api.podresources import pod_resources
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.quantity import milli, value
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.stages.claims import PreparedClaims
from ghostfleet.stages.controller import KindRules, StageController
from ghostfleet.stages.funcmap import Addresses
from ghostfleet.stages.leases import Leases
from ghostfleet.stages.lifecycle import Behaviour, Transition
from ghostfleet.stages.nodes import FAILED_ANNOTATION
from ghostfleet.stages.playstage import EventSink
from ghostfleet.stages.settings import StageSettings, label_matcher

__all__ = ["Capacity", "NodeRules", "PodRules"]

#: What the reason of a rejection begins with; the resource follows.
_REASON = "OutOf"

_PODS = "pods"
#: The order in which Kubernetes looks at resources; others follow.
_FIRST = ("cpu", "memory", "ephemeral-storage")
_NATIVE = frozenset(_FIRST)
_REMEMBERED = 4096

Amounts = tuple[tuple[str, int], ...]
Key = tuple[str, str]
_TERMINAL = frozenset(("Succeeded", "Failed"))


class _Rejection(NamedTuple):
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

    def admit(self, key: Key, pod: Object, node: Object, *, checked: bool = True) -> _Rejection | None:
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


def _rejection(node: _Node, amounts: Amounts) -> _Rejection | None:
    has, taken = node.has, node.taken
    if node.pods >= has.get(_PODS, 0):
        return _too_little(_PODS, 1, node.pods, has.get(_PODS, 0))
    for name, requested in amounts:
        if requested > has.get(name, 0) - taken.get(name, 0) and (name in has or name in _NATIVE):
            return _too_little(name, requested, taken.get(name, 0), has.get(name, 0))
    return None


def _too_little(name: str, requested: int, taken: int, has: int) -> _Rejection:
    why = f"Node didn't have enough resource: {name}, requested: {requested}, used: {taken}, capacity: {has}"
    return _Rejection(f"{_REASON}{name}", why)


class NodeRules(KindRules):
    """Nodes: which of them are managed, and alive."""

    def __init__(
        self, store: Store, settings: StageSettings, leases: Leases, addresses: Addresses, capacity: Capacity
    ) -> None:
        self._store = store
        self._manages = settings.manages()
        self._disregards = _disregarding(settings)
        self._leases = leases
        self._addresses = addresses
        self._capacity = capacity
        self._find = store.bucket("nodes").find
        self.controller: StageController | None = None
        #: managed nodes by name; the value says whether the node is to be taken for alive
        self.managed: dict[str, bool] = {}

    def node(self, name: str) -> Object | None:
        return self._find("", name)

    def adopt(self, node: Object) -> None:
        """Take note of a node that was there before."""
        self._sees(node)

    def notices(self, change: Change) -> bool:
        if change.new is not None:
            self._sees(change.new)
            return True
        name = change.name
        if self.managed.pop(name, None) is not None:
            self._leases.remove(name)
        self._addresses.forget_node(name)
        self._capacity.forget(name)
        return False

    def _sees(self, node: Object) -> None:
        metadata = node["metadata"]
        name = metadata["name"]
        if name not in self.managed:
            if not self._manages(node):
                return
            self.managed[name] = True
            self._leases.add(node)
            self._look_at_pods(name)
        annotations = metadata.get("annotations")
        failed = annotations is not None and annotations.get(FAILED_ANNOTATION) == "true"
        if failed and self.managed[name]:
            self.managed[name] = False
            self._leases.fail(name)
        elif not failed and not self.managed[name]:
            self.managed[name] = True
            self._leases.recover(name)
            self._look_at_pods(name)

    def fail(self, name: str) -> None:
        """A managed node stops, as if its power were cut."""
        self._mark(name, failed=True)

    def recover(self, name: str) -> None:
        self._mark(name, failed=False)

    def _mark(self, name: str, *, failed: bool) -> None:
        node = self._store.get("nodes", "", name)
        annotations = dict(node["metadata"].get("annotations") or {})
        if failed:
            annotations[FAILED_ANNOTATION] = "true"
        else:
            annotations.pop(FAILED_ANNOTATION, None)
        self._store.update("nodes", {**node, "metadata": {**node["metadata"], "annotations": annotations}})

    def _look_at_pods(self, name: str) -> None:
        if self.controller is not None:
            for pod in self._store.having("pods", "node", name):
                metadata = pod["metadata"]
                self.controller.note("v1", "Pod", metadata["namespace"], metadata["name"])

    def may_play(self, obj: Object) -> bool:
        return self.managed.get(obj["metadata"]["name"], False) and not self._disregards(obj)

    def may_act(self, obj: Object) -> bool:
        return self.managed.get(obj["metadata"]["name"], False)


class PodRules(KindRules):
    """Pods: whether they are played, fit on their node, and what they ask for themselves."""

    def __init__(
        self,
        store: Store,
        settings: StageSettings,
        nodes: NodeRules,
        addresses: Addresses,
        capacity: Capacity,
        behaviour: Behaviour,
        claims: PreparedClaims,
        recorder: EventSink | None,
    ) -> None:
        self._store = store
        self._checks = settings.admission
        self._disregards = _disregarding(settings)
        self._labels_matter = bool(settings.disregard_labels)
        self._nodes = nodes
        self._addresses = addresses
        self._capacity = capacity
        self._recorder = recorder
        self._behaviour = behaviour
        self._claims = claims

    def concerns(self, obj: Object) -> bool:
        return bool(obj["spec"].get("nodeName"))

    def adjusted(self, obj: Object, transition: Transition | None, now: int) -> Transition | None:
        return self._behaviour.adjusted(obj, transition, now)

    def notices(self, change: Change) -> bool:
        pod = change.new
        if pod is not None:
            if not pod["spec"].get("nodeName"):
                return False
            # At once: whoever is told next may give the room to another pod.
            if pod["status"].get("phase") in _TERMINAL:
                self._capacity.release((change.namespace, change.name))
            return True
        last = change.old
        self._capacity.release((change.namespace, change.name))
        if last is not None and last["spec"].get("nodeName"):
            self._addresses.release(last, self._nodes.node(last["spec"]["nodeName"]))
        return False

    def is_over(self, obj: Object) -> bool:
        return obj["status"].get("phase") in _TERMINAL

    def adopt(self, pod: Object) -> None:
        """Take note of a pod that was there before: what it has, it keeps."""
        metadata = pod["metadata"]
        node = self._nodes.node(pod["spec"].get("nodeName") or "")
        if node is None:
            return
        self._addresses.use(pod, node)
        if pod["status"].get("phase") == "Running":
            self._capacity.admit((metadata["namespace"], metadata["name"]), pod, node, checked=False)

    def may_play(self, obj: Object) -> bool:
        node = obj["spec"]["nodeName"]
        if not self._nodes.managed.get(node, False):
            return False
        metadata = obj["metadata"]
        if ("annotations" in metadata or self._labels_matter) and self._disregards(obj):
            return False
        # As `uses_claims` asks, which is not called for the sake of speed.
        if ("resourceClaims" in obj["spec"] or EXTENDED in obj["status"]) and not self._claims.are_ready(obj):
            return False
        key = (metadata["namespace"], metadata["name"])
        return not self._checks or key in self._capacity.admitted or self._fits(key, obj, node)

    def may_act(self, obj: Object) -> bool:
        return self._nodes.managed.get(obj["spec"].get("nodeName"), False)

    def _fits(self, key: tuple[str, str], pod: Object, node_name: str) -> bool:
        status = pod["status"]
        phase = status.get("phase", "Pending")
        if phase in _TERMINAL:
            # A stage might take a pod that never got an address for a new one; this one was rejected for good.
            return "deletionTimestamp" in pod["metadata"] or not status.get("reason", "").startswith(_REASON)
        node = self._nodes.node(node_name)
        if node is None:
            return False
        new = phase == "Pending" and "deletionTimestamp" not in pod["metadata"]
        rejection = self._capacity.admit(key, pod, node, checked=new)
        if rejection is None:
            return True
        self._reject(pod, rejection)
        return False

    def _reject(self, pod: Object, rejection: _Rejection) -> None:
        metadata = pod["metadata"]
        if self._recorder is not None:
            self._recorder.warning(pod, rejection.reason, rejection.message)
        status = {
            **pod["status"],
            "phase": "Failed",
            "reason": rejection.reason,
            "message": f"Pod was rejected: {rejection.message}",
            "startTime": rfc3339(self._store.clock.now()),
        }
        self._store.patch_status("pods", metadata["namespace"], metadata["name"], status)


def _disregarding(settings: StageSettings) -> Callable[[Object], bool]:
    """What tells whether an object is to be left alone."""
    labels, annotations = label_matcher(settings.disregard_labels), label_matcher(settings.disregard_annotations)

    def disregarded(obj: Object) -> bool:
        metadata = obj["metadata"]
        noted, named = metadata.get("annotations"), metadata.get("labels")
        return bool(
            (annotations is not None and noted and annotations(noted))
            or (labels is not None and named and labels(named))
        )

    return disregarded
