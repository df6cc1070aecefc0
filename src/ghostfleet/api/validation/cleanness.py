"""Cleanness: whether a value is written as Kubernetes writes it, compiled to one function a type.

A value is *clean* when it has the type that its schema asks for, no field in it is unknown, null or empty where
Kubernetes leaves it out, and quantities and times are in their canonical form. Nearly all values are.

A *time* is in UTC with whole seconds, a *micro time* has exactly six digits, and any other number of them is refused
in the words of Go's `time.Parse`. A *union* is a place in a definition's schema that holds a schema or something
simpler: `items` a schema or a list of them, `additionalProperties` a schema or a boolean, a dependency a schema or a
list of names. Other values count as nothing there, except where a boolean should be.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

from ghostfleet.api.builtin import type_named
from ghostfleet.core.quantity import canonical
from ghostfleet.core.schema import Type
from ghostfleet.core.timestamps import parse_rfc3339, rfc3339, rfc3339_micro

__all__ = ["Union", "base64_text", "cleanness", "micro_time", "omitted", "rfc3339_time", "union_of"]

_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_SIX_DIGITS = re.compile(r"\.\d{6}")
_ZONE = re.compile(r"Z|[+-]\d\d:\d\d")
_SCHEMA = "JSONSchemaProps"
Clean = Callable[[Any], bool]
_INT_RANGES = {"int32": (-(2**31), 2**31 - 1), "uint32": (0, 2**32 - 1)}
_INT64 = (-(2**63), 2**63 - 1)
_COMPILED: dict[Type, Clean] = {}
_BASE64_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_PLAIN_TYPES: dict[str, type] = {"string": str, "boolean": bool, "duration": str}
#: Lists that are optional and shown all the same.
_SHOWN_EMPTY = frozenset(
    (
        "AllocatedDeviceStatus.conditions",
        "CSINodeDriver.topologyKeys",
        "ClusterRole.rules",
        "ContainerImage.names",
        "CustomResourceDefinitionStatus.conditions",
        "CustomResourceDefinitionStatus.storedVersions",
        "DeviceClaim.requests",
        "EndpointSlice.endpoints",
        "EndpointSlice.ports",
        "HorizontalPodAutoscalerStatus.currentMetrics",
        # An empty one means something: that the fields shall have no owners.
        "ObjectMeta.managedFields",
        "ProjectedVolumeSource.sources",
        "ResourcePolicyRule.namespaces",
        "Role.rules",
        "TokenRequestSpec.audiences",
    )
)
_NOTHINGS: dict[str, type] = {
    "string": str,
    "bytes": str,
    "boolean": bool,
    "integer": int,
    "list": list,
    "map": dict,
}


@lru_cache(maxsize=4096)
def rfc3339_time(text: str) -> str:
    return rfc3339(parse_rfc3339(text))


@lru_cache(maxsize=4096)
def micro_time(text: str) -> str:
    if seconds := _SECONDS.match(text):
        at = seconds.end()
        digits = _SIX_DIGITS.match(text, at)
        if digits is None:
            raise _mismatch(text, text[at:], ".000000")
        if _ZONE.match(text, digits.end()) is None:
            raise _mismatch(text, text[digits.end() :], "Z07:00")
    try:
        return rfc3339_micro(parse_rfc3339(text))
    except ValueError as problem:
        raise ValueError(str(problem).replace("2006-01-02T15:04:05Z07:00", _MICRO_LAYOUT)) from None


def _mismatch(text: str, rest: str, part: str) -> ValueError:
    return ValueError(f'parsing time "{text}" as "{_MICRO_LAYOUT}": cannot parse "{rest}" as "{part}"')


class Union(NamedTuple):
    """A schema, or a list of `items`, or a boolean if there are none."""

    schema: Type
    items: Type | None


@cache
def union_of(name: str) -> Union | None:
    """The union that the type of this full name is, if it is one."""
    base, _, alternative = name.rpartition(f".{_SCHEMA}Or")
    if not base:
        return None
    schema = type_named(f"{base}.{_SCHEMA}")
    items = {"Array": schema, "StringArray": Type("string")}.get(alternative)
    return Union(schema, items)


def cleanness(type_: Type) -> Clean:
    """What tells whether a value is a clean one of this type."""
    compiled = _COMPILED.get(type_)
    if compiled is None:
        compiled = _COMPILED[type_] = _COMPILERS.get(type_.sort, _compile_any)(type_)
    return compiled


def _compile_object(type_: Type) -> Clean:
    plain: dict[str, type] = {}
    checks: dict[str, Clean] = {}
    preserve = type_.preserve
    empty = omitted(type_)

    def clean(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for key, item in value.items():
            if not item and key in empty and type(item) is empty[key]:
                return False
            if type(item) is plain.get(key):
                continue
            check = checks.get(key)
            if check is None:
                if not preserve or key in plain:
                    return False
            elif not check(item):
                return False
        return True

    # Types may hold themselves: the function must be known before its fields are compiled.
    _COMPILED[type_] = clean
    for name, field in type_.fields.items():
        if field.sort in _PLAIN_TYPES:
            plain[name] = _PLAIN_TYPES[field.sort]
        else:
            checks[name] = cleanness(field)
    return clean


@cache
def omitted(type_: Type) -> dict[str, type]:
    """The fields that Kubernetes leaves out when they are zero, with the Python type of what they hold.

    That is what plain scalars do, and all lists and maps but those that must be there or are among the few exceptions.
    """
    short = type_.name.rpartition(".")[2]
    return {
        name: _NOTHINGS[field.sort]
        for name, field in type_.fields.items()
        if (name in type_.omits and field.sort in _NOTHINGS)
        or (
            field.sort in ("list", "map")
            and type_.name.startswith("io.k8s.")
            and name not in type_.required
            and f"{short}.{name}" not in _SHOWN_EMPTY
        )
    }


def _compile_map(type_: Type) -> Clean:
    if type_.items is None:
        return lambda value: type(value) is dict
    item_clean = cleanness(type_.items)

    def clean(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for item in value.values():  # noqa: SIM110 - all() with a generator costs twice the time here
            if not item_clean(item):
                return False
        return True

    return clean


def _compile_list(type_: Type) -> Clean:
    if type_.items is None:
        return lambda value: type(value) is list
    item_clean = cleanness(type_.items)

    def clean(value: Any) -> bool:
        if type(value) is not list:
            return False
        for item in value:  # noqa: SIM110 - all() with a generator costs twice the time here
            if not item_clean(item):
                return False
        return True

    return clean


def _compile_integer(type_: Type) -> Clean:
    low, high = _INT_RANGES.get(type_.format, _INT64)
    return lambda value: type(value) is int and low <= value <= high


def _compile_number(_: Type) -> Clean:
    return lambda value: type(value) in (int, float)


def _compile_text(rewrite: Callable[[str], str]) -> Callable[[Type], Clean]:
    def clean(value: Any) -> bool:
        try:
            return type(value) is str and rewrite(value) == value
        except ValueError:
            return False

    return lambda _: clean


def _compile_any(type_: Type) -> Clean:
    union = union_of(type_.name)
    if union is None:
        return lambda _: True
    schema_clean = cleanness(union.schema)
    if union.items is None:
        return lambda value: value is None or type(value) is bool or schema_clean(value)
    item_clean = cleanness(union.items)
    return lambda value: value is None or (all(map(item_clean, value)) if type(value) is list else schema_clean(value))


def base64_text(text: str) -> str:
    """The text as standard base64 without line breaks; ValueError carries Go's words."""
    text = text.replace("\n", "").replace("\r", "")
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError(f"illegal base64 data at input byte {_first_illegal(text)}") from None
    return text


