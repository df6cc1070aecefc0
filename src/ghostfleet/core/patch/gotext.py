"""Values in Go's words.

Messages of the API quote values as Go's `fmt` prints them: `map[name:a ports:[80 443]]`, `"quoted"`, `<nil>`. Clients
show such messages and scripts match them, so they are told in the same words.
"""

from __future__ import annotations

from typing import Any

import orjson

__all__ = ["cannot_decode", "go_json", "go_quote", "go_type", "go_value"]


def go_value(value: Any) -> str:
    """A JSON value as `%v` prints it."""
    if value is None:
        return "<nil>"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_value(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(go_value, value)) + "]"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def go_type(value: Any) -> str:
    """The type Go gives a decoded JSON value, as `%T` prints it."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "bool"
    names = {dict: "map[string]interface {}", list: "[]interface {}", str: "string", int: "int64", float: "float64"}
    return names[type(value)]


def cannot_decode(value: Any, wanted: str) -> str:
    """What Go says when JSON does not fit what it is to be decoded into."""
    names: dict[Any, str] = {dict: "object", list: "array", str: "string", bool: "bool", None.__class__: "null"}
    found = names.get(value.__class__, "number")
    return f"json: cannot unmarshal {found} into Go value of type {wanted}"


def go_quote(text: str) -> str:
    """A string as `%q` prints it."""
    return orjson.dumps(text).decode()


def go_json(value: Any) -> str:
    """JSON as Go's encoder writes it: sorted keys, and the characters that mean something to HTML escaped."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
