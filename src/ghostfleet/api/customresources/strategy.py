"""Strategy: what the registry of custom resources does before it stores an object.

With a status subresource the object is in two halves: a write of the object cannot touch the status, a write of the
status nothing else. The generation counts the changes to what is wanted: to anything but metadata (and the status, if
it is the other half).
"""

from __future__ import annotations

from typing import Any

from ghostfleet.api.customresources.defaulting import apply_defaults
from ghostfleet.api.kinds import Resource
from ghostfleet.core.changes import Object

__all__ = ["prepare_for_create", "prepare_for_update"]


def prepare_for_create(resource: Resource, obj: Object) -> Object:
    """A new object, without status if that has its own endpoint."""
    metadata = {**obj["metadata"], "generation": 1}
    if resource.has_status and "status" in obj:
        obj = {key: value for key, value in obj.items() if key != "status"}
    # A status that was dropped may have a default.
    return apply_defaults({**obj, "metadata": metadata}, resource.storage)


def prepare_for_update(resource: Resource, old: Object, new: Object, subresource: str) -> Object:
    """A changed object with everything that this endpoint may not change taken from the old one."""
    if subresource == "status":
        return apply_defaults(_only_status(old, new), resource.storage)
    if resource.has_status:
        new = apply_defaults(_with(new, "status", old), resource.storage)
    generation = old["metadata"].get("generation", 1)
    if not _same(old, new):
        generation += 1
    if new["metadata"].get("generation") == generation:
        return new
    return {**new, "metadata": {**new["metadata"], "generation": generation}}


def _only_status(old: Object, new: Object) -> Object:
    # The client's revision stays: the store compares it, so that a stale status is refused.
    metadata = {**old["metadata"]}
    for field in ("managedFields", "resourceVersion", "uid"):
        metadata = _with(metadata, field, new["metadata"])
    return _with({**old, "metadata": metadata}, "status", new)


def _with(obj: Object, key: str, source: Object) -> Object:
    """`obj` with the value of `source` at `key`, or without one."""
    if key in source:
        return obj if key in obj and obj[key] is source[key] else {**obj, key: source[key]}
    return {name: value for name, value in obj.items() if name != key} if key in obj else obj


def _same(old: Object, new: Object) -> bool:
    return _wanted(old) == _wanted(new)


def _wanted(obj: Object) -> dict[str, Any]:
    return {key: value for key, value in obj.items() if key != "metadata"}
