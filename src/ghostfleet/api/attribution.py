"""Attribution: which manager a write makes the owner of which fields, as `managedFields` tells.

A write through a status endpoint owns nothing of the spec; what more it does not own differs by kind.
"""

from __future__ import annotations

from ghostfleet.api.kinds import OLD_DEVICES, Resource, Version, from_storage, storage_key
from ghostfleet.core.changes import Object
from ghostfleet.core.patch import track_update
from ghostfleet.core.patch.fieldset import LEAF, FieldSet

__all__ = ["attributed", "ignored"]

_EVENTS = "events"
_ALL_METADATA: FieldSet = {"f:spec": LEAF, "f:metadata": LEAF}
_STATUS_IGNORES: dict[str, FieldSet] = {
    "pods": {"f:spec": LEAF, "f:metadata": {"f:deletionTimestamp": LEAF, "f:ownerReferences": LEAF}},
    "deployments.apps": {"f:spec": LEAF, "f:metadata": {"f:labels": LEAF}},
    "resourceclaims.resource.k8s.io": _ALL_METADATA,
    "devicetaintrules.resource.k8s.io": _ALL_METADATA,
    "volumeattachments.storage.k8s.io": _ALL_METADATA,
}


def attributed(
    resource: Resource,
    version: Version,
    old: Object | None,
    new: Object,
    manager: str,
    time: str,
    subresource: str = "",
) -> list[Object]:
    """The managedFields of an object after this write by `manager`."""
    schema = resource.storage.schema
    if resource.api_version(version.name) == OLD_DEVICES:
        # Fields are owned as the client's version has them.
        schema = version.schema
        old = from_storage(resource, version, old) if old is not None else None
        new = from_storage(resource, version, new)
    elif storage_key(resource) == _EVENTS:
        # Owned is what a client sees: in its version, and without the times that are only shown as null.
        old = _seen(from_storage(resource, version, old)) if old is not None else None
        new = _seen(from_storage(resource, version, new))
    return track_update(
        old,
        new,
        schema,
        manager=manager,
        api_version=resource.api_version(version.name),
        # Kubernetes' own handler of scales notes no time.
        time="" if subresource == "scale" else time,
        subresource=subresource,
        has_status=resource.has_status,
        ignored=ignored(resource, subresource),
    )


def ignored(resource: Resource, subresource: str) -> FieldSet | None:
    """What a status endpoint does not write, where that is more than the spec."""
    if subresource != "status":
        return None
    if resource.custom:
        return _ALL_METADATA
    return _STATUS_IGNORES.get(resource.key)


def _seen(obj: Object) -> Object:
    return {field: value for field, value in obj.items() if value is not None}
