"""Go's package fmt: how values print, alone and in the formats of `printf`.

A *verb* is a letter after `%` that says how to print an argument; before it may stand flags, a width and a precision.
A verb that does not suit its argument prints a complaint in place of it, as in Go.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.gotemplate.values import (
    MISSING,
    Float,
    Int,
    is_data_number,
    kind_of,
    number_text,
    type_name,
)
from ghostfleet.languages.govalues import format_float, quote

__all__ = ["go_syntax", "printed", "sprint", "sprintf", "sprintln"]

_DIRECTIVE = re.compile(
    r"%([#0+\- ]*)(?:\[(\d+)\])?(\*|\d+)?(?:\.(?:\[(\d+)\])?(\*|\d*))?(?:\[(\d+)\])?(.?)", re.DOTALL
)


def printed(value: Any) -> str:
    """A value as `%v` shows it."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if value is None or value is MISSING:
        return "<nil>"
    if kind is bool:
        return "true" if value else "false"
    if kind is list:
        BUDGET.step(1 + len(value))
        return f"[{' '.join(map(_printed_part, value))}]"
    if kind is dict:
        BUDGET.step(1 + 2 * len(value))
        return f"map[{' '.join(f'{key}:{_printed_part(value[key])}' for key in sorted(value))}]"
    if kind is Float:
        return format_float(value)
    return number_text(value) if is_data_number(value) else str(value)


def _printed_part(value: Any) -> str:
    text = printed(value)
    BUDGET.handle(len(text))
    return text


