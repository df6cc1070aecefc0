"""The verbs: the one way into a cluster, for kubectl and for our own code alike.

`Api` offers what the Kubernetes API offers (get, list, watch, create, update, patch, delete, and the subresources) as
plain synchronous calls that answer dicts or raise `ApiError`. The HTTP server is a thin layer over it; tests and
in-process tools call it directly.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.api.admission import Admission
from ghostfleet.api.deleting import delete_object
from ghostfleet.api.kinds import Registry, Resource, Version, from_storage, storage_key
from ghostfleet.api.listing import list_objects, watch_objects
from ghostfleet.api.options import DeleteOptions, ListOptions, Page, PatchType, WriteOptions
from ghostfleet.api.subresources import bind, check_eviction, finalize_namespace, logs, scale_of, with_replicas
from ghostfleet.api.writing import ObjectWriter
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import Clock
from ghostfleet.core.errors import method_not_allowed, not_found
from ghostfleet.core.patch import apply_json_patch, apply_merge_patch
from ghostfleet.core.randomness import Streams
from ghostfleet.core.store import Store
from ghostfleet.core.watch import Watch

__all__ = ["Api"]


class Api:
    """All verbs on all resources of one cluster."""

    def __init__(self, store: Store, registry: Registry, streams: Streams) -> None:
        self.store = store
        self.registry = registry
        self.admission = Admission(store, streams.stream("admission"))
        self._writer = ObjectWriter(store, self.admission)

    @property
    def clock(self) -> Clock:
        return self.store.clock

    def get(self, resource: Resource, version: Version, namespace: str, name: str, subresource: str = "") -> Object:
        obj = self._stored(resource, namespace, name)
        if subresource == "scale":
            return scale_of(resource, obj)
        return from_storage(resource, version, obj)

    def list(self, resource: Resource, version: Version, namespace: str, options: ListOptions) -> Page:
        return list_objects(self.store, resource, version, namespace, options)

    def watch(
        self,
        resource: Resource,
        version: Version,
        namespace: str,
        options: ListOptions,
        *,
        initial_events: bool = False,
    ) -> Watch:
        """Events carry stored objects; show them with `from_storage`."""
        return watch_objects(self.store, resource, version, namespace, options, initial_events=initial_events)

    def create(
        self,
        resource: Resource,
        version: Version,
        namespace: str,
        obj: Any,
        options: WriteOptions,
        *,
        name: str = "",
        subresource: str = "",
    ) -> Object:
        if resource.key == "bindings":
            return bind(self.store, namespace, _name_in(obj), obj, dry_run=options.dry_run)
        if subresource == "binding":
            return bind(self.store, namespace, name, obj, dry_run=options.dry_run)
        if subresource == "eviction":
            return self._evict(resource, version, namespace, name, obj, options)
        if subresource:
            raise method_not_allowed()
        return self._writer.create(resource, version, namespace, obj, options)

    def update(
        self,
        resource: Resource,
        version: Version,
        namespace: str,
        name: str,
        obj: Any,
        options: WriteOptions,
        subresource: str = "",
    ) -> tuple[Object, bool]:
        """Replace an object; answers it and whether it was created."""
        if subresource == "scale":
            return self._scale(resource, version, namespace, name, obj, options), False
        if subresource == "finalize":
            return finalize_namespace(self.store, name, obj), False
        return self._writer.update(resource, version, namespace, name, obj, options, subresource)

    def patch(
        self,
        resource: Resource,
        version: Version,
        namespace: str,
        name: str,
        patch_type: PatchType,
        patch: Any,
        options: WriteOptions,
        subresource: str = "",
    ) -> tuple[Object, bool]:
        """Change parts of an object; answers it and whether it was created."""
        if subresource == "scale":
            scale = scale_of(resource, self._stored(resource, namespace, name))
            # A Scale has no lists, so that its strategic and applied forms are merge patches.
            patched = apply_json_patch(scale, patch) if patch_type == "json" else apply_merge_patch(scale, patch)
            return self._scale(resource, version, namespace, name, patched, options), False
        return self._writer.patch(resource, version, namespace, name, patch_type, patch, options, subresource)

    def delete(
        self, resource: Resource, version: Version, namespace: str, name: str, options: DeleteOptions
    ) -> tuple[Object, bool]:
        """Delete an object; answers a Status or the object, and whether it is gone."""
        return delete_object(self.store, resource, version, namespace, name, options)

    def delete_collection(
        self,
        resource: Resource,
        version: Version,
        namespace: str,
        list_options: ListOptions,
        options: DeleteOptions,
    ) -> Page:
        """Delete all that a list would show; answers what that was."""
        page = self.list(resource, version, namespace, list_options)
        for obj in page.items:
            metadata = obj["metadata"]
            delete_object(self.store, resource, version, metadata.get("namespace", ""), metadata["name"], options)
        return page

    def logs(
        self, namespace: str, name: str, *, container: str = "", previous: bool = False, tail: int | None = None
    ) -> str:
        return logs(self.store, namespace, name, container, previous=previous, tail=tail)

    def _stored(self, resource: Resource, namespace: str, name: str) -> Object:
        found = self.store.find(storage_key(resource), namespace, name)
        if found is None:
            raise not_found(resource.key, name)
        return found

    def _scale(
        self, resource: Resource, version: Version, namespace: str, name: str, scale: Any, options: WriteOptions
    ) -> Object:
        obj = self._stored(resource, namespace, name)
        scaled = from_storage(resource, version, with_replicas(resource, obj, scale))
        self._writer.update(resource, version, namespace, name, scaled, options, "scale")
        return scale_of(resource, self._stored(resource, namespace, name))

    def _evict(
        self, resource: Resource, version: Version, namespace: str, name: str, eviction: Any, options: WriteOptions
    ) -> Object:
        deletion = check_eviction(self.store, namespace, name, eviction, dry_run=options.dry_run)
        self.delete(resource, version, namespace, name, deletion)
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _name_in(obj: Any) -> str:
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""
