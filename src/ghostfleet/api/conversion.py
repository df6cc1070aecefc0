"""Conversion between the versions a resource is served in and the one it is stored in.

Most versions differ in name only. Two do not: claims and slices of devices are written in another way in v1beta1
(`deviceversions`), and `events.k8s.io` shows the objects of the core group's
events under other field names, and both are one collection in the store. A custom resource may be another name for one
of another group, as after a project has moved; they too are one collection.
"""

from __future__ import annotations

from ghostfleet.api.deviceversions import from_v1, to_v1
from ghostfleet.api.kinds import Resource, Version
from ghostfleet.core.changes import Object

__all__ = ["OLD_DEVICES", "from_storage", "storage_key", "to_storage"]

#: core/v1 name -> events.k8s.io/v1 name
_EVENT_FIELDS = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
#: The version in which claims and slices are written in another way.
OLD_DEVICES = "resource.k8s.io/v1beta1"
_CORE_FIELDS = {new: old for old, new in _EVENT_FIELDS.items()}


def storage_key(resource: Resource) -> str:
    """The store's name for the collection behind a resource."""
    return "events" if _is_new_event(resource) else resource.stored_as or resource.key


def to_storage(resource: Resource, obj: Object) -> Object:
    """An object as it is stored, from any served version."""
    if _is_new_event(resource):
        return {_CORE_FIELDS.get(key, key): value for key, value in obj.items()} | {"apiVersion": "v1"}
    stored, given = resource.api_version(resource.storage_version), obj.get("apiVersion")
    if given == stored:
        return obj
    if given == OLD_DEVICES:
        obj = to_v1(resource.plural, obj)
    return {**obj, "apiVersion": stored}


def from_storage(resource: Resource, version: Version, obj: Object) -> Object:
    """An object as `version` shows it, from its stored form."""
    shown = resource.api_version(version.name)
    if _is_new_event(resource):
        return {_EVENT_FIELDS.get(key, key): value for key, value in obj.items()} | {"apiVersion": shown}
    if obj.get("apiVersion") == shown:
        return obj
    if shown == OLD_DEVICES:
        obj = from_v1(resource.plural, obj)
    return {**obj, "apiVersion": shown}


def _is_new_event(resource: Resource) -> bool:
    return resource.group == "events.k8s.io" and resource.plural == "events"
