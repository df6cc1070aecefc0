"""Preparation: what the registry does around every write, before validation.

On creation, the status is reset to what the kind starts with and the generation set to one; on an update of the object
itself the status stays what it was, and on a write of the status everything else does; the generation is never the
client's to set. Times are RFC 3339 texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from ghostfleet.api.defaults import kindpreparation as kinds
from ghostfleet.api.defaults.cluster import with_name_label
from ghostfleet.api.defaults.comparison import same
from ghostfleet.api.defaults.defaulting import apply_defaults
from ghostfleet.api.defaults.filling import ObjectRule, replaced, without
from ghostfleet.api.defaults.podpreparation import (
    keep_old_observations,
    only_ephemeral_containers,
    only_resources,
    prepare_pod,
    stamp_conditions,
)
from ghostfleet.api.defaults.resourceclaims import drop_deallocated_devices, stamp_rule, stamp_taints
from ghostfleet.api.defaults.strategies import RESET, Strategy, strategy_of
from ghostfleet.core.changes import Object

__all__ = ["finish_create", "prepare_for_create", "prepare_for_update"]

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
