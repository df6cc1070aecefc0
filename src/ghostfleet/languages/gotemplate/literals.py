"""Literals of Go source, as templates use them: numbers, characters, and texts in quotes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ghostfleet.languages.errors import Unsupported
from ghostfleet.languages.gotemplate.values import Float, Int

__all__ = ["Number", "integer", "number", "unquoted"]

_ESCAPE = re.compile(r"\\(?:([abfnrtv\\'\"])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3}))")
_CHARACTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_INTEGER = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEX_FLOAT = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")


@dataclass(frozen=True, slots=True)
class Number:
    """A number without a type yet: what it is as an int, if it can be, as a float, and where nothing is asked for."""

    integer: int | None
    float: float
    ideal: Int | Float | None


def integer(text: str) -> int | None:
    """`strconv.ParseInt` with base 0, for 64 bits; None if the text is no such number."""
    plain = re.sub(r"(?<=[0-9a-fA-FxXbBoO])_(?=[0-9a-fA-F])", "", text)
    match = _INTEGER.fullmatch(plain)
    if match is None:
        return None
    sign, *runs = match.groups()
    value = next(int(run, base) for run, base in zip(runs, (16, 2, 8, 10), strict=True) if run)
    value = -value if sign == "-" else value
    return value if -(1 << 63) <= value < 1 << 63 else None


def number(text: str) -> Number:
    if text[0] == "'":
        inner = text[1:-1] if text != "'\\''" else "'"
        one = inner if len(inner) == 1 else _decoded(inner)
        if len(one) != 1:
            raise Unsupported(f"malformed character constant: {text}")
        return Number(ord(one), float(ord(one)), Int(ord(one)))
    if text.endswith("i"):
        raise Unsupported(f"complex numbers are not supported: {text}")
    whole = integer(text)
    if whole is not None:
        return Number(whole, float(whole), Int(whole))
    plain = text.replace("_", "")
    if _HEX_FLOAT.fullmatch(plain):
        value = float.fromhex(plain)
    elif _FLOAT.fullmatch(plain) and re.search("[.eE]", plain):
        value = float(plain)
    else:
        raise Unsupported(f"illegal number syntax: {text}")
    return Number(int(value) if value.is_integer() and abs(value) < 1 << 63 else None, value, Float(value))


def unquoted(text: str) -> str:
    """The text that a literal in double or raw quotes stands for."""
    if text[0] == "`":
        return text[1:-1].replace("\r", "")
    return _decoded(text[1:-1])


def _decoded(inner: str) -> str:
    made: list[str] = []
    place = 0
    while place < len(inner):
        if inner[place] != "\\":
            made.append(inner[place])
            place += 1
            continue
        match = _ESCAPE.match(inner, place)
        if match is None or match[1] == "'":
            raise Unsupported(f"invalid syntax in the text {inner!r}")
        raw = bytearray()
        while match is not None and (match[2] or match[5]):
            # Escapes of bytes may together make one character.
            raw.append(int(match[2], 16) if match[2] else int(match[5], 8) & 0xFF)
            place = match.end()
            match = _ESCAPE.match(inner, place)
        if raw:
            made.append(raw.decode(errors="replace"))
            continue
        assert match is not None
        code = match[3] or match[4]
        made.append(chr(int(code, 16)) if code else _CHARACTERS.get(match[1], match[1]))
        place = match.end()
    return "".join(made)
