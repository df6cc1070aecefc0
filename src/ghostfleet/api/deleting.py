"""Deleting: how objects go, and what is asked of the garbage collector.

*Background* deletion removes the object at once and leaves its dependents to the collector. *Foreground* deletion marks
it and holds it with a finalizer until its dependents are gone. *Orphan* holds it with another one until its dependents
have forgotten it. Pods on a node get their grace period; namespaces stay, marked, until they are empty.
"""

from __future__ import annotations

from ghostfleet.api.builtin import returns_deleted
from ghostfleet.api.kinds import Resource, Version, from_storage, storage_key
from ghostfleet.api.lifecycle import IMMORTAL_NAMESPACES, ORPHANS_BY_DEFAULT, grace_period
from ghostfleet.api.options import DeleteOptions
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import FieldError, conflict, forbidden, invalid, precondition_failed
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339

__all__ = ["CRD_FINALIZER", "FOREGROUND_FINALIZER", "ORPHAN_FINALIZER", "delete_object"]

FOREGROUND_FINALIZER = "foregroundDeletion"
ORPHAN_FINALIZER = "orphan"
CRD_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
#: Kinds that are deleted in their own way, and say so in other words.
_OWN_WAY = frozenset(("namespaces", _DEFINITIONS))
_PRIORITIES = "priorityclasses.scheduling.k8s.io"
_SYSTEM_PRIORITIES = ("system-node-critical", "system-cluster-critical")
_POLICIES = ("Foreground", "Background", "Orphan")


def delete_object(
    store: Store, resource: Resource, version: Version, namespace: str, name: str, options: DeleteOptions
) -> tuple[Object, bool]:
    """Delete one object; answers what the API answers, and whether it is gone."""
    _check(options)
    key = storage_key(resource)
    obj = store.get(key, namespace, name)
    _check_preconditions(resource, obj, options)
    if key == _PRIORITIES and name in _SYSTEM_PRIORITIES:
        raise forbidden(key, name, "this is a system priority class and cannot be deleted")
    if key == "namespaces":
        return _delete_namespace(store, resource, version, obj, options)
    last, gone = store.delete(
        key,
        namespace,
        name,
        grace=grace_period(key, obj, options.grace_seconds),
        finalizer=_finalizer(key, obj, options.propagation),
        untimed=key == _DEFINITIONS,
        dry_run=options.dry_run,
    )
    if gone and key == "pods":
        last = _with_mark(store, last)
    if gone and not returns_deleted(key):
        return success(resource, last), True
    return from_storage(resource, version, last), gone


def _with_mark(store: Store, pod: Object) -> Object:
    """A pod that is gone, as its deletion shows it: marked, with no grace left."""
    metadata = pod["metadata"]
    mark = {"deletionTimestamp": rfc3339(store.clock.now()), "deletionGracePeriodSeconds": 0}
    if "generation" in metadata and "deletionTimestamp" not in metadata:
        mark["generation"] = metadata["generation"] + 1
    return {**pod, "metadata": {**metadata, **mark}}


def success(resource: Resource, obj: Object) -> Object:
    """The Status that says an object is deleted."""
    details = {"name": obj["metadata"]["name"], "group": resource.group, "kind": resource.plural}
    if not resource.group:
        del details["group"]
    details["uid"] = obj["metadata"]["uid"]
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _delete_namespace(
    store: Store, resource: Resource, version: Version, obj: Object, options: DeleteOptions
) -> tuple[Object, bool]:
    """Mark a namespace; the namespace controller empties it and lets it go."""
    name = obj["metadata"]["name"]
    if name in IMMORTAL_NAMESPACES:
        raise forbidden("namespaces", name, "this namespace may not be deleted")
    held = bool(obj.get("spec", {}).get("finalizers"))
    last, gone = store.delete(
        "namespaces",
        "",
        name,
        hold=held,
        untimed=True,
        dry_run=options.dry_run,
    )
    if not gone and options.dry_run:
        last = {**last, "status": {**last.get("status", {}), "phase": "Terminating"}}
    elif not gone and last.get("status", {}).get("phase") != "Terminating":
        last = store.patch_status("namespaces", "", name, {**last.get("status", {}), "phase": "Terminating"})
    return from_storage(resource, version, last), gone


def _finalizer(key: str, obj: Object, propagation: str | None) -> str:
    if propagation == "Foreground":
        return FOREGROUND_FINALIZER
    if propagation == "Orphan" or (propagation is None and key in ORPHANS_BY_DEFAULT):
        return ORPHAN_FINALIZER
    if key == _DEFINITIONS and _is_established(obj):
        return CRD_FINALIZER
    return ""


def _is_established(definition: Object) -> bool:
    conditions = definition.get("status", {}).get("conditions", [])
    return any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions)


def _check_preconditions(resource: Resource, obj: Object, options: DeleteOptions) -> None:
    metadata = obj["metadata"]
    for what, field, wanted in (
        ("UID", "uid", options.uid),
        ("ResourceVersion", "resourceVersion", options.resource_version),
    ):
        if wanted and wanted != metadata[field] and resource.key in _OWN_WAY:
            why = f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {metadata[field]}"
            raise conflict(resource.key, metadata["name"], why)
        if wanted and wanted != metadata[field]:
            kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
            raise precondition_failed(kind, metadata["name"], what, wanted, metadata[field])


def _check(options: DeleteOptions) -> None:
    if options.propagation is not None and options.propagation not in _POLICIES:
        error = FieldError.unsupported("propagationPolicy", options.propagation, [*_POLICIES, "nil"])
        raise invalid("DeleteOptions", "meta.k8s.io", "", [error])
