"""Readiness: pods that stayed on a node while it was away are ready again when it is back.

While a node is silent, kube-controller-manager marks its pods as not ready; their containers run on all the while. The
kubelet of a node that comes back knows better and sets the condition again. Such a mark can be told by its missing
reason: a kubelet gives one whenever a pod is not ready for a cause of its own.
"""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.core.changes import Change, Object
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339

__all__ = ["Readiness", "restored"]


class Readiness:
    """Watches the nodes of one store; `is_played` says for which pods there is nobody else to do it."""

    def __init__(self, store: Store, is_played: Callable[[Object], bool]) -> None:
        self._store = store
        self._is_played = is_played
        store.listen("nodes", self._notice)

    def _notice(self, change: Change) -> None:
        old, new = change.old, change.new
        if old is None or new is None or old.get("status") is new.get("status"):
            return
        if _status_of(old, "Ready") in ("False", "Unknown") and _status_of(new, "Ready") == "True":
            self._store.clock.call_soon(self._restore, change.name)

    def _restore(self, node: str) -> None:
        now = rfc3339(self._store.clock.now())
        for pod in list(self._store.having("pods", "node", node)):
            status = restored(pod, now)
            if status is not None and self._is_played(pod):
                self._store.set_status("pods", pod, status)


def restored(pod: Object, now: str) -> Object | None:
    """The status of a pod that is ready again; None if it has not been marked, or is not ready for other reasons."""
    status = pod["status"]
    if status.get("phase") != "Running" or "deletionTimestamp" in pod["metadata"]:
        return None
    conditions = status.get("conditions") or []
    marked = next((each for each in conditions if each["type"] == "Ready" and each["status"] == "False"), None)
    if marked is None or marked.get("reason") or not _runs_well(pod):
        return None
    ready = {**marked, "status": "True", "lastTransitionTime": now}
    return {**status, "conditions": [ready if each is marked else each for each in conditions]}


def _runs_well(pod: Object) -> bool:
    """Whether all containers are ready, and so is what else the pod names as a condition of its readiness."""
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or ()]
    containers = pod["status"].get("containerStatuses") or ()
    return all(each.get("ready") for each in containers) and all(
        _status_of(pod, each) == "True" for each in ("ContainersReady", *gates)
    )


def _status_of(obj: Object, kind: str) -> str:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return next((each["status"] for each in conditions if each["type"] == kind), "")
