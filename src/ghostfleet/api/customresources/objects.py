"""Objects: whether a custom resource may be stored.

Its metadata, the values its schema asks for, the numbers behind its scale, the objects embedded in it and the
uniqueness of its lists are looked at, in this order. Rules in CEL are kept in the schema but not run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ghostfleet.api.customresources.contents import duplicate_errors, embedded_object_errors, special_places
from ghostfleet.api.customresources.findings import MistypedValue
from ghostfleet.api.customresources.fitting import Table, compile_table, fits
from ghostfleet.api.customresources.metadata import metadata_errors, metadata_update_errors
from ghostfleet.api.customresources.nodes import Raw, SchemaNode
from ghostfleet.api.customresources.past import Past
from ghostfleet.api.customresources.values import judge
from ghostfleet.api.kinds import Resource, ScalePaths, Version
from ghostfleet.core import names
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import FieldError
from ghostfleet.core.patch.gotext import go_type, go_value

__all__ = ["finalizer_warnings", "validate"]

_STANDARD_FINALIZERS = frozenset({"orphan", "foregroundDeletion", "kubernetes"})
_STOPS_RULES = frozenset({"Unsupported value", "Required value", "Too long", "Too many"})
_RULES_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def validate(resource: Resource, version: Version, obj: Object, old: Object | None) -> list[FieldError]:
    """All that is wrong with an object, new or about to replace `old`."""
    node = version.schema
    assert isinstance(node, SchemaNode)
    if old is None:
        errors = metadata_errors(obj["metadata"], namespaced=resource.namespaced)
    else:
        errors = metadata_update_errors(obj["metadata"], old["metadata"])
    if not fits(_table(node), obj):
        errors += _judged(resource, node, obj, old)
    if resource.scale is not None:
        errors += _scale_errors(resource.scale, obj)
    special = special_places(node, is_root=True)
    if special is not None:
        errors += embedded_object_errors(special, obj)
        repeats = duplicate_errors(special, obj)
        if repeats and (old is None or not duplicate_errors(special, old)):
            errors += repeats
    if node.has_rules and any(isinstance(each, MistypedValue) or each.sort in _STOPS_RULES for each in errors):
        errors.append(FieldError.invalid("<nil>", None, _RULES_UNCHECKED))
    return errors


def _table(node: SchemaNode) -> Table:
    if node.table is None:
        node.table = compile_table(node.raw or {})
    return node.table


def _judged(resource: Resource, node: SchemaNode, obj: Object, old: Object | None) -> list[FieldError]:
    raw = node.raw or {}
    if old is None:
        return list(judge(raw, obj, "").errors.values())
    if resource.has_status and obj.get("status") is not old.get("status"):
        # The status endpoint judges the status alone, and its messages start there.
        return _judged_status((raw.get("properties") or {}).get("status") or {}, obj, old)
    past = Past(old, raw)
    return [] if past.is_unchanged(obj) else list(judge(raw, obj, "", past).errors.values())


def _judged_status(raw: Raw, obj: Object, old: Object) -> list[FieldError]:
    if "status" not in obj:
        return []
    past = Past(old["status"], raw) if "status" in old else None
    if past is not None and past.is_unchanged(obj["status"]):
        return []
    found = judge(raw, obj["status"], "", past).errors.values()
    return [replace(error, field="status" if error.field == "<nil>" else f"status.{error.field}") for error in found]


# Scale


def _scale_errors(paths: ScalePaths, obj: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    for path in (paths.spec_replicas, paths.status_replicas):
        try:
            replicas = _found(obj, path, int, "int64")
        except ValueError as problem:
            errors.append(FieldError.invalid(path, 0, str(problem)))
            continue
        if replicas is not None and replicas < 0:
            errors.append(FieldError.invalid(path, replicas, "should be a non-negative integer"))
        elif replicas is not None and replicas >= 2**31:
            errors.append(FieldError.invalid(path, replicas, f"should be less than or equal to {2**31 - 1}"))
    if paths.label_selector:
        try:
            _found(obj, paths.label_selector, str, "string")
        except ValueError as problem:
            errors.append(FieldError.invalid(paths.label_selector, "", str(problem)))
    return errors


def _found(obj: Object, path: str, wanted: type, go_name: str) -> Any:
    """What is at a dotted path, None if nothing is; ValueError in Go's words when it is of another type."""
    steps = path.removeprefix(".").split(".")
    value: Any = obj
    for index, step in enumerate(steps):
        if value is not None and not isinstance(value, dict):
            raise ValueError(_mismatch(steps[: index + 1], value, "map[string]interface{}"))
        if not value or step not in value:
            return None
        value = value[step]
    if type(value) is not wanted:
        raise ValueError(_mismatch(steps, value, go_name))
    return value


def _mismatch(steps: list[str], value: Any, wanted: str) -> str:
    path = ".".join(["", *steps])
    return f"{path} accessor error: {go_value(value)} is of the type {go_type(value)}, expected {wanted}"


# Warnings


def finalizer_warnings(obj: Object, old: Object | None) -> list[str]:
    """What a client is told about new finalizers whose names could collide with others'."""
    before = set() if old is None else set(old["metadata"].get("finalizers") or ())
    warnings: list[str] = []
    for finalizer in sorted(set(obj["metadata"].get("finalizers") or ()) - before):
        said = list(names.is_qualified_name(finalizer))
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            path = " including a path (/)" if "." in finalizer else ""
            better = f"prefer a domain-qualified finalizer name{path}"
            said.append(f"{better} to avoid accidental conflicts with other finalizer writers")
        warnings += [f'metadata.finalizers: "{finalizer}": {what}' for what in said]
    return warnings
