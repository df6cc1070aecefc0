"""Structure: whether a schema is structural, so that it can prune and default.

In a structural schema every field is typed where the object's shape is described; alternatives (`anyOf`, `oneOf`,
`allOf`, `not`) only restrict values, say nothing about the shape, and mention no field that the shape does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ghostfleet.api.customresources.nodes import Raw
from ghostfleet.core.errors import FieldError
from ghostfleet.core.goregex import compile_regex

__all__ = ["structure_errors"]

_ANY_OF_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_LEVELS = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_SHAPE_ONLY = (
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
_ALTERNATIVES = frozenset({"allOf", "anyOf", "oneOf", "not"})
#: What a schema of metadata may say besides the two names.
_ABOUT_METADATA = frozenset({"type", "default", "properties"})


def structure_errors(raw: Raw, path: str) -> list[FieldError]:
    """Everything that keeps a schema from being structural, sorted."""
    errors: list[FieldError] = []
    _check_shape(errors, raw, "root", path)
    if not _ALTERNATIVES.isdisjoint(raw):
        _check_complete(errors, raw, raw, path, path)
    return sorted(errors, key=str)


def _check_shape(errors: list[FieldError], raw: Raw, level: str, path: str) -> None:
    stated = raw.get("type") or ""
    items = raw.get("items")
    if isinstance(items, Mapping):
        _check_shape(errors, items, "item", f"{path}.items")
    elif stated == "array":
        errors.append(FieldError.required(f"{path}.items", "must be specified"))
    properties = raw.get("properties")
    if properties:
        for key, child in properties.items():
            _check_shape(errors, child, "field", f"{path}.properties[{key}]")
        if "metadata" in properties or "kind" in properties or "apiVersion" in properties:
            _check_meta(errors, raw, level, path)
    additional = raw.get("additionalProperties")
    if additional is not None:
        if level == "root":
            errors.append(FieldError.forbidden(f"{path}.additionalProperties", "must not be used at the root"))
        if isinstance(additional, Mapping):
            _check_shape(errors, additional, "field", f"{path}.additionalProperties")
    _check_type(errors, raw, stated, level, path)
    if raw.get("x-kubernetes-embedded-resource"):
        _check_embedded(errors, raw, path)
    if "pattern" in raw or not _ALTERNATIVES.isdisjoint(raw):
        _check_values(errors, raw, path, skip_any_of=raw.get("anyOf") == _ANY_OF_INT_OR_STRING, is_shape=True)


def _check_type(errors: list[FieldError], raw: Raw, stated: str, level: str, path: str) -> None:
    int_or_string, is_open = raw.get("x-kubernetes-int-or-string"), raw.get("x-kubernetes-preserve-unknown-fields")
    if int_or_string:
        why = "must be false if x-kubernetes-int-or-string is true"
        words = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")
        errors += [FieldError.invalid(f"{path}.{word}", True, why) for word in words if raw.get(word)]
    if raw.get("x-kubernetes-embedded-resource") and stated != "object":
        why = "must be object if x-kubernetes-embedded-resource is true"
        errors.append(
            FieldError.invalid(f"{path}.type", stated, why) if stated else FieldError.required(f"{path}.type", why)
        )
    elif not stated and not int_or_string and not is_open:
        errors.append(FieldError.required(f"{path}.type", _LEVELS[level]))
    if level == "root" and stated and stated != "object":
        errors.append(FieldError.invalid(f"{path}.type", stated, "must be object at the root"))


def _check_embedded(errors: list[FieldError], raw: Raw, path: str) -> None:
    if raw.get("additionalProperties") is not None:
        why = "must not be used if x-kubernetes-embedded-resource is set"
        errors.append(FieldError.forbidden(f"{path}.additionalProperties", why))
    if not raw.get("x-kubernetes-preserve-unknown-fields") and not raw.get("properties"):
        why = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        errors.append(FieldError.required(f"{path}.properties", why))


def _check_meta(errors: list[FieldError], raw: Raw, level: str, path: str) -> None:
    """Kind, apiVersion and metadata have shapes of their own, which a schema can only repeat."""
    properties = raw["properties"]
    is_object = level == "root" or raw.get("x-kubernetes-embedded-resource")
    for key in ("kind", "apiVersion"):
        if is_object and key in properties and properties[key].get("type") != "string":
            stated = properties[key].get("type", "")
            errors.append(FieldError.invalid(f"{path}.properties[{key}].type", stated, "must be string"))
    metadata = properties.get("metadata")
    if metadata is None:
        return
    if is_object and metadata.get("type") != "object":
        place = f"{path}.properties[metadata].type"
        errors.append(FieldError.invalid(place, metadata.get("type", ""), "must be object"))
    named = set(metadata.get("properties") or ())
    said = {key for key, value in metadata.items() if value not in (None, "", [], {}, False)}
    if level == "root" and (not named <= {"name", "generateName"} or not said <= _ABOUT_METADATA):
        why = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        errors.append(FieldError.forbidden(f"{path}.properties[metadata]", why))


# Alternatives


def _branches(raw: Raw, path: str) -> Iterable[tuple[str, int, Raw, str]]:
    for word in ("anyOf", "allOf", "oneOf"):
        for index, branch in enumerate(raw.get(word) or ()):
            yield word, index, branch, f"{path}.{word}[{index}]"
    if raw.get("not") is not None:
        yield "not", 0, raw["not"], f"{path}.not"


def _check_values(
    errors: list[FieldError], raw: Raw, path: str, *, skip_any_of: bool = False, is_shape: bool = False
) -> None:
    for word, index, branch, inner in _branches(raw, path):
        if word == "anyOf" and skip_any_of:
            continue
        first = word == "allOf" and index == 0 and is_shape and branch.get("anyOf") == _ANY_OF_INT_OR_STRING
        _check_branch(errors, branch, inner, skip_any_of=first)
    pattern = raw.get("pattern")
    if pattern:
        try:
            compile_regex(pattern)
        except ValueError as problem:
            why = f"must be a valid regular expression, but isn't: {problem}"
            errors.append(FieldError.invalid(f"{path}.pattern", pattern, why))


def _check_branch(errors: list[FieldError], raw: Raw, path: str, *, skip_any_of: bool = False) -> None:
    _check_values(errors, raw, path, skip_any_of=skip_any_of)
    if isinstance(raw.get("items"), Mapping):
        _check_branch(errors, raw["items"], f"{path}.items")
    for key, child in (raw.get("properties") or {}).items():
        _check_branch(errors, child, f"{path}.properties[{key}]")
    if raw.get("type"):
        errors.append(FieldError.forbidden(f"{path}.type", "must be empty to be structural"))
    if raw.get("additionalProperties"):
        why = "must be undefined to be structural"
        errors.append(FieldError.forbidden(f"{path}.additionalProperties", why))
    for word, why in _SHAPE_ONLY:
        if raw.get(word) not in (None, "", [], False) or (word == "default" and raw.get(word) is not None):
            errors.append(FieldError.forbidden(f"{path}.{word}", why))
    if "metadata" in (raw.get("properties") or {}):
        why = "must not be specified in a nested context"
        errors.append(FieldError.forbidden(f"{path}.properties[metadata]", why))


def _check_complete(errors: list[FieldError], values: Raw, shape: Any, shape_path: str, path: str) -> None:
    """Everything that alternatives speak about must be part of the shape."""
    for _, _, branch, inner in _branches(values, path):
        _check_branch_complete(errors, branch, shape, shape_path, inner)


def _check_branch_complete(errors: list[FieldError], branch: Raw, shape: Any, shape_path: str, path: str) -> None:
    if not isinstance(shape, Mapping):
        errors.append(FieldError.required(shape_path, f"because it is defined in {path}"))
        return
    _check_complete(errors, branch, shape, shape_path, path)
    if isinstance(branch.get("items"), Mapping):
        _check_branch_complete(errors, branch["items"], shape.get("items"), f"{shape_path}.items", f"{path}.items")
    fields = shape.get("properties") or {}
    for key, child in (branch.get("properties") or {}).items():
        inner, inner_path = f"{shape_path}.properties[{key}]", f"{path}.properties[{key}]"
        _check_branch_complete(errors, child, fields.get(key), inner, inner_path)
