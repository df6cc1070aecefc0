"""`"...".format([...])`: texts with places for values, `%s`, `%d`, `%.2f`, `%e`, `%b`, `%o`, `%x` and `%X`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ghostfleet.languages.cel.checked.values import type_name
from ghostfleet.languages.cel.values import CelError, Duration, Timestamp, TypeName, Uint
from ghostfleet.languages.govalues import format_float

__all__ = ["CLAUSES", "clauses", "format_text", "unknown_clause"]

_CLAUSE = re.compile(r"%(?:%|(?:\.(\d+))?(.?))", re.DOTALL)
#: digits after the dot if none are asked for
_PRECISION = 6
#: more would only be a cost
_MOST_DIGITS = 1000


_HEX = ("only integers, byte buffers, and strings can be formatted as hex", ("int", "uint", "string", "bytes"))
#: for each place, what is said of a value that does not fit, and the kinds of those that may
CLAUSES: dict[str, tuple[str, tuple[str, ...]]] = {
    "s": (
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, "
        "and timestamps",
        ("list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration", "type", "null"),
    ),
    "d": ("decimal clause can only be used on integers", ("int", "uint")),
    "f": ("fixed-point clause can only be used on doubles", ("double", "string")),
    "e": ("scientific clause can only be used on doubles", ("double", "string")),
    "b": ("only integers and bools can be formatted as binary", ("int", "uint", "bool")),
    "o": ("octal clause can only be used on integers", ("int", "uint")),
    "x": _HEX,
    "X": _HEX,
}


def clauses(text: str) -> list[tuple[str, str]]:
    """The places for values in a text: how many digits are asked for, and the verb."""
    return [(match[1] or "", match[2]) for match in _CLAUSE.finditer(text) if match[0] != "%%"]


def unknown_clause(verb: str) -> str:
    """What is said of a place for which there is no such verb, or none."""
    if not verb:
        return "unexpected end of string"
    return f'could not parse formatting clause: unrecognized formatting clause "{verb}"'


def format_text(text: str, values: list[Any]) -> str:
    remaining = list(values)

    def clause(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        verb = match[2]
        if verb not in CLAUSES:
            raise CelError(unknown_clause(verb))
        if not remaining:
            raise CelError(f"index {len(values)} out of range")
        precision = _PRECISION if match[1] is None else int(match[1])
        if precision > _MOST_DIGITS:
            raise CelError(f"error while converting precision to integer: {precision} is more than {_MOST_DIGITS}")
        return _VERBS[verb](remaining.pop(0), precision)

    return _CLAUSE.sub(clause, text)


def _no(verb: str, value: Any) -> CelError:
    return CelError(f"error during formatting: {CLAUSES[verb][0]}, was given {type_name(value)}")


def _string(value: Any, _: int = 0) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case bytes():
            return value.decode("utf-8", "replace")
        case None:
            return "null"
        case float():
            return format_float(value)
        case int():
            return str(int(value))
        case list():
            return "[" + ", ".join(map(_inside, value)) + "]"
        case dict():
            parts = sorted((_inside(key), _inside(part)) for key, part in value.items())
            return "{" + ", ".join(f"{key}:{part}" for key, part in parts) + "}"
        case Timestamp() | Duration() | TypeName():
            return str(value)
    raise _no("s", value)


def _inside(value: Any) -> str:
    """A value within a list or a map, where texts have quotes."""
    return f'"{value}"' if isinstance(value, str) else _string(value)


def _decimal(value: Any, _: int) -> str:
    if type(value) not in (int, Uint):
        raise _no("d", value)
    return str(int(value))


def _fixed(value: Any, precision: int) -> str:
    return f"{_number(value, 'f'):,.{precision}f}"


def _scientific(value: Any, precision: int) -> str:
    mantissa, _, exponent = f"{_number(value, 'e'):.{precision}e}".partition("e")
    return f"{mantissa} × 10{exponent.translate(_SUPERSCRIPTS)}"


_SUPERSCRIPTS = str.maketrans("+-0123456789", "⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _number(value: Any, verb: str) -> float:
    if type(value) not in (int, Uint, float):
        raise _no(verb, value)
    return float(value)


def _binary(value: Any, _: int) -> str:
    if type(value) is bool:
        return "1" if value else "0"
    if type(value) not in (int, Uint):
        raise _no("b", value)
    return f"{value:b}"


def _octal(value: Any, _: int) -> str:
    if type(value) not in (int, Uint):
        raise _no("o", value)
    return f"{value:o}"


def _hexadecimal(value: Any, _: int) -> str:
    if isinstance(value, str):
        return value.encode().hex()
    if isinstance(value, bytes):
        return value.hex()
    if type(value) not in (int, Uint):
        raise _no("x", value)
    return f"{value:x}"


_VERBS: dict[str, Callable[[Any, int], str]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "o": _octal,
    "x": _hexadecimal,
    "X": lambda value, precision: _hexadecimal(value, precision).upper(),
}
