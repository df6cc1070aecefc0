"""Durations as Go writes them: `1h30m`, `300ms`, `-2m`.

Here a *duration* is an int of microseconds; its text is a sign and one or more numbers, each with a unit. Kubernetes
keeps such texts wherever a field is a `metav1.Duration`. Go counts nanoseconds: they are read, and cut off.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["format_duration", "parse_duration"]

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, the micro sign
    "μs": 1_000,  # U+03BC, the Greek letter
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PIECE = re.compile(r"([0-9]*)(\.[0-9]*)?([^0-9.]*)")
_LIMIT = 1 << 63
_SECOND, _MILLISECOND = 1_000_000, 1_000


@lru_cache(maxsize=4096)
def parse_duration(text: str) -> int:
    """Microseconds in `text`; a ValueError in Go's words when it is not a duration."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    if not rest:
        raise ValueError(f'time: invalid duration "{text}"')
    nanoseconds = 0
    position = 0
    while position < len(rest):
        match = _PIECE.match(rest, position)
        if match is None or not (match[1] or len(match[2] or "") > 1):
            raise ValueError(f'time: invalid duration "{text}"')
        nanoseconds += _piece(match, text)
        position = match.end()
    if nanoseconds > _LIMIT - (text[0] != "-"):
        raise ValueError(f'time: invalid duration "{text}"')
    microseconds = nanoseconds // 1000
    return -microseconds if text[0] == "-" else microseconds


def _piece(match: re.Match[str], text: str) -> int:
    whole, fraction, unit = match.groups()
    if not unit:
        raise ValueError(f'time: missing unit in duration "{text}"')
    if unit not in _UNITS:
        raise ValueError(f'time: unknown unit "{unit}" in duration "{text}"')
    if len(whole) > 19:
        raise ValueError(f'time: invalid duration "{text}"')
    nanoseconds = int(whole or "0") * _UNITS[unit]
    digits = (fraction or ".")[1:20]
    # A float, as in Go: 0.333333333333333333h is then 20 minutes, not a nanosecond less.
    return nanoseconds + int(int(digits or "0") * (_UNITS[unit] / 10 ** len(digits)))


def format_duration(us: int) -> str:
    """The text that Go prints for a duration: `1h30m0s`, `1.5s`, `300ms`, `0s`."""
    sign = "-" if us < 0 else ""
    us = abs(us)
    if us == 0:
        return "0s"
    if us < _MILLISECOND:
        return f"{sign}{us}µs"
    if us < _SECOND:
        return f"{sign}{_decimal(us, _MILLISECOND)}ms"
    minutes, rest = divmod(us, 60 * _SECOND)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, _SECOND)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else sign + text


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    if not rest:
        return str(whole)
    return f"{whole}.{rest:0{len(str(unit)) - 1}d}".rstrip("0")