def _first_illegal(text: str) -> int:
    body = text.rstrip("=")
    for index, character in enumerate(body):
        if character not in _BASE64_ALPHABET:
            return index
    # All letters are fine, so the last group is too short: it is what cannot be read.
    return len(text) if len(body) != len(text) else len(body) // 4 * 4


def _plainly(clean: Clean) -> Callable[[Type], Clean]:
    """A kind of value that is clean or not whatever else its type says."""

    def compile_plainly(_: Type) -> Clean:
        return clean

    return compile_plainly


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_boolean(value: Any) -> bool:
    return type(value) is bool


def _is_integer_or_text(value: Any) -> bool:
    return type(value) is str or (type(value) is int and -(2**31) <= value < 2**31)


_COMPILERS: dict[str, Callable[[Type], Clean]] = {
    "object": _compile_object,
    "map": _compile_map,
    "list": _compile_list,
    "integer": _compile_integer,
    "number": _compile_number,
    "string": _plainly(_is_text),
    "duration": _plainly(_is_text),
    "boolean": _plainly(_is_boolean),
    "intorstring": _plainly(_is_integer_or_text),
    "quantity": _compile_text(canonical),
    "time": _compile_text(rfc3339_time),
    "microtime": _compile_text(micro_time),
    "bytes": _compile_text(base64_text),
}
