"""Deployments that stand in for programs which are parts of this process, such as KWOK's controller.

Scripts find out by the name of a Deployment whether a program is installed, and scale it to stop and start it. The pods
of a stand-in run at once, node or not: no scheduler goes by the name they ask for, and nothing runs in them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from ghostfleet.api.strategy import apply_defaults, prepare_for_create
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339

__all__ = ["DEPLOYMENTS", "NAMESPACE", "StandInPods", "install_object", "kwok_stand_in", "stand_in_deployment"]

NAMESPACE = "kube-system"
DEPLOYMENTS = "deployments.apps"
_KWOK = "kwok-controller"
_NO_SCHEDULER = "ghostfleet-stand-in"
_CONDITIONS = ("Initialized", "Ready", "ContainersReady", "PodScheduled")


def kwok_stand_in(store: Store, scaled: Callable[[bool], None]) -> None:
    """Let a Deployment stand in for KWOK's controller; calls `scaled(running)` when it is scaled to zero or back."""
    install_object(store, DEPLOYMENTS, stand_in_deployment(_KWOK, {"app": _KWOK}))
    StandInPods(store, (_KWOK,))

    def notice(change: Change) -> None:
        if change.name == _KWOK and change.namespace == NAMESPACE and _replicas(change.old) != _replicas(change.new):
            store.clock.call_soon(scaled, _replicas(change.new) > 0)

    store.listen(DEPLOYMENTS, notice, status=False)


def _replicas(deployment: Object | None) -> int:
    return int(deployment["spec"].get("replicas", 1)) if deployment is not None else 0


def install_object(store: Store, kind: str, obj: Object) -> None:
    """Create an object of kube-system, unless there is one of its name."""
    if store.find(kind, NAMESPACE, obj["metadata"]["name"]) is None:
        store.create(kind, prepare_for_create(kind, apply_defaults(kind, obj)))


def stand_in_deployment(name: str, labels: dict[str, str], **container: object) -> Object:
    """The Deployment that stands in for a program."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "schedulerName": _NO_SCHEDULER,
                    "containers": [{"name": name, "image": f"ghostfleet.dev/{name}", **container}],
                },
            },
        },
    }


class StandInPods:
    """Lets the pods of stand-ins run; `changed(deployment, change)` is called for each that comes or goes."""

    def __init__(
        self, store: Store, deployments: Collection[str], changed: Callable[[str, Change], None] | None = None
    ) -> None:
        self._store = store
        self._deployments = frozenset(deployments)
        self._changed = changed
        store.listen("pods", self._notice, status=False)

    def _notice(self, change: Change) -> None:
        if change.namespace != NAMESPACE or (change.old is not None and change.new is not None):
            return
        pod = change.new or change.old
        assert pod is not None
        deployment = _deployment_of(pod)
        if deployment not in self._deployments:
            return
        if change.new is not None:
            self._store.clock.call_soon(self._run, change.name)
        if self._changed is not None:
            self._changed(deployment, change)

    def _run(self, name: str) -> None:
        """Report a pod as running and ready."""
        pod = self._store.find("pods", NAMESPACE, name)
        if pod is None or pod["status"].get("phase") != "Pending":
            return
        now = rfc3339(self._store.clock.now())
        conditions = [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": now} for kind in _CONDITIONS
        ]
        statuses = [
            {
                "name": each["name"],
                "image": each["image"],
                "imageID": "",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            }
            for each in pod["spec"]["containers"]
        ]
        status = {
            **pod["status"],
            "phase": "Running",
            "conditions": conditions,
            "containerStatuses": statuses,
            "startTime": now,
        }
        self._store.set_status("pods", pod, status)


def _deployment_of(pod: Object) -> str:
    """The name of the Deployment a pod belongs to, if any: what its ReplicaSet is called, without the hash."""
    for owner in pod["metadata"].get("ownerReferences") or ():
        if owner["kind"] == "ReplicaSet":
            return str(owner["name"]).rpartition("-")[0]
    return ""
