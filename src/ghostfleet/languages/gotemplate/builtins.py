"""The functions that every Go template has, and those that KWOK adds for all of them.

`and` and `or` are not here: they look at no more arguments than they need, and are compiled.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from urllib.parse import quote_plus

from ghostfleet.core.yamltext import emit
from ghostfleet.languages.budget import BUDGET, CHUNK
from ghostfleet.languages.gotemplate.arguments import Function, as_function, charged
from ghostfleet.languages.gotemplate.fmt import sprint, sprintf, sprintln
from ghostfleet.languages.gotemplate.values import (
    MISSING,
    Int,
    Quoted,
    TemplateError,
    is_data_number,
    is_true,
    kind_of,
    number_text,
    type_name,
    unsized,
)
from ghostfleet.languages.govalues import json_text, quote

__all__ = ["BUILTINS", "index_of", "quoted"]


def _place(index: Any, size: int) -> int:
    if kind_of(index) != "int":
        kind = "nil" if kind_of(index) == "invalid" else f"type {type_name(index)}"
        raise TemplateError(f"cannot index slice/array with {kind}")
    if not 0 <= index <= size:
        raise TemplateError(f"index out of range: {index}")
    return int(index)


def index_of(item: Any, *indexes: Any) -> Any:
    """`index x 1 "a"`: x[1]["a"]."""
    if item is None or item is MISSING:
        raise TemplateError("index of untyped nil")
    for index in indexes:
        kind = type(item)
        if kind is dict:
            if not isinstance(index, str) or is_data_number(index):
                raise TemplateError(f"value has type {type_name(index)}; should be string")
            item = item.get(index)
        elif kind is list or isinstance(item, str):
            if kind is not list:
                BUDGET.handle(len(item))
            whole = item if kind is list else number_text(item).encode()
            place = _place(index, len(whole))
            if place == len(whole):
                raise TemplateError("reflect: slice index out of range")
            item = whole[place] if kind is list else Int(whole[place])
        elif item is None:
            raise TemplateError("index of nil pointer")
        else:
            raise TemplateError(f"can't index item of type {type_name(item)}")
    return item


def length_of(item: Any) -> Int:
    kind = kind_of(item)
    if kind in ("slice", "map"):
        return Int(len(item))
    if kind == "string":
        text = number_text(item)
        BUDGET.handle(len(text))
        return Int(len(text.encode()))
    raise TemplateError(f"len of type {type_name(item)}")


def equal(first: Any, *others: Any) -> bool:
    """Whether the first is equal to any of the others; values of different kinds cannot be compared."""
    if not others:
        raise TemplateError("missing argument for comparison")
    return any(_equal(first, other) for other in others)


def _equal(first: Any, other: Any) -> bool:
    if type(first) is str:
        BUDGET.handle(len(first))
    kind, other_kind = kind_of(first), kind_of(other)
    if kind == "invalid" or other_kind == "invalid":
        return kind == other_kind
    if kind in ("slice", "map", "struct"):
        if kind != other_kind or kind != "struct":
            raise TemplateError(f"incompatible types for comparison: {type_name(first)} and {type_name(other)}")
        return bool(first == other)
    if kind != other_kind:
        raise TemplateError(f"incompatible types for comparison: {type_name(first)} and {type_name(other)}")
    return number_text(first) == number_text(other) if kind == "string" else bool(first == other)


def less(first: Any, other: Any) -> bool:
    kind, other_kind = kind_of(first), kind_of(other)
    if kind not in ("int", "float", "string") or other_kind not in ("int", "float", "string", "bool"):
        raise TemplateError("invalid type for comparison")
    if kind != other_kind:
        raise TemplateError(f"incompatible types for comparison: {type_name(first)} and {type_name(other)}")
    if kind == "string":
        text = number_text(first)
        BUDGET.handle(len(text))
        return text.encode() < number_text(other).encode()
    return bool(first < other)


def less_or_equal(first: Any, other: Any) -> bool:
    return less(first, other) or equal(first, other)


def _plain(values: tuple[Any, ...]) -> str:
    """Arguments as the escaping functions print them."""
    if len(values) == 1 and type(values[0]) is str:
        return values[0]
    return sprint(["<no value>" if value is None else value for value in values])


_HTML = str.maketrans({'"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;", "\0": "\ufffd"})
_SCRIPT = {"\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E", "&": "\\u0026", "=": "\\u003D"}


def _script(text: str) -> str:
    BUDGET.step(len(text) // 8)
    return "".join(_SCRIPT.get(one) or (one if one.isprintable() else f"\\u{ord(one):04X}") for one in text)


#: YAML takes a quoted text of up to 1024 characters for a key, if need be; longer ones are left as plain text.
_MOST_QUOTED = 900


@lru_cache(maxsize=4096)
def _quoted_text(value: str) -> str:
    text = json_text(value)
    if not (value.isascii() and value.isprintable()):
        return text
    made = Quoted(text)
    made.value = value
    return made


def quoted(value: Any) -> str:
    """KWOK's Quote: a JSON text, in quotes whatever the value is."""
    if type(value) is str:
        if len(value) < CHUNK:
            return _quoted_text(value)
        BUDGET.handle(len(value))
        return _quoted_text(value) if len(value) <= _MOST_QUOTED else json_text(value)
    text = json_text(unsized(value) if not is_data_number(value) else value)
    return text if text[0] == '"' else quote(text)


