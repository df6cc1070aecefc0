"""Reservation pods: how GPUs are kept for pods that share them.

A *GPU group* is one GPU that is shared. The first pod of a group is preceded by a reservation pod in a namespace of its
own, which asks for a whole GPU of the node, so that Kubernetes gives it to nobody else. The program in it finds out
which device it was given and notes that down; all pods of the group then use that device. When the last one is gone, so
is the reservation pod; a pod that runs without one is deleted.
"""

from __future__ import annotations

import uuid
from itertools import count

from ghostfleet.api.admission import Admission
from ghostfleet.api.strategy import apply_defaults, finish_create, prepare_for_create
from ghostfleet.controllers.kai.constants import GPU, GPU_FRACTIONS_NUM_DEVICES, GPU_GROUP, GPU_INDEX, RESERVATION
from ghostfleet.controllers.pods import delete_pod
from ghostfleet.controllers.requests import Request, Steps, delete
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.errors import not_found
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.timestamps import rfc3339

__all__ = ["ReservationProgram", "Reservations", "group_label", "groups_of"]

_MANY = f"{GPU_GROUP}/"
_IMAGE = "registry/local/kai-scheduler/resource-reservation"
#: Namespace and name.
Place = tuple[str, str]
_DEVICES = uuid.UUID("67707500-0000-5000-8000-000000000000")


def groups_of(pod: Object) -> list[str]:
    """The GPU groups that a pod is in."""
    labels = pod["metadata"].get("labels") or {}
    own = [labels[GPU_GROUP]] if GPU_GROUP in labels else []
    return own + [value for key, value in labels.items() if key.startswith(_MANY)]


def group_label(pod: Object, group: str) -> str:
    """The label that puts a pod into a GPU group: one for all, or one for each where it has several devices."""
    stated = (pod["metadata"].get("annotations") or {}).get(GPU_FRACTIONS_NUM_DEVICES, "")
    return f"{_MANY}{group}" if stated.isascii() and stated.isdigit() and int(stated) > 1 else GPU_GROUP


class Reservations:
    """The GPU groups of one store, and their reservation pods."""

    def __init__(self, store: Reader, admission: Admission) -> None:
        self._store = store
        self._admission = admission
        #: Pods of each group, by namespace and name.
        self._pods: dict[str, dict[Place, None]] = {}
        #: Bind requests that wait for the device of a group.
        self._expected: dict[str, dict[Place, None]] = {}
        store.listen("pods", self._notice, status=False)
        for pod in store.list("pods"):
            self._take_in(pod)

    def _notice(self, change: Change) -> None:
        old, new = change.old, change.new
        if old is not None and new is not None and old["metadata"].get("labels") is new["metadata"].get("labels"):
            return
        if old is not None:
            for group in groups_of(old):
                members = self._pods[group]
                members.pop((change.namespace, change.name), None)
                if not members:
                    del self._pods[group]
        if new is not None:
            self._take_in(new)

    def _take_in(self, pod: Object) -> None:
        metadata = pod["metadata"]
        for group in groups_of(pod):
            self._pods.setdefault(group, {})[metadata["namespace"], metadata["name"]] = None

    def _members(self, group: str) -> list[Object]:
        found = (self._store.find("pods", *place) for place in self._pods.get(group, ()))
        return [pod for pod in found if pod is not None]

    def reservation_pod(self, group: str) -> Object | None:
        """The pod that holds a group's GPU."""
        return next((each for each in self._members(group) if each["metadata"]["namespace"] == RESERVATION), None)

    def create(self, store: Store, node: str, group: str) -> Object:
        """Have a GPU of a node held for a group, unless one is by now."""
        held = self.reservation_pod(group)
        if held is not None:
            return held
        if store.find("namespaces", "", RESERVATION) is None:
            raise not_found("namespaces", RESERVATION)
        name = store.generate_name("pods", RESERVATION, f"gpu-reservation-{node}-")
        pod = prepare_for_create("pods", apply_defaults("pods", _reservation_pod(name, node, group)))
        pod = finish_create("pods", self._admission.admit("pods", pod), now=rfc3339(store.clock.now()))
        return store.create("pods", pod)

    def expect(self, group: str, request: Place) -> None:
        """A bind request waits for the device of a group."""
        self._expected.setdefault(group, {})[request] = None

    def forget(self, group: str, request: Place) -> None:
        """A bind request no longer waits."""
        waiting = self._expected.get(group, {})
        waiting.pop(request, None)
        if not waiting:
            self._expected.pop(group, None)

    def expected(self, group: str) -> list[Place]:
        """The bind requests that wait for the device of a group."""
        return list(self._expected.get(group, ()))

    def sync_node(self, node: str) -> Steps:
        """`sync` for all groups on a node."""
        if self._pods:
            pods = list(self._store.having("pods", "node", node))
            for group in dict.fromkeys(group for pod in pods for group in groups_of(pod)):
                yield from self.sync(group)

    def sync(self, group: str) -> Steps:
        """Let the reservation go when nobody needs it, and pods that run without one."""
        if group in self._expected:
            return
        members = self._members(group)
        held = [each for each in members if each["metadata"]["namespace"] == RESERVATION]
        users = [each for each in members if each not in held and each["status"].get("phase") in ("Running", "Pending")]
        if not held:
            for pod in users:
                if pod["status"]["phase"] == "Running":
                    yield Request("delete", "pods", delete_pod, pod)
        elif not users:
            for pod in held:
                yield self.release(pod)

    def release(self, pod: Object) -> Request:
        """Remove a reservation pod at once."""
        return delete("pods", pod["metadata"]["namespace"], pod["metadata"]["name"])


