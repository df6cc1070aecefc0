"""Strategy: what a kind's registry does around a write, the same steps for built-in and custom kinds.

*Reading* normalises a body by its schema. *Completing* adds defaults and *prepares* the object: on creation, the status
is reset to what the kind starts with and the generation set to one; on an update of the object itself the status stays
what it was, and on a write of the status everything else does; the generation is never the client's to set. *Judging*
finds what is wrong with the result. Times are RFC 3339 texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from ghostfleet.api import customresources
from ghostfleet.api import kindstrategies as kinds
from ghostfleet.api.defaults import (
    administration,
    autoscaling,
    cluster,
    extension,
    pods,
    resourceclaims,
    services,
    storage,
    workloads,
)
from ghostfleet.api.defaults.cluster import with_name_label
from ghostfleet.api.defaults.filling import ObjectRule, replaced, without
from ghostfleet.api.defaults.pods import (
    fill_pod_status,
    keep_admitted,
    keep_old_observations,
    only_ephemeral_containers,
    only_resources,
    prepare_pod,
    stamp_conditions,
)
from ghostfleet.api.defaults.resourceclaims import drop_deallocated_devices, stamp_rule, stamp_taints
from ghostfleet.api.kinds import Resource, Version
from ghostfleet.api.kindstrategies import RESET, Strategy, same, strategy_of
from ghostfleet.api.validation import normalise, validate_create, validate_update
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import invalid

__all__ = [
    "apply_defaults",
    "check_change",
    "check_new",
    "complete_changed",
    "complete_new",
    "finish_create",
    "prepare_for_create",
    "prepare_for_update",
    "read",
    "read_changed",
    "warnings_about",
]

_DEFAULTS: dict[str, ObjectRule] = {
    **pods.DEFAULTS,
    **workloads.DEFAULTS,
    **services.DEFAULTS,
    **storage.DEFAULTS,
    **cluster.DEFAULTS,
    **administration.DEFAULTS,
    **autoscaling.DEFAULTS,
    **extension.DEFAULTS,
    **resourceclaims.DEFAULTS,
}
_RECYCLED = (
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
    "Instead, the recommended approach is to use dynamic provisioning."
)
_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_CREATED: dict[str, ObjectRule] = {
    "pods": prepare_pod,
    "daemonsets.apps": kinds.start_template_generation,
    "persistentvolumeclaims": lambda claim: kinds.claim_with_sources(None, claim),
    "serviceaccounts": kinds.plain_secret_references,
    "certificatesigningrequests.certificates.k8s.io": kinds.request_without_user,
}
_FINISHED: dict[str, ObjectRule] = {
    "namespaces": lambda namespace: with_name_label(kinds.namespace_with_finalizer(namespace)),
    "jobs.batch": kinds.job_with_selector,
    "customresourcedefinitions.apiextensions.k8s.io": kinds.definition_with_stored_version,
}
_BORN: dict[str, Callable[[Object, str], Object]] = {
    "pods": stamp_conditions,
    "persistentvolumes": lambda volume, now: kinds.volume_since(None, volume, now),
    "resourceslices.resource.k8s.io": stamp_taints,
    "devicetaintrules.resource.k8s.io": lambda rule, now: stamp_rule(None, rule, now),
}
_UPDATED: dict[str, Callable[[Object, Object], Object]] = {
    "services": kinds.changed_service,
    "daemonsets.apps": kinds.keep_template_generation,
    "persistentvolumeclaims": kinds.claim_with_sources,
    "serviceaccounts": lambda _, account: kinds.plain_secret_references(account),
    "namespaces": lambda old, new: replaced(
        new, "spec", replaced(new["spec"], "finalizers", old["spec"].get("finalizers"))
    ),
    "certificatesigningrequests.certificates.k8s.io": lambda old, new: {**new, "spec": old["spec"]},
}
_STATUS_WRITTEN: dict[str, Callable[[Object, Object], Object]] = {
    "pods": keep_old_observations,
    "daemonsets.apps": kinds.keep_template_generation,
    "resourceclaims.resource.k8s.io": drop_deallocated_devices,
}
_STAMPED: dict[str, Callable[[Object, Object, str], Object]] = {
    "persistentvolumes": kinds.volume_since,
    "certificatesigningrequests.certificates.k8s.io": kinds.request_since,
    "resourceslices.resource.k8s.io": lambda _, new, now: stamp_taints(new, now),
    "devicetaintrules.resource.k8s.io": stamp_rule,
}


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


def apply_defaults(resource_key: str, obj: Object) -> Object:
    """`obj`, an object of the resource `resource_key` (`pods`, `jobs.batch`), with what it leaves unsaid."""
    fill = _DEFAULTS.get(resource_key)
    return obj if fill is None else fill(obj)


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
        new = keep_admitted(old, apply_defaults(key, new))
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


@lru_cache(maxsize=256)
def _first_status(resource_key: str) -> Object:
    """The status an object of this kind starts with."""
    status: Object = apply_defaults(resource_key, {"metadata": {}}).get("status", {})
    return status


def prepare_for_create(resource_key: str, obj: Object) -> Object:
    """A new object as its registry takes it, after defaulting."""
    strategy = strategy_of(resource_key)
    prepare = _CREATED.get(resource_key)
    if prepare is not None:
        obj = prepare(obj)
    if strategy.status and not strategy.born_with_status:
        obj = replaced(obj, "status", _first_status(resource_key))
    return _with_generation(obj, 1) if strategy.counts else obj


def finish_create(resource_key: str, obj: Object, *, now: str = "") -> Object:
    """What follows from a new object's name and uid, once it has them, and from the time of its creation.

    That time is `now` or, when that is not given, the object's creationTimestamp.
    """
    finish = _FINISHED.get(resource_key)
    if finish is not None:
        obj = finish(obj)
    stamp = _BORN.get(resource_key)
    now = now or obj["metadata"].get("creationTimestamp") or ""
    return stamp(obj, now) if stamp is not None and now else obj


def prepare_for_update(
    resource_key: str,
    old: Object,
    new: Object,
    subresource: str = "",
    *,
    now: str = "",
) -> Object:
    """A changed object as its registry takes it: with what `subresource` ("" for the object itself) does not change.

    `now` is needed by the few kinds that keep times of their changes. Generation apart, fields of the metadata that no
    update changes (uid, creationTimestamp ...) are not seen to here.
    """
    strategy = strategy_of(resource_key)
    generation = old["metadata"].get("generation")
    if subresource in ("status", "approval"):
        new = _written_status(resource_key, strategy, old, new, subresource)
    elif subresource == "finalize":
        new = _taken(new, old, ("status",))
    else:
        new = _written_object(resource_key, strategy, old, new, subresource)
        if any(_differs(old, new, field) for field in strategy.raised_by):
            generation = (generation or 0) + 1
    stamp = _STAMPED.get(resource_key) if now else None
    if stamp is not None:
        new = stamp(old, new, now)
    return _with_generation(new, generation)


def _written_object(resource_key: str, strategy: Strategy, old: Object, new: Object, subresource: str) -> Object:
    if resource_key == "pods" and subresource in ("ephemeralcontainers", "resize"):
        spec = (only_ephemeral_containers if subresource == "ephemeralcontainers" else only_resources)(old, new)
        new = {**new, "spec": spec, "metadata": _taken(new["metadata"], old["metadata"], RESET)}
    if strategy.status:
        new = _taken(new, old, ("status",))
    change = _UPDATED.get(resource_key)
    return new if change is None else change(old, new)


def _written_status(resource_key: str, strategy: Strategy, old: Object, new: Object, subresource: str) -> Object:
    if subresource == "approval":
        conditions = (new.get("status") or {}).get("conditions")
        new = {**new, "status": replaced(old.get("status") or {}, "conditions", conditions)}
    new = _taken(new, old, ("spec",))
    if strategy.keeps and new["metadata"] is not old["metadata"]:
        new = replaced(new, "metadata", _taken(new["metadata"], old["metadata"], strategy.keeps))
    change = _STATUS_WRITTEN.get(resource_key)
    return new if change is None else change(old, new)


def _taken(new: Object, old: Object, keys: Iterable[str]) -> Object:
    """`new`, but with the values of `old` at `keys`, absent ones too."""
    for key in keys:
        new = replaced(new, key, old.get(key))
    return new


def _differs(old: Object, new: Object, field: str) -> bool:
    if field == "*":
        return not same(_without_metadata(old), _without_metadata(new))
    if field in ("annotations", "labels"):
        return not same(old["metadata"].get(field) or {}, new["metadata"].get(field) or {})
    return not same(old.get(field), new.get(field))


def _without_metadata(obj: Object) -> Object:
    return without(obj, "metadata", "apiVersion", "kind")


def _with_generation(obj: Object, generation: int | None) -> Object:
    metadata = obj.get("metadata") or {}
    if metadata.get("generation") == generation:
        return obj
    return {**obj, "metadata": replaced(metadata, "generation", generation)}
