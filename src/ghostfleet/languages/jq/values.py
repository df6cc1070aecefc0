"""The values of jq, as gojq has them: order, arithmetic, indexing, text, and the errors they raise.

A value is JSON. A float is Go's float64, which every number of an object is; an int is Go's int, which lengths and
literals are, or a big integer beyond 64 bits; a `JsonNumber` comes out of `fromjson` and counts as whichever it looks
like. An *error* carries the value that `catch` receives. A *preview* is the start of a value's text, for messages.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import cmp_to_key
from typing import Any

from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.errors import EvaluationError
from ghostfleet.languages.govalues import JsonNumber, json_float, truncated

__all__ = [
    "ORDER",
    "Halt",
    "JqError",
    "bounds",
    "compare",
    "described",
    "encode",
    "index",
    "is_number",
    "number",
    "parse_number",
    "positions",
    "preview",
    "slice_of",
    "to_float",
    "to_int",
    "type_of",
    "wrong_type",
]

_INT64 = 1 << 63
_LARGEST = 1.7976931348623157e308


class JqError(EvaluationError):
    """An error that `try` can catch; `value` is what the handler gets."""

    def __init__(self, message: str, value: Any = None, *, raised: bool = False) -> None:
        super().__init__(message)
        self.value = value if raised else message


class Halt(JqError):
    """The end of the program, which nothing catches."""


_TYPES = {type(None): "null", bool: "boolean", str: "string", list: "array", dict: "object"}
_RANKS = {type(None): 0, bool: 1, int: 3, float: 3, JsonNumber: 3, str: 4, list: 5, dict: 6}


def type_of(value: Any) -> str:
    return _TYPES.get(type(value), "number")


def is_number(value: Any) -> bool:
    return type(value) in (int, float, JsonNumber)


def parse_number(text: str) -> int | float:
    """What the digits of a literal stand for."""
    if re.search(r"[.eE]", text):
        number = float(text)
        if math.isfinite(number):
            return number
        return -math.inf if text[0] == "-" else math.inf
    # Python reads no more digits than this at once; Go would go on for ever.
    return int(text) if len(text) < 4000 else math.copysign(math.inf, -1 if text[0] == "-" else 1)


def number(value: Any) -> Any:
    """A value with its JSON number interpreted."""
    return parse_number(value) if type(value) is JsonNumber else value


def to_float(value: Any) -> float | None:
    """A number as float, or None for anything else."""
    if not is_number(value):
        return None
    try:
        return float(number(value))
    except OverflowError:
        return math.inf if number(value) > 0 else -math.inf


def to_int(value: Any, *, up: bool = False) -> int | None:
    """A number as int64, cut off or rounded up, or None for anything else."""
    if not is_number(value):
        return None
    value = number(value)
    if type(value) is float:
        return truncated(math.ceil(value) if up and math.isfinite(value) else value)
    return int(max(-_INT64, min(_INT64 - 1, value)))


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1: null < false < true < numbers < texts < arrays < objects."""
    kind, other = type(left), type(right)
    if kind is other and kind is str:
        if left == right:
            BUDGET.handle(len(left))
            return 0
        return 1 if left > right else -1
    left_rank, right_rank = _RANKS[kind], _RANKS[other]
    if left_rank != right_rank:
        return -1 if left_rank < right_rank else 1
    if left_rank == 3:
        return _compare_numbers(number(left), number(right))
    if kind is list:
        return _compare_arrays(left, right)
    if kind is dict:
        return _compare_objects(left, right)
    return 0 if left_rank == 0 else int(left) - int(right)


def _compare_numbers(left: Any, right: Any) -> int:
    if (type(left) is float) != (type(right) is float):
        left, right = to_float(left), to_float(right)
    # Not a number is less than everything, itself included.
    return -1 if left < right or left != left else int(left != right)