def as_yaml(value: Any, *indent: Any) -> str:
    """KWOK's YAML: the value as YAML, and with an indent on lines of its own, so many levels in."""
    before = BUDGET.steps
    plain = unsized(value)
    # Writing YAML takes ten times as long as going through the value.
    BUDGET.step(10 * (BUDGET.steps - before))
    text = emit(plain)
    BUDGET.handle(len(text))
    if len(indent) == 1 and indent[0] > 0:
        BUDGET.handle((text.count("\n") + 1) * indent[0] * 2)
        return f"\n{text}".replace("\n", "\n" + " " * (indent[0] * 2))
    return text


def node_conditions() -> list[dict[str, Any]]:
    """The conditions of a healthy node."""
    rows = (
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
    )
    return [
        {
            "type": sort,
            "status": status,
            "lastHeartbeatTime": None,
            "lastTransitionTime": None,
            "reason": reason,
            "message": message,
        }
        for sort, status, reason, message in rows
    ]


#: these work on no more than they name
_LIGHT = frozenset(("index", "len", "not", "eq", "ne", "lt", "le", "gt", "ge", "Quote", "NodeConditions"))
BUILTINS: dict[str, Function] = {
    name: (as_function if name in _LIGHT else charged)(name, signature, call)
    for name, signature, call in (
        ("html", "a*", lambda *values: _plain(values).translate(_HTML)),
        ("js", "a*", lambda *values: _script(_plain(values))),
        ("urlquery", "a*", lambda *values: quote_plus(_plain(values), safe="-_.~")),
        ("index", "vv*", index_of),
        ("len", "v", length_of),
        ("not", "v", lambda value: not is_true(value)),
        ("print", "a*", lambda *values: sprint(list(values))),
        ("printf", "sa*", lambda format, *values: sprintf(format, list(values))),
        ("println", "a*", lambda *values: sprintln(list(values))),
        ("eq", "vv*", equal),
        ("ne", "vv", lambda first, other: not equal(first, other)),
        ("lt", "vv", less),
        ("le", "vv", less_or_equal),
        ("gt", "vv", lambda first, other: not less_or_equal(first, other)),
        ("ge", "vv", lambda first, other: not less(first, other)),
        ("Quote", "a", quoted),
        ("YAML", "ai*", as_yaml),
        ("NodeConditions", "", node_conditions),
    )
}
