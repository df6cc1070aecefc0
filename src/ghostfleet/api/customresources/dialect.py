"""Dialect: which parts of OpenAPI a definition's schema may use, and how.

References, definitions, dependencies and a few more words have no place in it, maps and lists must say how they merge
in ways that fit their types, and metadata has no defaults of its own. Every node of the schema is looked at, in
alternatives too. A CEL rule must only be well formed here: nobody compiles it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ghostfleet.api.customresources.fieldpaths import is_field_path
from ghostfleet.api.customresources.nodes import META_FIELDS, Raw
from ghostfleet.core.errors import FieldError

__all__ = ["dialect_errors"]

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
#: Nodes with only these words need no look at themselves.
_HARMLESS = frozenset(
    {
        "description", "title", "format", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength",
        "minLength", "pattern", "maxItems", "minItems", "multipleOf", "enum", "maxProperties", "minProperties",
        "required", "externalDocs", "example", "nullable", "x-kubernetes-int-or-string", "properties", "items", "type",
    }
)  # fmt: skip
_RULE_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the schema we are: whether in metadata, and why there may be no default."""

    in_metadata: bool = False
    no_default: str | None = None


def dialect_errors(raw: Raw, path: str) -> list[FieldError]:
    """Everything in a version's schema that is not allowed in a definition."""
    errors: list[FieldError] = []
    _check(errors, raw, path, _Place(), is_root=True)
    return errors


def _check(errors: list[FieldError], raw: Raw, path: str, place: _Place, *, is_root: bool = False) -> None:
    stated = raw.get("type")
    if stated and stated not in _TYPES:
        errors.append(FieldError.unsupported(f"{path}.type", stated, _TYPES))
    if stated == "null":
        why = "type cannot be set to null, use nullable as an alternative"
        errors.append(FieldError.forbidden(f"{path}.type", why))
    plain = raw.keys() <= _HARMLESS
    if not plain:
        _check_words(errors, raw, path, place)
    _check_children(errors, raw, path, place, is_root=is_root)
    if not plain:
        _check_alternatives(errors, raw, path, place)
        _check_merging(errors, raw, stated or "", path)
        _check_rules(errors, raw, path)


def _check_words(errors: list[FieldError], raw: Raw, path: str, place: _Place) -> None:
    if raw.get("default") is not None and place.no_default is not None:
        errors.append(FieldError.forbidden(f"{path}.default", f"must not be set {place.no_default}"))
    errors += [
        FieldError.forbidden(f"{path}.{word}", f"{word} is not supported") for word in _UNSUPPORTED if raw.get(word)
    ]
    if place.in_metadata and raw.get("x-kubernetes-embedded-resource"):
        why = "must not be used inside of resource meta"
        errors.append(FieldError.forbidden(f"{path}.x-kubernetes-embedded-resource", why))
    if raw.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        errors.append(FieldError.forbidden(f"{path}.uniqueItems", why))
    if raw.get("x-kubernetes-preserve-unknown-fields") is False:
        place_of_it = f"{path}.x-kubernetes-preserve-unknown-fields"
        errors.append(FieldError.invalid(place_of_it, False, "must be true or undefined"))


def _check_children(errors: list[FieldError], raw: Raw, path: str, place: _Place, *, is_root: bool) -> None:
    additional, properties = raw.get("additionalProperties"), raw.get("properties") or {}
    if additional is not None:
        if properties and additional is not True:
            why = "additionalProperties and properties are mutual exclusive"
            errors.append(FieldError.forbidden(f"{path}.additionalProperties", why))
        if isinstance(additional, Mapping):
            inner = place
            if place.in_metadata:
                inner = replace(place, no_default="inside additionalProperties applying to object metadata")
            _check(errors, additional, f"{path}.additionalProperties", inner)
    has_metadata = is_root or raw.get("x-kubernetes-embedded-resource", False)
    for key, child in properties.items():
        inner = place
        if has_metadata and key in META_FIELDS:
            inner = _Place(True, f"in top-level {key}" if is_root else place.no_default)
        _check(errors, child, f"{path}.properties[{key}]", inner)
    items = raw.get("items")
    if isinstance(items, Mapping):
        _check(errors, items, f"{path}.items", place)
    elif items:
        errors.append(FieldError.forbidden(f"{path}.items", "items must be a schema object and not an array"))
        for index, item in enumerate(items):
            _check(errors, item, f"{path}.items[{index}]", place)


def _check_alternatives(errors: list[FieldError], raw: Raw, path: str, place: _Place) -> None:
    if raw.get("not") is not None:
        _check(errors, raw["not"], f"{path}.not", place)
    for word in ("allOf", "oneOf", "anyOf"):
        for index, branch in enumerate(raw.get(word) or ()):
            _check(errors, branch, f"{path}.{word}[{index}]", place)
    for key, definition in (raw.get("definitions") or {}).items():
        _check(errors, definition, f"{path}.definitions[{key}]", place)


# How maps and lists merge


