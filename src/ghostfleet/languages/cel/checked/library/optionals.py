"""Optional values: `optional.of(x)`, `a.?b.orValue(c)`."""

from __future__ import annotations

from typing import Any

from ghostfleet.languages.cel.checked.access import index, optional_index
from ghostfleet.languages.cel.checked.declarations import Function, function, overload
from ghostfleet.languages.cel.checked.values import NONE, Optional
from ghostfleet.languages.cel.values import CelError, Duration, Timestamp, Uint

__all__ = ["OPTIONALS"]

_O = "optional_type"
_ZEROS: dict[type, Any] = {bool: False, int: 0, Uint: Uint(0), float: 0.0, str: "", bytes: b"", list: [], dict: {},
                           Duration: Duration(0), Timestamp: Timestamp(-62135596800 * 10**9)}  # fmt: skip


def _of_non_zero(value: Any) -> Optional:
    zero = value is None or (type(value) in _ZEROS and value == _ZEROS[type(value)])
    return NONE if zero else Optional(value)


def _value(optional: Optional) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


def _or(first: Optional, second: Optional) -> Optional:
    return first if first.present else second


def _or_value(first: Optional, second: Any) -> Any:
    return first.value if first.present else second


def _unwrap(values: list[Optional]) -> list[Any]:
    return [each.value for each in values if each.present]


def _first(values: list[Any]) -> Optional:
    return Optional(values[0]) if values else NONE


def _last(values: list[Any]) -> Optional:
    return Optional(values[-1]) if values else NONE


OPTIONALS: list[Function] = [
    function("optional.of", overload(f"(V) -> {_O}(V)", Optional)),
    function("optional.ofNonZeroValue", overload(f"(V) -> {_O}(V)", _of_non_zero)),
    function("optional.none", overload(f"() -> {_O}(V)", lambda: NONE)),
    function("optional.unwrap", overload(f"(list({_O}(V))) -> list(V)", _unwrap)),
    function("unwrapOpt", overload(f"list({_O}(V)).() -> list(V)", _unwrap)),
    function("value", overload(f"{_O}(V).() -> V", _value)),
    function("hasValue", overload(f"{_O}(V).() -> bool", lambda optional: optional.present)),
    function("or", overload(f"{_O}(V).({_O}(V)) -> {_O}(V)", _or)),
    function("orValue", overload(f"{_O}(V).(V) -> V", _or_value)),
    function("first", overload(f"list(V).() -> {_O}(V)", _first)),
    function("last", overload(f"list(V).() -> {_O}(V)", _last)),
    function(
        "_[?_]",
        overload(f"(list(V), int) -> {_O}(V)", optional_index),
        overload(f"({_O}(list(V)), int) -> {_O}(V)", optional_index),
        overload(f"(map(K, V), K) -> {_O}(V)", optional_index),
        overload(f"({_O}(map(K, V)), K) -> {_O}(V)", optional_index),
    ),
    function(
        "_[_]",
        overload(f"({_O}(list(V)), int) -> {_O}(V)", index),
        overload(f"({_O}(map(K, V)), K) -> {_O}(V)", index),
    ),
]