def _compare_arrays(left: list[Any], right: list[Any]) -> int:
    BUDGET.step(1 + min(len(left), len(right)) // 4)
    for one, other in zip(left, right, strict=False):
        if order := compare(one, other):
            return order
    return (len(left) > len(right)) - (len(left) < len(right))


def _compare_objects(left: dict[str, Any], right: dict[str, Any]) -> int:
    BUDGET.step(1 + len(left) + len(right))
    keys = sorted(left)
    if order := _compare_arrays(keys, sorted(right)):
        return order
    return next((order for key in keys if (order := compare(left[key], right[key]))), 0)


#: key for sorting
ORDER = cmp_to_key(compare)

_CONTROLS = {code: f"\\u{code:04x}" for code in (*range(0x20), 0x7F)}
_CONTROLS |= str.maketrans({'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def encode(value: Any) -> str:
    """JSON as jq writes it: keys sorted, not a number as null, infinity as the largest float."""
    kind = type(value)
    if kind is str:
        BUDGET.handle(len(value))
        return f'"{value.translate(_CONTROLS)}"'
    if kind is float:
        return (
            "null" if value != value else json_float(max(-1.7976931348623157e308, min(value, 1.7976931348623157e308)))
        )
    if kind is list:
        BUDGET.step(1 + len(value))
        return f"[{','.join(map(encode, value))}]"
    if kind is dict:
        BUDGET.step(1 + 2 * len(value))
        return "{" + ",".join(f"{encode(key)}:{encode(value[key])}" for key in sorted(value)) + "}"
    if kind is bool or value is None:
        return json.dumps(value)
    return str(value)


_TAILS: dict[type, str] = {str: ' ..."', list: " ...]", dict: " ...}"}


_SHOWN = 30


def preview(value: Any) -> str:
    """The text of a value, cut to 30 bytes."""
    text = b""
    for piece in _pieces(value):
        text += piece.encode()
        if len(text) > _SHOWN:
            tail = _TAILS.get(type(value), " ...")
            return text[: _SHOWN - len(tail)].decode(errors="ignore") + tail
    return text.decode()


def _pieces(value: Any) -> Iterator[str]:
    """The text of a value from its beginning; of a long one no more is written than is asked for."""
    kind = type(value)
    if kind is list or kind is dict:
        yield "[" if kind is list else "{"
        for place, key in enumerate(value if kind is list else sorted(value)):
            if place:
                yield ","
            if kind is dict:
                yield f"{encode(key)}:"
            yield from _pieces(value[key] if kind is dict else key)
        yield "]" if kind is list else "}"
    else:
        yield encode(value[: 2 * _SHOWN] if kind is str else value)


def described(value: Any) -> str:
    return "null" if value is None else f"{type_of(value)} ({preview(value)})"


def wrong_type(name: str, value: Any, *arguments: Any) -> JqError:
    """The error of a function that takes no such value."""
    shown = f"({'; '.join(map(preview, arguments))})" if arguments else ""
    return JqError(f"{name}{shown} cannot be applied to: {described(value)}")


def _clamped(place: int, least: int, most: int) -> int:
    return max(least, min(most, place + most if place < 0 else place))


def index(value: Any, key: Any) -> Any:
    """`value[key]`."""
    kind, sort = type(value), type(key)
    if sort is str:
        if kind is dict:
            return value.get(key)
        if value is None:
            return None
        raise JqError(f"expected an object but got: {described(value)}")
    if is_number(key):
        return _element(value, key)
    if sort is list:
        return _positions(value, key)
    if sort is dict:
        if value is None:
            return None
        if not {"start", "end"} <= key.keys():
            raise JqError(f'expected "start" and "end" for slicing but got: {described(key)}')
        return slice_of(value, key["start"], key["end"])
    if kind in (list, str):
        noun = "an array" if kind is list else "a string"
        raise JqError(f"expected a number for indexing {noun} but got: {described(key)}")
    raise JqError(f"expected a string for object key but got: {described(key)}")


def _element(value: Any, key: Any) -> Any:
    if value is None:
        return None
    if type(value) not in (list, str):
        raise JqError(f"expected an array but got: {described(value)}")
    place = _clamped(to_int(key) or 0, -1, len(value))
    return value[place] if 0 <= place < len(value) else None


def _positions(value: Any, wanted: list[Any]) -> Any:
    if value is None:
        return None
    if type(value) is not list:
        raise JqError(f"expected an array but got: {described(value)}")
    return positions(value, wanted)


def positions(value: Any, wanted: Any) -> list[int]:
    """Where in an array another one starts."""
    size = len(wanted)
    if not size:
        return []
    BUDGET.step(len(value) * (1 + size // 16))
    return [place for place in range(len(value) - size + 1) if compare(value[place : place + size], wanted) == 0]


def slice_of(value: Any, start: Any, end: Any) -> Any:
    """`value[start:end]`."""
    if value is None:
        return None
    if type(value) not in (list, str):
        raise JqError(f"expected an array but got: {described(value)}")
    first, last = bounds(start, end, len(value), "an array" if type(value) is list else "a string")
    BUDGET.handle(last - first)
    return value if last - first == len(value) else value[first:last]


def bounds(start: Any, end: Any, size: int, noun: str = "an array") -> tuple[int, int]:
    """The places that a slice starts and ends at."""
    first, last = 0, size
    if start is not None:
        first = _clamped(_place(start, noun), 0, size)
    if end is not None:
        last = _clamped(_place(end, noun, up=True), first, size)
    return first, max(first, last)


def _place(value: Any, noun: str, *, up: bool = False) -> int:
    place = to_int(value, up=up)
    if place is None:
        raise JqError(f"expected a number for indexing {noun} but got: {described(value)}")
    return place
