"""Membership: the pods of each owner, and how many of them are in which state, without looking at them again.

A *member* is a pod whose controller is the owner and whose labels fit the owner's selector; a pod of the owner that
does not fit (any more) is a *misfit*, to be released. Memberships follow every change of a pod, so that an owner with
thousands of pods costs no more per change than one with few. Pods of nobody that fit are adopted.
"""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.controllers.pods import controller_of, is_active, is_ready, owner_reference
from ghostfleet.controllers.requests import Request, Steps
from ghostfleet.controllers.routing import PodRoutes
from ghostfleet.core.changes import Object
from ghostfleet.core.selectors import LabelSelector
from ghostfleet.core.store import Reader, Store

__all__ = ["Members", "Memberships"]

_ACTIVE, _READY, _LABELLED, _TERMINATING = 1, 2, 4, 8


class Members:
    """The pods of one owner."""

    __slots__ = (
        "_labels",
        "_states",
        "active",
        "key",
        "labelled",
        "misfits",
        "pods",
        "ready",
        "selector",
        "terminating",
    )

    def __init__(self, key: tuple[str, str], selector: LabelSelector, labels: dict[str, str]) -> None:
        self.key = key
        self.selector = selector
        self._labels = labels.items()
        #: By uid; those that have ended are among them.
        self.pods: dict[str, Object] = {}
        self._states: dict[str, int] = {}
        self.misfits: dict[str, Object] = {}
        self.active = 0
        self.ready = 0
        #: Active pods that have all the labels of the owner's template.
        self.labelled = 0
        self.terminating = 0

    def active_pods(self) -> list[Object]:
        return [pod for uid, pod in self.pods.items() if self._states[uid] & _ACTIVE]

    def note(self, uid: str, pod: Object | None) -> None:
        """Take note of a pod's new state, None when it is gone."""
        if pod is not None and not self.selector.matches(pod["metadata"].get("labels")):
            self.misfits[uid] = pod
            pod = None
        elif self.misfits:
            self.misfits.pop(uid, None)
        before = self._states.get(uid, 0)
        if pod is None:
            after = 0
            self.pods.pop(uid, None)
            self._states.pop(uid, None)
        else:
            after = self._state(pod)
            self.pods[uid] = pod
            self._states[uid] = after
        if before != after:
            self.active += (after & _ACTIVE) - (before & _ACTIVE)
            self.ready += ((after & _READY) - (before & _READY)) // _READY
            self.labelled += ((after & _LABELLED) - (before & _LABELLED)) // _LABELLED
            self.terminating += ((after & _TERMINATING) - (before & _TERMINATING)) // _TERMINATING

    def _state(self, pod: Object) -> int:
        if not is_active(pod):
            marked = "deletionTimestamp" in pod["metadata"] and pod["status"].get("phase") not in (
                "Succeeded",
                "Failed",
            )
            return _TERMINATING if marked else 0
        state = _ACTIVE | _READY if is_ready(pod) else _ACTIVE
        labels = pod["metadata"].get("labels")
        return state | _LABELLED if labels is not None and self._labels <= labels.items() else state


class Memberships:
    """The members of all owners of one kind. `wake` is called with the key of an owner whose pods changed."""

    def __init__(
        self,
        store: Reader,
        routes: PodRoutes,
        api_version: str,
        kind: str,
        resource: str,
        selector: Callable[[Object], LabelSelector],
        wake: Callable[[tuple[str, str]], None],
    ) -> None:
        self._store = store
        self._routes = routes
        self._resource = resource
        self._selector = selector
        self._wake = wake
        self._members: dict[str, Members] = {}
        for owner in store.list(resource):
            self.add(owner)
        routes.to(api_version, kind, self._take)
        routes.adopters(self._consider)

    def add(self, owner: Object) -> None:
        """Begin, or begin again after its spec has changed, to keep the members of an owner."""
        metadata = owner["metadata"]
        labels = (owner["spec"].get("template") or {}).get("metadata", {}).get("labels") or {}
        members = Members((metadata["namespace"], metadata["name"]), self._selector(owner), labels)
        self._members[metadata["uid"]] = members
        for _, pod in self._store.owned_by(metadata["uid"], "pods"):
            controller = controller_of(pod)
            if controller is not None and controller["uid"] == metadata["uid"]:
                members.note(pod["metadata"]["uid"], pod)

    def remove(self, owner: Object) -> None:
        self._members.pop(owner["metadata"]["uid"], None)

    def of(self, owner: Object) -> Members:
        return self._members[owner["metadata"]["uid"]]

    def settle_claims(self, owner: Object) -> Steps:
        """Release the owner's misfits and adopt pods of nobody that fit, unless the owner is on its way out."""
        if "deletionTimestamp" in owner["metadata"]:
            return
        members = self.of(owner)
        for pod in list(members.misfits.values()):
            if "deletionTimestamp" not in pod["metadata"]:
                yield Request("patch", "pods", _own, pod, [])
        for pod in self._routes.orphans(owner["metadata"]["namespace"]):
            if is_active(pod) and members.selector.matches(pod["metadata"].get("labels")):
                yield Request("patch", "pods", _own, pod, [owner_reference(owner)])

    def _take(self, owner: Object, old: Object | None, new: Object | None) -> None:
        members = self._members.get(owner["uid"])
        if members is None:
            return
        pod = new if new is not None else old
        assert pod is not None
        members.note(pod["metadata"]["uid"], new)
        self._wake(members.key)

    def _consider(self, pod: Object) -> None:
        """Wake every owner that might adopt a pod."""
        labels = pod["metadata"].get("labels")
        if not labels or not self._members or not is_active(pod):
            return
        for owner in self._store.list(self._resource, pod["metadata"]["namespace"]):
            members = self._members.get(owner["metadata"]["uid"])
            if members is not None and members.selector.matches(labels):
                self._wake(members.key)


def _own(store: Store, pod: Object, controllers: list[Object]) -> None:
    """Give a pod this controller, and none other."""
    current = store.current("pods", pod)
    if current is None:
        return
    others = [each for each in current["metadata"].get("ownerReferences") or () if not each.get("controller")]
    owned = {**current["metadata"], "ownerReferences": [*others, *controllers]}
    if not owned["ownerReferences"]:
        del owned["ownerReferences"]
    store.update("pods", {**current, "metadata": owned})
