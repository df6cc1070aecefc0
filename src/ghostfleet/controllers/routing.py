"""Routing: every change of a pod goes to the controller that the pod belongs to.

A pod names its controller in its owner references. One listener looks it up and tells the controller of that kind, so
that a change of a Job's pod costs nothing to those who look after Deployments. A pod that changes hands leaves its
old controller and comes to its new one. Pods of nobody are told to all who might adopt them. Those who look after
volumes are told of pods that have some, when they come and go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ghostfleet.controllers.pods import controller_of
from ghostfleet.core.bucket import Listener
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.store import Store

__all__ = ["PodRoutes", "Taker"]


class Taker(Protocol):
    """Is told of a pod: the reference to its controller, the pod before (None: it came), after (None: it went)."""

    def __call__(self, owner: Object, old: Object | None, new: Object | None, /) -> None: ...


class PodRoutes:
    """Routes the changes of all pods of one store."""

    def __init__(self, store: Store) -> None:
        self._takers: dict[tuple[str, str], Taker] = {}
        self._adopters: tuple[Callable[[Object], None], ...] = ()
        self._volume_takers: tuple[Listener, ...] = ()
        #: Names of the pods that belong to nobody, by namespace.
        self._orphans: dict[str, dict[str, None]] = {}
        self._store = store
        for pod in store.list("pods"):
            if controller_of(pod) is None:
                self._note_orphan(pod)
        store.listen("pods", self._route)

    def to(self, api_version: str, kind: str, taker: Taker) -> None:
        """Tell `taker` of all pods whose controller is of this kind, those that are there already first."""
        self._takers[api_version, kind] = taker
        for pod in self._store.list("pods"):
            owner = controller_of(pod)
            if owner is not None and (owner["apiVersion"], owner["kind"]) == (api_version, kind):
                taker(owner, None, pod)

    def with_volumes(self, taker: Listener) -> None:
        """Tell `taker` of pods that have volumes, when they are made and when they are gone."""
        if not self._volume_takers:
            self._store.listen("pods", self._look_for_volumes, status=False)
        self._volume_takers = (*self._volume_takers, taker)

    def _look_for_volumes(self, change: Change) -> None:
        pod = change.old if change.new is None else change.new if change.old is None else None
        if pod is not None and pod["spec"].get("volumes"):
            for taker in self._volume_takers:
                taker(change)

    def adopters(self, adopter: Callable[[Object], None]) -> None:
        """Tell `adopter` of pods that belong to nobody, when they are made or lose their controller or labels."""
        self._adopters = (*self._adopters, adopter)

    def _route(self, change: Change) -> None:
        new, old = change.new, change.old
        subject = new if new is not None else old
        assert subject is not None
        owners = subject["metadata"].get("ownerReferences")
        if old is not None and new is not None and old["metadata"].get("ownerReferences") is not owners:
            self._hand_over(old, new)
            return
        if owners:
            owner = owners[0] if owners[0].get("controller") else controller_of(subject)
            if owner is not None:
                taker = self._takers.get((owner["apiVersion"], owner["kind"]))
                if taker is not None:
                    taker(owner, old, new)
                return
        if new is None:
            self._forget_orphan(subject)
        elif old is None or old["metadata"].get("labels") is not new["metadata"].get("labels"):
            self._offer(new)

    def _hand_over(self, old: Object, new: Object) -> None:
        before, after = controller_of(old), controller_of(new)
        if before is not None and after is not None and before["uid"] == after["uid"]:
            self._tell(after, old, new)
            return
        if before is not None:
            self._tell(before, old, None)
        if after is None:
            self._offer(new)
            return
        if before is None:
            self._forget_orphan(new)
        self._tell(after, None, new)

    def orphans(self, namespace: str) -> list[Object]:
        """Pods of a namespace that belong to nobody."""
        pods = (self._store.find("pods", namespace, name) for name in self._orphans.get(namespace, ()))
        return [pod for pod in pods if pod is not None]

    def _offer(self, pod: Object) -> None:
        self._note_orphan(pod)
        for adopter in self._adopters:
            adopter(pod)

    def _note_orphan(self, pod: Object) -> None:
        self._orphans.setdefault(pod["metadata"]["namespace"], {})[pod["metadata"]["name"]] = None

    def _forget_orphan(self, pod: Object) -> None:
        names = self._orphans.get(pod["metadata"]["namespace"])
        if names is not None:
            names.pop(pod["metadata"]["name"], None)
            if not names:
                del self._orphans[pod["metadata"]["namespace"]]

    def _tell(self, owner: Object, old: Object | None, new: Object | None) -> None:
        taker = self._takers.get((owner["apiVersion"], owner["kind"]))
        if taker is not None:
            taker(owner, old, new)