def _check_merging(errors: list[FieldError], raw: Raw, stated: str, path: str) -> None:
    map_type, list_type = raw.get("x-kubernetes-map-type"), raw.get("x-kubernetes-list-type")
    keys, items = raw.get("x-kubernetes-list-map-keys") or [], raw.get("items")
    if map_type is not None:
        _check_stated(errors, stated, "object", f"{path}.type", "x-kubernetes-map-type")
        if map_type not in ("atomic", "granular"):
            supported = ("atomic", "granular")
            errors.append(FieldError.unsupported(f"{path}.x-kubernetes-map-type", map_type, supported))
    if list_type is not None:
        _check_list(errors, raw, stated, path)
    if keys and list_type != "map":
        place, why = f"{path}.x-kubernetes-list-type", "must be map if x-kubernetes-list-map-keys is non-empty"
        errors.append(
            FieldError.required(place, why) if list_type is None else FieldError.invalid(place, list_type, why)
        )
    if list_type == "map":
        _check_map_list(errors, items, keys, path)
    if list_type in ("set", "map") and isinstance(items, Mapping):
        _check_nulls(errors, items, list_type, keys, path)


def _check_stated(errors: list[FieldError], stated: str, wanted: str, path: str, word: str) -> bool:
    if stated == wanted:
        return True
    why = f"must be {wanted} if {word} is specified"
    errors.append(FieldError.invalid(path, stated, why) if stated else FieldError.required(path, why))
    return False


def _check_list(errors: list[FieldError], raw: Raw, stated: str, path: str) -> None:
    list_type, items = raw["x-kubernetes-list-type"], raw.get("items")
    fits = _check_stated(errors, stated, "array", f"{path}.type", "x-kubernetes-list-type")
    if fits and list_type == "set" and isinstance(items, Mapping):
        why = "must be atomic as item of a list with x-kubernetes-list-type=set"
        inner = items.get("x-kubernetes-list-type")
        if items.get("type") == "array" and inner not in (None, "atomic"):
            errors.append(FieldError.invalid(f"{path}.items.x-kubernetes-list-type", inner, why))
        if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
            errors.append(FieldError.invalid(f"{path}.items.x-kubernetes-map-type", inner, why))
    if list_type not in ("atomic", "set", "map"):
        supported = ("atomic", "set", "map")
        errors.append(FieldError.unsupported(f"{path}.x-kubernetes-list-type", list_type, supported))


def _check_map_list(errors: list[FieldError], items: Any, keys: list[str], path: str) -> None:
    place = f"{path}.x-kubernetes-list-map-keys"
    if not keys:
        errors.append(FieldError.required(place, "must not be empty if x-kubernetes-list-type is map"))
    if items is None:
        why = "must have a schema if x-kubernetes-list-type is map"
        errors.append(FieldError.required(f"{path}.items", why))
    if not isinstance(items, Mapping):
        return
    if items.get("type") != "object":
        why = "must be object if parent array's x-kubernetes-list-type is map"
        errors.append(FieldError.invalid(f"{path}.items.type", items.get("type", ""), why))
        return
    fields = items.get("properties") or {}
    for index, key in enumerate(keys):
        if key not in fields:
            errors.append(FieldError.invalid(place, keys, "entries must all be names of item properties"))
        elif fields[key].get("type") in ("array", "object"):
            why = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            errors.append(FieldError.invalid(f"{path}.items.properties[{key}].type", "object", why))
        if key in keys[:index]:
            errors.append(FieldError.invalid(place, keys, "must not contain duplicate entries"))


def _check_nulls(errors: list[FieldError], items: Raw, list_type: str, keys: list[str], path: str) -> None:
    if items.get("nullable"):
        why = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        errors.append(FieldError.forbidden(f"{path}.items.nullable", why))
    if list_type != "map":
        return
    fields, required = items.get("properties") or {}, items.get("required") or ()
    for key in keys:
        if key not in fields:
            continue
        place = f"{path}.items.properties[{key}]"
        if key not in required and fields[key].get("default") is None:
            why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            errors.append(FieldError.required(f"{place}.default", why))
        if fields[key].get("nullable"):
            why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            errors.append(FieldError.forbidden(f"{place}.nullable", why))


# CEL rules


def _check_rules(errors: list[FieldError], raw: Raw, path: str) -> None:
    for index, rule in enumerate(raw.get("x-kubernetes-validations") or ()):
        _check_rule(errors, raw, rule, f"{path}.x-kubernetes-validations[{index}]")


def _check_rule(errors: list[FieldError], raw: Raw, rule: Raw, path: str) -> None:
    text, message, where = rule.get("rule", ""), rule.get("message", ""), rule.get("fieldPath", "")
    if not text.strip():
        errors.append(FieldError.required(f"{path}.rule", "rule is not specified"))
    elif message and not message.strip():
        errors.append(FieldError.invalid(f"{path}.message", message, "must be non-empty if specified"))
    elif _has_lines(message.strip()):
        errors.append(FieldError.invalid(f"{path}.message", message, "must not contain line breaks"))
    elif _has_lines(text.strip()) and not message.strip():
        why = "message must be specified if rule contains line breaks"
        errors.append(FieldError.required(f"{path}.message", why))
    expression = rule.get("messageExpression", "")
    if expression and not expression.strip():
        why = "messageExpression must be non-empty if specified"
        errors.append(FieldError.required(f"{path}.messageExpression", why))
    if rule.get("reason") is not None and rule["reason"] not in _RULE_REASONS:
        errors.append(FieldError.unsupported(f"{path}.reason", rule["reason"], _RULE_REASONS))
    if where and not where.strip():
        errors.append(FieldError.invalid(f"{path}.fieldPath", where, "must be non-empty if specified"))
    if _has_lines(where):
        errors.append(FieldError.invalid(f"{path}.fieldPath", where, "must not contain line breaks"))
    if where and not is_field_path(where, raw):
        errors.append(FieldError.invalid(f"{path}.fieldPath", where, "must be a valid path"))


def _has_lines(text: str) -> bool:
    return "\n" in text or "\r" in text
