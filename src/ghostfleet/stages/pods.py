"""Pods and nodes of a fleet: what is special about playing them.

A node is *managed* if it is one of the fleet's, and alive until it fails: by `fail`, or by the annotation
`ghostfleet.dev/failed: "true"`, which a stage can set as well as a user. A node that failed is silent: it renews no
lease, and nothing happens to it or to the pods on it until it recovers. A pod is played on a managed node that is
alive; when it comes there it must fit, or it is rejected, and it waits for devices that it has claims on.
"""

from __future__ import annotations

from ghostfleet.api.podclaims import EXTENDED
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.stages.addresses import Addresses
from ghostfleet.stages.behaviour import Behaviour
from ghostfleet.stages.capacity import REASON, Capacity, Rejection
from ghostfleet.stages.claims import PreparedClaims
from ghostfleet.stages.controller import KindRules, StageController
from ghostfleet.stages.leases import Leases
from ghostfleet.stages.lifecycle import Transition
from ghostfleet.stages.nodes import FAILED_ANNOTATION
from ghostfleet.stages.playstage import EventSink
from ghostfleet.stages.settings import StageSettings

__all__ = ["NodeRules", "PodRules"]

_TERMINAL = frozenset(("Succeeded", "Failed"))


class NodeRules(KindRules):
    """Nodes: which of them are managed, and alive."""

    def __init__(
        self, store: Store, settings: StageSettings, leases: Leases, addresses: Addresses, capacity: Capacity
    ) -> None:
        self._store = store
        self._manages = settings.manages()
        self._disregards = settings.disregards()
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
        self._disregards = settings.disregards()
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
            return "deletionTimestamp" in pod["metadata"] or not status.get("reason", "").startswith(REASON)
        node = self._nodes.node(node_name)
        if node is None:
            return False
        new = phase == "Pending" and "deletionTimestamp" not in pod["metadata"]
        rejection = self._capacity.admit(key, pod, node, checked=new)
        if rejection is None:
            return True
        self._reject(pod, rejection)
        return False

    def _reject(self, pod: Object, rejection: Rejection) -> None:
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
