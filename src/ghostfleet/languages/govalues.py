"""Numbers and texts as Go writes them, which jq, templates and CEL show to their users.

A *JSON number* is Go's `json.Number`: a number that was read but not interpreted, so it keeps the digits it came with
and behaves as text. Floats are written with the shortest digits that name them, in the *forms* of `strconv`: `e` with
an exponent, `f` without one, `g` with one where the number is very large or very small.
"""

from __future__ import annotations

import json
import re
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from ghostfleet.languages.budget import BUDGET

__all__ = ["JsonNumber", "format_float", "json_float", "json_text", "quote", "truncated"]

_INT64 = 1 << 63


class JsonNumber(str):
    """A number as it stood in a JSON text."""

    __slots__ = ()


def format_float(value: float, form: str = "g", precision: int = -1) -> str:
    """`strconv.FormatFloat`; a precision of -1 asks for the shortest digits."""
    if value != value:
        return "NaN"
    if abs(value) == float("inf"):
        return "+Inf" if value > 0 else "-Inf"
    sign = "-" if str(value)[0] == "-" else ""
    exact = Decimal(repr(abs(value))) if precision < 0 else Decimal(abs(value))
    if form == "g":
        return sign + _general(exact, precision)
    if form == "f":
        return sign + (f"{exact:.{precision}f}" if precision >= 0 else _plain(exact))
    return sign + _scientific(exact, precision)


def _plain(exact: Decimal) -> str:
    text = f"{exact:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _scientific(exact: Decimal, precision: int) -> str:
    digits, exponent = _digits(exact)
    if precision >= 0:
        rounded = Context(prec=precision + 1, rounding=ROUND_HALF_EVEN).plus(exact)
        digits, exponent = _digits(rounded)
        digits = digits.ljust(precision + 1, "0")
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _general(exact: Decimal, precision: int) -> str:
    if precision >= 0:
        precision = precision or 1
        exact = Context(prec=precision, rounding=ROUND_HALF_EVEN).plus(exact)
    digits, exponent = _digits(exact)
    limit = precision if precision >= 0 else 6
    if precision > len(digits) > exponent:
        limit = len(digits)
    if exponent < -4 or exponent >= limit:
        return _scientific(exact, len(digits) - 1)
    return _plain(exact)


def _digits(exact: Decimal) -> tuple[str, int]:
    """The significant digits and the exponent of the first of them."""
    if not exact:
        return "0", 0
    digits = "".join(map(str, exact.as_tuple().digits)).rstrip("0")
    return digits, exact.adjusted()


def json_float(value: float) -> str:
    """A float as encoding/json writes it."""
    size = abs(value)
    if size and (size < 1e-6 or size >= 1e21):
        text = format_float(value, "e")
        # encoding/json writes e-9 where strconv writes e-09.
        return re.sub(r"e-0([0-9])$", r"e-\1", text)
    return format_float(value, "f")


def truncated(value: float) -> int:
    """A float without its fraction, within the range of int64."""
    if value != value:
        return -_INT64
    if abs(value) >= _INT64:
        return _INT64 - 1 if value > 0 else -_INT64
    return int(value)


_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_LINES = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029"})


def json_text(value: Any, *, html: bool = True, indent: str = "", newline: str = "") -> str:
    """`json.Marshal`: keys sorted, and by default the characters escaped that HTML would take for markup."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, JsonNumber):
        return str(value) or "0"
    if isinstance(value, str):
        BUDGET.handle(len(value))
        return json.dumps(value, ensure_ascii=False).translate(_HTML if html else _LINES)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        if value != value or abs(value) == float("inf"):
            raise ValueError(f"json: unsupported value: {format_float(value)}")
        return json_float(value)
    return _json_container(value, html, indent, newline)


def _json_container(value: Any, html: bool, indent: str, newline: str) -> str:
    inner = newline + indent if indent else ""
    BUDGET.step(1 + len(value))
    BUDGET.handle(len(inner) * len(value))
    if isinstance(value, dict):
        gap = ": " if indent else ":"
        parts = [
            f"{json_text(str(key), html=html)}{gap}{json_text(value[key], html=html, indent=indent, newline=inner)}"
            for key in sorted(value)
        ]
        opening, closing = "{", "}"
    else:
        parts = [json_text(part, html=html, indent=indent, newline=inner) for part in value]
        opening, closing = "[", "]"
    if not parts or not indent:
        return opening + ",".join(parts) + closing
    return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{newline}{closing}"


_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\"}


def quote(text: str, mark: str = '"', ascii_only: bool = False) -> str:
    """`strconv.Quote`: a Go literal for the text."""
    if text.isascii() and text.isprintable() and mark not in text and "\\" not in text:
        return mark + text + mark
    BUDGET.step(len(text) // 8)
    return mark + "".join(_quoted_character(one, mark, ascii_only) for one in text) + mark


def _quoted_character(one: str, mark: str, ascii_only: bool) -> str:
    if one == mark:
        return "\\" + one
    if one in _ESCAPES:
        return _ESCAPES[one]
    code = ord(one)
    if one.isprintable() and (code < 0x80 or not ascii_only):
        return one
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
