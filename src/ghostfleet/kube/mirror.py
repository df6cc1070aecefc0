"""The mirror: a store that shows what a foreign cluster holds, and sends what is written to it there.

What the mirror shows comes from the cluster alone, through `take` and `drop`; a write is sent and changes nothing here
until the cluster tells of its outcome. So whoever acts on the mirror acts on the truth, if a little late, as a
controller of Kubernetes does. Status writes say which state they are for; if the object was changed by others
meanwhile, the cluster refuses them and the new state is looked at. The exception is what only we write, leases and
events: these are kept here at once, and never read from the cluster.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from ghostfleet.api.kinds import Registry, Resource, storage_key
from ghostfleet.core.bucket import Bucket, index_by_label, index_by_node
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import Clock
from ghostfleet.core.errors import ApiError
from ghostfleet.core.store import Store
from ghostfleet.kube.sender import LEASES_LANE, OBJECTS_LANE, Sender, Write
from ghostfleet.stages.leases import LEASES

__all__ = ["MERGE_PATCH", "Mirror", "difference", "path_of", "without_given"]

MERGE_PATCH = "application/merge-patch+json"
EVENTS = "events"
_OWN = frozenset((LEASES, EVENTS))
#: So many of our events are remembered, to be counted up when they are told again.
_REMEMBERED_EVENTS = 4096
#: Parts that stay the same when the others change.
_SHARED = ("spec", "status")


def path_of(resource: Resource, namespace: str, name: str = "", version: str = "", subresource: str = "") -> str:
    """Where a resource, an object or a part of one is."""
    group = f"/apis/{resource.group}" if resource.group else "/api"
    parts = [group, version or resource.storage_version]
    if resource.namespaced and namespace:
        parts += ["namespaces", namespace]
    parts += [resource.plural, name, subresource]
    return "/".join(part for part in parts if part)


def difference(old: Object, new: Object) -> Object:
    """The merge patch that makes `new` of `old`."""
    patch: Object = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            if before is not value and (inner := difference(before, value)):
                patch[key] = inner
        elif key not in old or before != value:
            patch[key] = value
    return patch


class Mirror(Store):
    """A store that holds what a foreign cluster's watches show, and sends each write to that cluster."""

    def __init__(self, clock: Clock, registry: Registry, sender: Sender) -> None:
        # Nobody watches the mirror itself, so that it needs no history.
        super().__init__(clock, history=1)
        self.register("pods", {"node": index_by_node(), "job": index_by_label("batch.kubernetes.io/job-name")})
        for resource in registry:
            self.register(storage_key(resource))
        self._registry = registry
        self._sender = sender
        self._events: deque[tuple[str, str]] = deque()

    # -- from the cluster ----------------------------------------------------------------------------------------------

    def take(self, resource: str, obj: Object) -> None:
        """Show an object as the cluster has it now; it belongs to the mirror from here on."""
        metadata = obj["metadata"]
        metadata.pop("managedFields", None)
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        bucket = self.bucket(resource)
        old = bucket.find(namespace, name)
        if old is not None:
            if old["metadata"]["resourceVersion"] == metadata["resourceVersion"]:
                return
            for part in _SHARED:
                # Those who look for changes compare by identity.
                if part in obj and obj[part] == old.get(part):
                    obj[part] = old[part]
        bucket.put(namespace, name, old, obj)
        self._tell_change(bucket, namespace, name, old, obj)

    def drop(self, resource: str, namespace: str, name: str) -> None:
        """An object is gone."""
        bucket = self.bucket(resource)
        old = bucket.find(namespace, name)
        if old is not None:
            bucket.drop(namespace, name)
            self._tell_change(bucket, namespace, name, old, None)
            if resource == "nodes" and (lease := self.bucket(LEASES).find("kube-node-lease", name)) is not None:
                super()._remove(self.bucket(LEASES), "kube-node-lease", name, lease)

    def _tell_change(self, bucket: Bucket, namespace: str, name: str, old: Object | None, new: Object | None) -> None:
        self.revision += 1
        change = Change(self.revision, bucket.resource, namespace, name, old, new)
        self._notify(bucket.listeners, change)

    # -- to the cluster ------------------------------------------------------------------------------------------------

    def is_current(self, resource: str, namespace: str, name: str, obj: Object) -> bool:
        """Whether an object is what the cluster has, as far as one can tell."""
        return not self._sender.is_pending((resource, namespace, name)) and super().is_current(
            resource, namespace, name, obj
        )

    def set_status(self, resource: str, old: Object, status: Object) -> Object:
        changed = difference(old.get("status") or {}, status)
        metadata = old["metadata"]
        patch: Object = {"status": changed}
        if not self._sender.is_pending((resource, metadata.get("namespace", ""), metadata["name"])):
            # Our own writes that are under way would make it too old.
            patch["metadata"] = {"resourceVersion": metadata["resourceVersion"]}
        known = self._known(resource)
        self._send(known, metadata, "PATCH", patch, MERGE_PATCH, "status" if known.has_status else "")
        return {**old, "status": status}

    def _commit(self, bucket: Bucket, namespace: str, name: str, old: Object | None, new: Object) -> Object:
        if bucket.resource in _OWN:
            before = old
            stored = super()._commit(bucket, namespace, name, old, new)
            self._send_own(bucket.resource, before, stored)
            return stored
        known, metadata = self._known(bucket.resource), new["metadata"]
        if old is None:
            self._send(known, metadata, "POST", without_given(new))
        else:
            self._send(known, metadata, "PATCH", difference(old, new), MERGE_PATCH)
        return new

    def _remove(self, bucket: Bucket, namespace: str, name: str, last: Object) -> Object:
        if bucket.resource in _OWN:
            return super()._remove(bucket, namespace, name, last)
        self._send(self._known(bucket.resource), last["metadata"], "DELETE", {})
        return last

    def _send(
        self,
        resource: Resource,
        metadata: Object,
        method: str,
        body: Any,
        media: str = "application/json",
        part: str = "",
    ) -> None:
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        path = path_of(resource, namespace, "" if method == "POST" else name, subresource=part)
        self._sender.send(Write((storage_key(resource), namespace, name), method, path, body, media))

    def _send_own(self, key: str, old: Object | None, new: Object) -> None:
        """Create or change what only we write; whatever is there already is taken over."""
        resource = self._known(key)
        metadata = new["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        whole = without_given(new)
        place = (key, namespace, name)
        lane = LEASES_LANE if key == LEASES else OBJECTS_LANE
        create = Write(place, "POST", path_of(resource, namespace), whole, lane=lane)
        patch = Write(place, "PATCH", path_of(resource, namespace, name), whole, MERGE_PATCH, lane)
        first, second, code = (create, patch, 409) if old is None else (patch, create, 404)
        first.instead = {code: second}
        first.replaces = key == LEASES
        self._sender.send(first)
        if key == EVENTS and old is None:
            self._remember_event(namespace, name)

    def _remember_event(self, namespace: str, name: str) -> None:
        self._events.append((namespace, name))
        if len(self._events) > _REMEMBERED_EVENTS:
            oldest = self._events.popleft()
            bucket = self.bucket(EVENTS)
            if (event := bucket.find(*oldest)) is not None:
                super()._remove(bucket, *oldest, event)

    def _known(self, key: str) -> Resource:
        resource = self._registry.by_key(key)
        if resource is None:
            raise ApiError(404, "NotFound", f"there is no resource {key}")
        return resource


def without_given(obj: Object) -> Object:
    """An object without what the cluster itself gives it."""
    given = ("uid", "resourceVersion", "creationTimestamp", "managedFields")
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key not in given}}
