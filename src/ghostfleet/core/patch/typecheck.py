"""Whether an applied object fits its type well enough to be merged.

Server-side apply merges by type, so a field that the type does not know, a scalar of the wrong sort, or an item without
its keys stops it. A *finding* is the path of a value and what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ghostfleet.core.patch.elements import MalformedList, item_element
from ghostfleet.core.patch.fieldset import path_text
from ghostfleet.core.patch.gotext import go_quote, go_type, go_value
from ghostfleet.core.schema import ANY, Type

__all__ = ["type_errors"]

_STRINGS = frozenset(("string", "bytes"))
_NUMBERS = frozenset(("integer", "number"))


def type_errors(obj: dict[str, Any], type: Type) -> str:
    """All findings in one text, empty if there is none."""
    findings = [f"{path}: {problem}" if path else problem for path, problem in _value(obj, type, "")]
    if len(findings) <= 1:
        return "".join(findings)
    return "\n".join(["errors:", *(f"  {finding}" for finding in findings)])


def _value(value: Any, type: Type, path: str) -> Iterator[tuple[str, str]]:
    if value is None or type.sort in ("any", "fieldsv1"):
        return
    if type.sort in ("object", "map"):
        if isinstance(value, dict):
            yield from _fields(value, type, path)
        else:
            yield path, f"expected map, got &{{{go_value(value)}}}"
    elif type.sort == "list":
        if isinstance(value, list):
            yield from _items(value, type, path)
        else:
            yield path, f"expected list, got &{{{go_value(value)}}}"
    elif problem := _scalar(value, type.sort):
        yield path, problem


def _fields(value: dict[str, Any], type: Type, path: str) -> Iterator[tuple[str, str]]:
    for key in sorted(value):
        child = type.child(key)
        if child is None:
            yield f"{path}.{key}", "field not declared in schema"
            return
        yield from _value(value[key], child, f"{path}.{key}")


def _items(value: list[Any], type: Type, path: str) -> Iterator[tuple[str, str]]:
    item_type = type.items or ANY
    if type.topology == "atomic":
        for index, item in enumerate(value):
            yield from _value(item, item_type, f"{path}[{index}]")
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        try:
            element = item_element(item, type)
        except MalformedList as error:
            yield path, f"element {index}: {error}"
            return
        text = path_text((element,))
        if element in seen:
            yield path, f"duplicate entries for key {text}"
        seen.add(element)
        yield from _value(item, item_type, path + text)


def _scalar(value: Any, sort: str) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if sort in _NUMBERS:
        return "" if is_number else f"expected numeric (int or float), got {go_type(value)}"
    if sort in _STRINGS:
        found = f"&value.valueUnstructured{{Value:{_source(value)}}}"
        return "" if isinstance(value, str) else f"expected string, got {found}"
    if sort == "boolean":
        return "" if isinstance(value, bool) else f"expected boolean, got &{{{go_value(value)}}}"
    return f"expected any scalar, got &{{{go_value(value)}}}" if isinstance(value, dict | list) else ""


def _source(value: Any) -> str:
    """A value as Go source would write it."""
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, dict):
        inner = ", ".join(f"{go_quote(key)}:{_source(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_source, value))}}}"
    return go_value(value)
