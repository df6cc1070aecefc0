"""Namespaces: each gets its default service account, and one that is deleted is emptied before it goes.

Termination is what kube-controller-manager does: everything in the namespace is deleted, pods first; as long as
something is left (a finalizer holds it, a pod has its grace), the namespace says what in its conditions; with the
last object the namespace's own finalizer is taken away and it is gone.
"""

from __future__ import annotations

from collections import Counter

from ghostfleet.api.kinds import Registry, storage_key
from ghostfleet.api.lifecycle import grace_period
from ghostfleet.controllers.queue import WorkQueue
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.store import Store
from ghostfleet.core.subscription import Subscription
from ghostfleet.core.timestamps import rfc3339

__all__ = ["NamespaceController"]


class NamespaceController:
    """Begins and ends namespaces in one store."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry
        self._queue: WorkQueue[str] = WorkQueue(store.clock, self._work)
        self._ending: set[str] = set()
        store.listen("namespaces", self._notice)
        store.listen("serviceaccounts", self._notice_account)
        self._content = Subscription(lambda: store.listen_to_all(self._notice_content))

    def _notice(self, change: Change) -> None:
        if change.new is None:
            self._ending.discard(change.name)
            self._content.subscribe_if(self._ending)
            return
        if "deletionTimestamp" in change.new["metadata"]:
            self._ending.add(change.name)
            self._content.subscribe_if(self._ending)
        if change.old is None or change.name in self._ending:
            self._queue.add(change.name)

    def _notice_account(self, change: Change) -> None:
        if change.new is None and change.name == "default":
            self._queue.add(change.namespace)

    def _notice_content(self, change: Change) -> None:
        if change.namespace in self._ending:
            self._queue.add(change.namespace)

    def _work(self, name: str) -> None:
        namespace = self._store.find("namespaces", "", name)
        if namespace is None:
            return
        if "deletionTimestamp" in namespace["metadata"]:
            self._end(namespace)
        elif self._store.find("serviceaccounts", name, "default") is None:
            metadata = {"name": "default", "namespace": name}
            self._store.create("serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})

    def _end(self, namespace: Object) -> None:
        name = namespace["metadata"]["name"]
        for key in self._keys():
            for obj in self._store.list(key, name):
                if "deletionTimestamp" not in obj["metadata"]:
                    grace = grace_period(key, obj, None)
                    self._store.delete(key, name, obj["metadata"]["name"], grace=grace)
        left = {key: objects for key in self._keys() if (objects := self._store.list(key, name))}
        if left:
            self._tell_what_is_left(namespace, left)
        elif not namespace["metadata"].get("finalizers"):
            self._store.delete("namespaces", "", name)
        elif namespace.get("spec", {}).get("finalizers"):
            spec = {key: value for key, value in namespace["spec"].items() if key != "finalizers"}
            self._store.update("namespaces", {**namespace, "spec": spec})

    def _keys(self) -> list[str]:
        """Every namespaced collection, pods first, as Kubernetes orders it."""
        keys = {
            storage_key(resource) for resource in self._registry if resource.namespaced and "delete" in resource.verbs
        }
        return sorted(keys, key=lambda key: (key != "pods", key))

    def _tell_what_is_left(self, namespace: Object, left: dict[str, list[Object]]) -> None:
        status = namespace.get("status", {})
        before = {each["type"]: each for each in status.get("conditions", [])}
        now = rfc3339(self._store.clock.now())
        conditions = [
            {
                "type": kind,
                "status": value,
                "lastTransitionTime": before[kind]["lastTransitionTime"]
                if kind in before and before[kind]["status"] == value
                else now,
                "reason": reason,
                "message": message,
            }
            for kind, value, reason, message in _conditions(left)
        ]
        terminating = {**status, "phase": "Terminating", "conditions": conditions}
        self._store.patch_status("namespaces", "", namespace["metadata"]["name"], terminating)


def _conditions(left: dict[str, list[Object]]) -> list[tuple[str, str, str, str]]:
    content = ", ".join(f"{_dotted(key)} has {len(objects)} resource instances" for key, objects in left.items())
    holders = Counter(
        finalizer for objects in left.values() for obj in objects for finalizer in obj["metadata"].get("finalizers", ())
    )
    held = ", ".join(f"{finalizer} in {count} resource instances" for finalizer, count in sorted(holders.items()))
    return [
        (
            "NamespaceDeletionDiscoveryFailure",
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        (
            "NamespaceContentRemaining",
            "True",
            "SomeResourcesRemain",
            f"Some resources are remaining: {content}",
        ),
        (
            "NamespaceFinalizersRemaining",
            "True" if held else "False",
            "SomeFinalizersRemain" if held else "ContentHasNoFinalizers",
            f"Some content in the namespace has finalizers remaining: {held}"
            if held
            else "All content-preserving finalizers finished",
        ),
    ]


def _dotted(key: str) -> str:
    """`configmaps.` and `jobs.batch`: how Kubernetes writes a group and resource here."""
    return key if "." in key else f"{key}."
