"""Garbage collection: objects go when their owners go.

A *dependent* names its *owners* by uid in ownerReferences. When all owners are gone the dependent is deleted; when
some are, it forgets those. An owner in *foreground* deletion waits for the dependents that block it, an owner whose
dependents are to be *orphaned* waits until they have forgotten it; both waits are finalizers that this collector
removes.
"""

from __future__ import annotations

from typing import Literal

from ghostfleet.api.deleting import FOREGROUND_FINALIZER, ORPHAN_FINALIZER
from ghostfleet.api.kinds import Registry, storage_key
from ghostfleet.api.lifecycle import grace_period
from ghostfleet.controllers.queue import WorkQueue
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.errors import ApiError
from ghostfleet.core.store import Store

__all__ = ["GarbageCollector"]

#: (what to do, resource, namespace, name): look at a dependent's owners, or at a marked owner's finalizers
Task = tuple[Literal["dependent", "owner"], str, str, str]


class GarbageCollector:
    """Collects garbage in one store."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry
        self._queue: WorkQueue[Task] = WorkQueue(store.clock, self._work)
        #: The collection of a kind, and whether it is namespaced, by apiVersion and kind; None for unknown kinds.
        self._collections: dict[tuple[str, str], tuple[str, bool] | None] = {}
        registry.on_change(self._collections.clear)
        store.listen_to_all(self._notice, status=False)

    def _notice(self, change: Change) -> None:
        new, old = change.new, change.old
        if new is None:
            assert old is not None
            self._notice_end(old)
            return
        metadata = new["metadata"]
        owners = metadata.get("ownerReferences")
        if (
            owners
            and (old is None or old["metadata"].get("ownerReferences") is not owners)
            and self._lacks(owners, change.namespace)
        ):
            self._queue.add(("dependent", change.resource, change.namespace, change.name))
        if "deletionTimestamp" in metadata and _waiting(metadata):
            self._queue.add(("owner", change.resource, change.namespace, change.name))

    def _notice_end(self, gone: Object) -> None:
        metadata = gone["metadata"]
        for resource, dependent in self._store.owned_by(metadata["uid"]):
            place = dependent["metadata"]
            self._queue.add(("dependent", resource, place.get("namespace", ""), place["name"]))
        for owner in metadata.get("ownerReferences", ()):
            found = self._find(owner, metadata.get("namespace", ""))
            if found is not None and _waiting(found[1]["metadata"]):
                place = found[1]["metadata"]
                self._queue.add(("owner", found[0], place.get("namespace", ""), place["name"]))

    def _work(self, task: Task) -> None:
        what, resource, namespace, name = task
        obj = self._store.find(resource, namespace, name)
        if obj is None:
            return
        if what == "dependent":
            self._look_at_owners(resource, obj)
        else:
            self._let_go(resource, obj)

    def _look_at_owners(self, resource: str, obj: Object) -> None:
        """Delete an object that has lost all its owners, or take the lost ones off."""
        metadata = obj["metadata"]
        owners = metadata.get("ownerReferences", [])
        left = [owner for owner in owners if self._exists(owner, metadata.get("namespace", ""))]
        if len(left) == len(owners) or "deletionTimestamp" in metadata:
            return
        if left:
            self._write(resource, obj, {"ownerReferences": left})
        else:
            self._delete(resource, obj)

    def _let_go(self, resource: str, owner: Object) -> None:
        finalizers = owner["metadata"].get("finalizers", [])
        if "deletionTimestamp" not in owner["metadata"]:
            return
        if ORPHAN_FINALIZER in finalizers:
            self._orphan_dependents(owner)
            self._drop_finalizer(resource, owner, ORPHAN_FINALIZER)
        elif FOREGROUND_FINALIZER in finalizers and not self._blocked(owner):
            self._drop_finalizer(resource, owner, FOREGROUND_FINALIZER)

    def _orphan_dependents(self, owner: Object) -> None:
        uid = owner["metadata"]["uid"]
        for resource, dependent in self._store.owned_by(uid):
            others = [each for each in dependent["metadata"]["ownerReferences"] if each["uid"] != uid]
            self._write(resource, dependent, {"ownerReferences": others})

    def _blocked(self, owner: Object) -> bool:
        """Delete the dependents of an owner in foreground deletion; true while one that blocks it is there."""
        uid = owner["metadata"]["uid"]
        for resource, dependent in self._store.owned_by(uid):
            metadata = dependent["metadata"]
            shared = any(
                each["uid"] != uid and self._exists(each, metadata.get("namespace", ""))
                for each in metadata["ownerReferences"]
            )
            if shared:
                others = [each for each in metadata["ownerReferences"] if each["uid"] != uid]
                self._write(resource, dependent, {"ownerReferences": others})
            elif "deletionTimestamp" not in metadata:
                # Dependents with dependents of their own go the same way, so that leaves go first.
                blocking = any(self._store.owned_by(metadata["uid"]))
                self._delete(resource, dependent, FOREGROUND_FINALIZER if blocking else "")
        return any(
            each["uid"] == uid and each.get("blockOwnerDeletion")
            for _, dependent in self._store.owned_by(uid)
            for each in dependent["metadata"]["ownerReferences"]
        )

    def _drop_finalizer(self, resource: str, owner: Object, finalizer: str) -> None:
        metadata = owner["metadata"]
        current = self._store.find(resource, metadata.get("namespace", ""), metadata["name"])
        if current is not None:
            left = [each for each in current["metadata"].get("finalizers", []) if each != finalizer]
            self._write(resource, current, {"finalizers": left})

    def _delete(self, resource: str, obj: Object, finalizer: str = "") -> None:
        metadata = obj["metadata"]
        try:
            self._store.delete(
                resource,
                metadata.get("namespace", ""),
                metadata["name"],
                uid=metadata["uid"],
                grace=grace_period(resource, obj, None),
                finalizer=finalizer,
            )
        except ApiError as error:
            # Someone else was quicker: the object is gone, or a new one has taken its name.
            if error.code not in (404, 409):
                raise

    def _write(self, resource: str, obj: Object, changed: Object) -> None:
        """Set metadata fields of an object; an empty value takes the field away."""
        metadata = {**obj["metadata"], **changed}
        self._store.update(
            resource,
            {**obj, "metadata": {key: value for key, value in metadata.items() if value or key not in changed}},
        )

    def _lacks(self, owners: list[Object], namespace: str) -> bool:
        for owner in owners:  # noqa: SIM110 - any() with a generator costs twice the time here
            if not self._exists(owner, namespace):
                return True
        return False

    def _exists(self, owner: Object, namespace: str) -> bool:
        found = self._find(owner, namespace)
        if found is not None:
            return bool(found[1]["metadata"]["uid"] == owner["uid"])
        # A kind that is not served cannot be looked up, and what cannot be looked up is not collected.
        return self._collection(owner) is None

    def _find(self, owner: Object, namespace: str) -> tuple[str, Object] | None:
        """The object that an owner reference names: in the dependent's namespace, or cluster-wide."""
        collection = self._collection(owner)
        if collection is None:
            return None
        key, namespaced = collection
        found = self._store.find(key, namespace if namespaced else "", owner.get("name", ""))
        return (key, found) if found is not None else None

    def _collection(self, owner: Object) -> tuple[str, bool] | None:
        kind = (owner.get("apiVersion", ""), owner.get("kind", ""))
        try:
            return self._collections[kind]
        except KeyError:
            resource = self._registry.by_group_kind(kind[0].rpartition("/")[0], kind[1])
            found = (storage_key(resource), resource.namespaced) if resource is not None else None
            self._collections[kind] = found
            return found


def _waiting(metadata: Object) -> bool:
    finalizers = metadata.get("finalizers", ())
    return FOREGROUND_FINALIZER in finalizers or ORPHAN_FINALIZER in finalizers