def go_syntax(value: Any) -> str:
    """A value as `%#v` shows it: as Go source."""
    kind = kind_of(value)
    if kind == "invalid":
        return "<nil>"
    if kind == "string":
        return quote(number_text(value))
    if kind == "slice" or kind == "map":
        BUDGET.step(1 + 2 * len(value))
    if kind == "slice":
        return f"[]interface {{}}{{{', '.join(map(_inner_syntax, value))}}}"
    if kind == "map":
        parts = ", ".join(f"{quote(key)}:{_inner_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{parts}}}"
    return printed(value)


def _inner_syntax(value: Any) -> str:
    return "interface {}(nil)" if value is None else go_syntax(value)


def sprint(values: list[Any]) -> str:
    """`fmt.Sprint`: a space between two values of which neither is a text."""
    pieces: list[str] = []
    after_text = True
    for value in values:
        is_text = kind_of(value) == "string"
        pieces += ["" if is_text or after_text else " ", _printed_part(value)]
        after_text = is_text
    return "".join(pieces)


def sprintln(values: list[Any]) -> str:
    return " ".join(map(_printed_part, values)) + "\n"


@dataclass(slots=True)
class _Style:
    """What stands between `%` and the verb."""

    flags: str
    width: int = 0
    precision: int | None = None

    def padded(self, text: str, zeros: bool = False) -> str:
        BUDGET.handle(self.width)
        if "-" in self.flags:
            return text.ljust(self.width)
        if zeros and "0" in self.flags:
            sign = text[:1] if text[:1] in ("+", "-", " ") else ""
            return sign + text[len(sign) :].rjust(self.width - len(sign), "0")
        return text.rjust(self.width, "0" if "0" in self.flags and not zeros else " ")


#: the largest width and precision of Go
_LARGEST = 1_000_000


def _too_large(directive: re.Match[str]) -> bool:
    return any(
        digits and digits != "*" and (len(digits) > 7 or int(digits) > _LARGEST) for digits in directive.group(3, 5)
    )


def sprintf(format: str, values: list[Any]) -> str:
    """`fmt.Sprintf`."""
    return _Printing(values).whole(format)


class _Printing:
    def __init__(self, values: list[Any]) -> None:
        self.values = values
        self.next = 0
        self.reordered = False

    def whole(self, format: str) -> str:
        large = next((found for found in _DIRECTIVE.finditer(format) if _too_large(found)), None)
        # Go gives up on the rest of a format where a width or a precision is too large for it.
        made = _DIRECTIVE.sub(self.directive, format if large is None else format[: large.start()])
        if large is not None:
            made += "%!(NOVERB)"
        rest = self.values[self.next :]
        if rest and not self.reordered:
            shown = ", ".join("<nil>" if value is None else f"{type_name(value)}={printed(value)}" for value in rest)
            made += f"%!(EXTRA {shown})"
        return made

    def directive(self, match: re.Match[str]) -> str:
        flags, at_width, width, at_precision, precision, at_value, verb = match.groups()
        BUDGET.step()
        complaint = ""
        good = self.jump(at_width) if at_width and (width == "*" or verb) else True
        style = _Style(flags)
        if width == "*":
            number, given = self.number()
            complaint += "" if given else "%!(BADWIDTH)"
            style.width = abs(number)
            style.flags += "-" if number < 0 else ""
        elif width:
            style.width = int(width)
        if precision is not None:
            good = (self.jump(at_precision) if at_precision else True) and good
            if precision == "*":
                number, given = self.number()
                complaint += "" if given and number >= 0 else "%!(BADPREC)"
                style.precision = number if given and number >= 0 else None
            else:
                style.precision = int(precision or 0)
        good = (self.jump(at_value) if at_value else True) and good
        if not verb:
            return complaint + "%!(NOVERB)"
        return complaint + self.printed(verb, style, good)

    def jump(self, place: str) -> bool:
        self.reordered = True
        if len(place) > 9 or not 1 <= int(place) <= len(self.values):
            return False
        self.next = int(place) - 1
        return True

    def number(self) -> tuple[int, bool]:
        """The argument that a star asks for."""
        value = self.values[self.next] if self.next < len(self.values) else None
        self.next += 1
        return (int(value), True) if isinstance(value, Int) and abs(value) <= _LARGEST else (0, False)

    def printed(self, verb: str, style: _Style, good: bool) -> str:
        if verb == "%":
            return "%"
        if not good:
            return f"%!{verb}(BADINDEX)"
        if self.next >= len(self.values):
            return f"%!{verb}(MISSING)"
        value = self.values[self.next]
        self.next += 1
        return _formatted(value, verb, style)


def _formatted(value: Any, verb: str, style: _Style) -> str:
    if verb == "T":
        return style.padded(type_name(value))
    if verb == "v" and "#" in style.flags:
        return style.padded(go_syntax(value))
    kind = kind_of(value)
    if kind == "slice" or kind == "map":
        BUDGET.step(1 + 2 * len(value))
    if value is None or value is MISSING:
        return style.padded("<nil>") if verb == "v" else f"%!{verb}(<nil>)"
    if kind == "slice":
        return f"[{' '.join(_inner(part, verb, style) for part in value)}]"
    if kind == "map":
        pairs = (f"{_formatted(key, verb, style)}:{_inner(value[key], verb, style)}" for key in sorted(value))
        return f"map[{' '.join(pairs)}]"
    if kind == "struct":
        return style.padded(printed(value))
    written = _WRITERS[kind](value, verb, style)
    return f"%!{verb}({type_name(value)}={printed(value)})" if written is None else written


def _inner(value: Any, verb: str, style: _Style) -> str:
    """A part of a list or map, where null suits every verb."""
    return "<nil>" if value is None else _formatted(value, verb, style)


def _boolean(value: bool, verb: str, style: _Style) -> str | None:
    return style.padded(printed(value)) if verb in "tv" else None


def _text(value: Any, verb: str, style: _Style) -> str | None:
    text = number_text(value)
    BUDGET.handle(4 * len(text))
    if verb in "xX":
        raw = text.encode() if style.precision is None else text.encode()[: style.precision]
        shown = raw.hex(" ") if " " in style.flags else raw.hex()
        if "#" in style.flags:
            shown = " ".join(f"0x{part}" for part in shown.split(" ")) if shown else ""
        return style.padded(shown.upper() if verb == "X" else shown)
    if verb not in "vsq":
        return None
    if style.precision is not None:
        text = text[: style.precision]
    if verb == "q":
        raw_quotes = "#" in style.flags and "`" not in text and text.isprintable()
        text = f"`{text}`" if raw_quotes else quote(text, ascii_only="+" in style.flags)
    return style.padded(text)


_BASES = {"d": "d", "v": "d", "b": "b", "o": "o", "O": "o", "x": "x", "X": "X"}
_PREFIXES = {"b": "0b", "o": "0", "x": "0x", "X": "0X"}


def _integer(value: int, verb: str, style: _Style) -> str | None:
    if verb in "cqU":
        return style.padded(_character(value, verb, style.flags))
    if verb not in _BASES:
        return None
    digits = format(abs(value), _BASES[verb])
    if style.precision is not None:
        BUDGET.handle(style.precision)
        digits = digits.rjust(style.precision, "0")
        if style.precision == 0 and value == 0:
            digits = ""
    prefix = "0o" if verb == "O" else _PREFIXES.get(verb, "") if "#" in style.flags else ""
    sign = "-" if value < 0 else "+" if "+" in style.flags else " " if " " in style.flags else ""
    if style.precision is not None or "-" in style.flags:
        return _Style(style.flags.replace("0", ""), style.width).padded(sign + prefix + digits)
    return style.padded(sign + prefix + digits, zeros=True)


def _character(value: int, verb: str, flags: str) -> str:
    one = chr(value) if 0 <= value <= 0x10FFFF and not 0xD800 <= value < 0xE000 else "\ufffd"
    if verb == "q":
        return quote(one, "'", ascii_only="+" in flags)
    if verb == "c":
        return one
    return f"U+{value:04X}" + (f" '{one}'" if "#" in flags and one.isprintable() else "")


def _hexadecimal(value: float) -> str:
    mantissa, _, exponent = float(value).hex().partition("p")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}p{exponent[0]}{int(exponent[1:]):02d}"


def _float(value: float, verb: str, style: _Style) -> str | None:
    forms = {"v": "g", "g": "g", "G": "g", "e": "e", "E": "e", "f": "f", "F": "f"}
    if verb in "xX":
        text = _hexadecimal(value)
        return style.padded(text.upper() if verb == "X" else text)
    if verb not in forms:
        return None
    usual = -1 if forms[verb] == "g" else 6
    BUDGET.handle(8 * (style.precision or 0))
    text = format_float(value, forms[verb], usual if style.precision is None else style.precision)
    if verb in "GE":
        text = text.upper()
    if text[0] not in "+-" and ("+" in style.flags or " " in style.flags):
        text = ("+" if "+" in style.flags else " ") + text
    finite = value == value and abs(value) != float("inf")
    if not finite and "+" not in style.flags:
        text = text.removeprefix("+") if "Inf" not in text or "-" in text else text
    return (
        style.padded(text, zeros=finite) if finite else _Style(style.flags.replace("0", ""), style.width).padded(text)
    )


_WRITERS: dict[str, Callable[[Any, str, _Style], str | None]] = {
    "string": _text,
    "int": _integer,
    "float": _float,
    "bool": _boolean,
}
