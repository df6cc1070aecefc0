"""Metadata: what every object must get right, whatever its kind.

The *name rule* of a kind says which names it may have; most are DNS subdomains. `check` holds for an object by itself
and is what a create asks; `check_update` compares two versions of it, for its identity never changes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from ghostfleet.api.validation.checks import (
    Errors,
    Object,
    dns_label,
    immutable,
    invalid,
    labels,
    non_negative,
    qualified_name,
)
from ghostfleet.api.validation.structs import Shown
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError

__all__ = ["NameRule", "check", "check_annotations", "check_parts", "check_update"]

NameRule = Callable[[str], list[str]]

_ANNOTATIONS_LIMIT = 256 * 1024
_STANDARD_FINALIZERS = {"kubernetes", "orphan", "foregroundDeletion"}
_IDENTITY = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_MANAGER_LIMIT = 128
_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")


def check(
    errors: Errors, metadata: Object, name_rule: NameRule, *, namespaced: bool | None, plain: bool = False
) -> None:
    """Name, namespace and the parts that may change; `namespaced` None means that the caller does not know.

    Kinds with `plain` metadata may have finalizers that nobody knows.
    """
    if generate_name := metadata.get("generateName"):
        invalid(errors, "metadata.generateName", generate_name, name_rule(_as_if_complete(generate_name)))
    if name := metadata.get("name"):
        if messages := name_rule(name):
            invalid(errors, "metadata.name", name, messages)
    else:
        errors.append(FieldError.required("metadata.name", "name or generateName is required"))
    namespace = metadata.get("namespace")
    if namespace:
        if namespaced is False:
            errors.append(FieldError.forbidden("metadata.namespace", "not allowed on this type"))
        else:
            dns_label(errors, "metadata.namespace", namespace)
    elif namespaced:
        errors.append(FieldError.required("metadata.namespace"))
    check_parts(errors, metadata, plain=plain)


def _as_if_complete(generate_name: str) -> str:
    """A prefix may end with a dash, since more follows."""
    return f"{generate_name[:-1]}a" if generate_name.endswith("-") and len(generate_name) > 1 else generate_name


def check_parts(errors: Errors, metadata: Object, *, plain: bool = False) -> None:
    """Labels, annotations, owners, finalizers and field managers."""
    non_negative(errors, "metadata.generation", metadata.get("generation"))
    labels(errors, "metadata.labels", metadata.get("labels"))
    check_annotations(errors, "metadata.annotations", metadata.get("annotations"))
    if owners := metadata.get("ownerReferences"):
        _owners(errors, owners)
    if finalizers := metadata.get("finalizers"):
        _finalizers(errors, finalizers, plain=plain)
    for index, entry in enumerate(metadata.get("managedFields") or ()):
        if entry.get("operation") not in ("Apply", "Update"):
            path = f"metadata.managedFields[{index}].operation"
            errors.append(FieldError.invalid(path, entry.get("operation", ""), "must be `Apply` or `Update`"))
        if len(entry.get("manager", "")) > _MANAGER_LIMIT:
            errors.append(FieldError.too_long(f"metadata.managedFields[{index}].manager", _MANAGER_LIMIT))


def check_annotations(errors: Errors, path: str, found: Object | None) -> None:
    if not found:
        return
    size = 0
    for key, value in found.items():
        if messages := _annotation_key_problems(key):
            invalid(errors, path, key, messages)
        size += len(key) + len(value)
    # Only text that could be too long is worth encoding.
    if size * 4 > _ANNOTATIONS_LIMIT and _bytes(found) > _ANNOTATIONS_LIMIT:
        errors.append(FieldError.too_long(path, _ANNOTATIONS_LIMIT))


@lru_cache(maxsize=8192)
def _annotation_key_problems(key: str) -> list[str]:
    return names.is_qualified_name(key.lower())


def _bytes(found: Object) -> int:
    return sum(len(key.encode()) + len(value.encode()) for key, value in found.items())


def _owners(errors: Errors, owners: list[Object]) -> None:
    path = "metadata.ownerReferences"
    controller = ""
    for owner in owners:
        if not owner.get("apiVersion", "").rpartition("/")[2]:
            errors.append(
                FieldError.invalid(f"{path}.apiVersion", owner.get("apiVersion", ""), "version must not be empty")
            )
        for field in ("kind", "name", "uid"):
            if not owner.get(field):
                errors.append(FieldError.invalid(f"{path}.{field}", "", "must not be empty"))
        if owner.get("kind") == "Event" and owner.get("apiVersion") == "v1":
            errors.append(FieldError.invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner"))
        if owner.get("controller"):
            this = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                why = (
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {this}'
                )
                value = [{field: owner[field] for field in _OWNER_FIELDS if field in owner} for owner in owners]
                errors.append(Shown("Invalid value", path, value, why))
            controller = controller or this


def _finalizers(errors: Errors, finalizers: list[str], *, plain: bool) -> None:
    path = "metadata.finalizers"
    for finalizer in finalizers:
        qualified_name(errors, path, finalizer)
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        errors.append(
            FieldError.invalid(path, finalizers, "finalizer orphan and foregroundDeletion cannot be both set")
        )
    for index, finalizer in enumerate(() if plain else finalizers):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            errors.append(FieldError.invalid(f"{path}[{index}]", finalizer, why))


def check_update(errors: Errors, new: Object, old: Object) -> None:
    """The identity stays; an object that is being deleted gets no new finalizers."""
    if old.get("deletionTimestamp"):
        added = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if added:
            listed = ", ".join(f'"{finalizer}"' for finalizer in added)
            why = "no new finalizers can be added if the object is being deleted, found new finalizers "
            why += f"[]string{{{listed}}}"
            errors.append(FieldError.forbidden("metadata.finalizers", why))
    if new.get("generation", 0) < old.get("generation", 0):
        errors.append(FieldError.invalid("metadata.generation", new.get("generation", 0), "must not be decremented"))
    for field in _IDENTITY:
        if new.get(field) != old.get(field):
            immutable(errors, f"metadata.{field}", new.get(field, ""), old.get(field, ""))
    check_parts(errors, new)
