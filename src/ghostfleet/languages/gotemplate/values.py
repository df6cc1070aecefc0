"""The values that Go templates work with, and the Go types that they stand for.

The data of a template is JSON that was decoded with its numbers kept as `json.Number`: a type of text, which is why
`eq .n 1` fails and `if .n` is true even for 0. So a plain Python int or float, as found in an object, stands for a
json.Number; what the template itself makes of numbers is an `Int`, an `Int64` or a `Float`. `MISSING` is what is not
there at all (Go's zero reflect.Value), unlike None, which is null. A `Quoted` is a text that the function Quote made,
which remembers what it quoted.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.errors import EvaluationError
from ghostfleet.languages.govalues import JsonNumber, json_float

__all__ = [
    "MISSING",
    "Float",
    "Int",
    "Int64",
    "Quoted",
    "TemplateError",
    "is_data_number",
    "is_true",
    "kind_of",
    "number_text",
    "type_name",
    "unsized",
]


class TemplateError(EvaluationError):
    """A template that cannot be carried out on its data."""


class _Missing:
    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING: Any = _Missing()


class Int(int):
    """Go's int: a literal, an index, a length."""

    __slots__ = ()


class Int64(Int):
    """Go's int64: what arithmetic functions give."""

    __slots__ = ()


class Float(float):
    """Go's float64."""

    __slots__ = ()


class Quoted(str):
    """A text in double quotes, and the plain text between them."""

    __slots__ = ("value",)
    value: str


def is_data_number(value: Any) -> bool:
    """Whether a value is a json.Number."""
    kind = type(value)
    return kind is int or kind is float or kind is JsonNumber


def number_text(value: Any) -> str:
    """The digits of a json.Number."""
    return json_float(value) if type(value) is float else str(value)


_KINDS: dict[type, str] = {
    str: "string",
    Quoted: "string",
    JsonNumber: "string",
    int: "string",
    float: "string",
    bool: "bool",
    Int: "int",
    Int64: "int",
    Float: "float",
    list: "slice",
    dict: "map",
    type(None): "invalid",
    _Missing: "invalid",
}
_NAMES: dict[type, str] = {
    str: "string",
    Quoted: "string",
    JsonNumber: "json.Number",
    int: "json.Number",
    float: "json.Number",
    bool: "bool",
    Int: "int",
    Int64: "int64",
    Float: "float64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


def kind_of(value: Any) -> str:
    """The kind that decides what may be compared and printed how: string, int, float, bool, slice, map, struct."""
    return _KINDS.get(type(value), "struct")


def type_name(value: Any) -> str:
    return "<nil>" if value is None or value is MISSING else _NAMES.get(type(value), "time.Time")


def is_true(value: Any) -> bool:
    """Truth in templates: not empty. A json.Number is a text, and never an empty one."""
    kind = type(value)
    if kind is int or kind is float:
        return True
    return bool(value)


def unsized(value: Any) -> Any:
    """Plain JSON, as encoding/json would write it and a reader take it back."""
    kind = type(value)
    if kind is dict or kind is list:
        BUDGET.step(1 + len(value))
    if kind is dict:
        return {key: unsized(part) for key, part in value.items()}
    if kind is list:
        return [unsized(part) for part in value]
    if kind is JsonNumber:
        return float(value) if any(letter in value for letter in ".eE") else int(value)
    if kind is Quoted:
        return str(value)
    if isinstance(value, Int):
        return int(value)
    if kind is Float:
        return int(value) if value.is_integer() and abs(value) < 1 << 53 else float(value)
    return None if value is MISSING else value
