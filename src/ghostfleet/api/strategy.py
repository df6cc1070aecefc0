"""Strategy: what a kind itself does around a write, the same four steps for built-in and custom kinds.

*Reading* normalises a body by its schema. *Completing* adds defaults and sets what a client may not set, for a new
object or for a changed one. *Judging* finds what is wrong with the result.
"""

from __future__ import annotations

from ghostfleet.api import customresources
from ghostfleet.api.defaults import admit_pod_update, apply_defaults, prepare_for_create, prepare_for_update
from ghostfleet.api.defaults.pods import fill_pod_status
from ghostfleet.api.kinds import Resource, Version
from ghostfleet.api.validation import normalise, validate_create, validate_update
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import invalid

__all__ = ["check_change", "check_new", "complete_changed", "complete_new", "read", "read_changed", "warnings_about"]

_RECYCLED = (
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
    "Instead, the recommended approach is to use dynamic provisioning."
)
_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


def read(resource: Resource, version: Version, obj: Object) -> tuple[Object, list[str]]:
    """The object in clean form, and the paths of the unknown fields that it lost."""
    if resource.custom:
        return customresources.normalise(obj, resource, version)
    return normalise(obj, version.schema, kind=resource.kind, version=version.name)


def read_changed(resource: Resource, version: Version, obj: Object, known: Object) -> tuple[Object, list[str]]:
    """As `read`, for a changed object: parts that are the very ones of the stored object are clean already."""
    fresh = {key: value for key, value in obj.items() if value is not known.get(key)}
    metadata, kept = obj["metadata"], known["metadata"].get("managedFields")
    if resource.custom:
        # There, everything is read in the light of the metadata.
        fresh["metadata"] = metadata
    untouched = "metadata" in fresh and kept is not None and metadata.get("managedFields") is kept
    if untouched:
        fresh["metadata"] = {key: value for key, value in metadata.items() if key != "managedFields"}
    given = fresh
    fresh, unknown = read(resource, version, given)
    if fresh is given and not unknown:
        return obj, unknown
    if untouched:
        fresh = {**fresh, "metadata": {**fresh["metadata"], "managedFields": kept}}
    clean = {key: fresh.get(key, value) for key, value in obj.items() if key in fresh or value is known.get(key)}
    return clean, unknown


def complete_new(resource: Resource, version: Version, key: str, obj: Object) -> Object:
    """A new object with its defaults, and as its kind takes it."""
    if resource.custom:
        return customresources.prepare_for_create(resource, customresources.apply_defaults(obj, version))
    return prepare_for_create(key, apply_defaults(key, obj))


def complete_changed(
    resource: Resource, version: Version, key: str, old: Object, new: Object, subresource: str, now: str
) -> Object:
    """The new state of an object with everything that this endpoint may not change taken from the old one."""
    if new["metadata"] is not old["metadata"]:
        new = {**new, "metadata": _with_what_stays(new["metadata"], old["metadata"])}
    if resource.custom:
        return customresources.prepare_for_update(
            resource, old, customresources.apply_defaults(new, version), subresource
        )
    if key != "pods":
        new = apply_defaults(key, new)
    elif new.get("spec") is old.get("spec"):
        # The very same parts have their defaults already.
        if new.get("status") is not old.get("status"):
            new = {**new, "status": fill_pod_status(new.get("status") or {})}
    else:
        new = admit_pod_update(old, apply_defaults(key, new))
    return prepare_for_update(key, old, new, subresource, now=now)


def _with_what_stays(metadata: Object, kept: Object) -> Object:
    """New metadata with the fields that no update changes."""
    metadata = metadata.copy()
    for field in ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"):
        if field in kept:
            metadata[field] = kept[field]
        else:
            metadata.pop(field, None)
    metadata.setdefault("uid", kept["uid"])
    if metadata.get("managedFields") == [{}]:
        # The one way to ask for a fresh start that is no valid entry.
        metadata["managedFields"] = []
    return metadata


def check_new(resource: Resource, version: Version, key: str, obj: Object) -> None:
    """Refuse a new object that is not valid."""
    if resource.custom:
        errors = customresources.validate(resource, version, obj, None)
    else:
        errors = validate_create(key, obj)
    if errors:
        raise invalid(resource.kind, _group_shown(resource, key), obj["metadata"].get("name", ""), errors)


def check_change(resource: Resource, version: Version, key: str, old: Object, new: Object, subresource: str) -> None:
    """Refuse a change that makes an object invalid, or that is not allowed."""
    if resource.custom:
        errors = customresources.validate(resource, version, new, old)
    else:
        errors = validate_update(key, old, new, subresource)
    if errors:
        raise invalid(resource.kind, _group_shown(resource, key), new["metadata"].get("name", ""), errors)


def _group_shown(resource: Resource, key: str) -> str:
    """The group in a refusal: that of the storage, for events go by two names."""
    return "" if key == "events" else resource.group


def warnings_about(resource: Resource, key: str, new: Object, old: Object | None) -> list[str]:
    """What a client should know about an object that is valid all the same."""
    if key == _DEFINITIONS:
        return customresources.definition_warnings(new, old)
    if key == "persistentvolumes" and new.get("spec", {}).get("persistentVolumeReclaimPolicy") == "Recycle":
        return [_RECYCLED]
    return customresources.finalizer_warnings(new, old) if resource.custom else []