def _reservation_pod(name: str, node: str, group: str) -> Object:
    environment = [
        {"name": variable, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        for variable, path in (("POD_NAME", "metadata.name"), ("POD_NAMESPACE", "metadata.namespace"))
    ]
    container = {
        "name": "resource-reservation",
        "image": _IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "env": environment,
        "resources": {"limits": {GPU: "1"}, "requests": {GPU: "1"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": RESERVATION,
            "labels": {"app": RESERVATION, GPU_GROUP: group},
            "annotations": {"karpenter.sh/do-not-disrupt": "true"},
        },
        "spec": {"nodeName": node, "serviceAccountName": RESERVATION, "containers": [container]},
    }


class ReservationProgram:
    """What runs in reservation pods: it notes down which of the node's GPUs the pod was given.

    A kubelet would give any free one; here it is the first that no other reservation pod of the node has.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        store.listen("pods", self._notice)

    def _notice(self, change: Change) -> None:
        pod = change.new
        if change.namespace == RESERVATION and pod is not None and _is_undecided(pod):
            self._store.clock.call_soon(self._note, change.name)

    def _note(self, name: str) -> None:
        pod = self._store.find("pods", RESERVATION, name)
        if pod is None or not _is_undecided(pod):
            return
        node = pod["spec"]["nodeName"]
        taken = {
            (each["metadata"].get("annotations") or {}).get(GPU_INDEX)
            for each in self._store.having("pods", "node", node)
            if each["metadata"]["namespace"] == RESERVATION
        }
        device = next(each for each in (_device(node, index) for index in count()) if each not in taken)
        notes = {**(pod["metadata"].get("annotations") or {}), GPU_INDEX: device}
        self._store.update("pods", {**pod, "metadata": {**pod["metadata"], "annotations": notes}})


def _is_undecided(pod: Object) -> bool:
    notes = pod["metadata"].get("annotations") or {}
    return pod["status"].get("phase") == "Running" and "nodeName" in pod["spec"] and GPU_INDEX not in notes


def _device(node: str, index: int) -> str:
    return f"GPU-{uuid.uuid5(_DEVICES, f'{node}/{index}')}"
