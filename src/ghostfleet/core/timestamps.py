"""Times as the cluster keeps them, and as Kubernetes writes them.

A *time* is an int: microseconds since the epoch, UTC. Kubernetes writes most times to the second (`metav1.Time`) and a
few to the microsecond (`metav1.MicroTime`); `parse_rfc3339` reads both. An *age* is the short text for a span of time
that kubectl shows in tables: precise while it is small, coarser as it grows.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache

__all__ = ["MICRO", "age", "parse_rfc3339", "rfc3339", "rfc3339_micro", "short_age"]

#: Microseconds in a second.
MICRO = 1_000_000

_EPOCH = datetime(1970, 1, 1)
_LAYOUT = "2006-01-02T15:04:05Z07:00"
_RFC3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
#: The same, piece by piece as Go's layout names them, to tell which piece is wrong.
_ELEMENTS = (
    ("2006", "[0-9]{4}"),
    ("-", "-"),
    ("01", "[0-9]{2}"),
    ("-", "-"),
    ("02", "[0-9]{2}"),
    ("T", "T"),
    ("15", "[0-9]{1,2}"),
    (":", ":"),
    ("04", "[0-9]{2}"),
    (":", ":"),
    ("05", r"[0-9]{2}(?:[.,][0-9]+)?"),
    ("Z07:00", r"Z|[+-][0-9]{2}:[0-9]{2}"),
)
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 86400 * 365


@lru_cache(maxsize=8192)
def _second(seconds: int) -> str:
    try:
        return (_EPOCH + timedelta(seconds=seconds)).isoformat() + "Z"
    except OverflowError:
        raise ValueError(f"time {seconds}s is outside the years 1 to 9999") from None


def rfc3339(us: int) -> str:
    """`2026-01-01T00:00:00Z`; what is below the second is cut off."""
    return _second(us // MICRO)


def rfc3339_micro(us: int) -> str:
    """`2026-01-01T00:00:00.123456Z`."""
    seconds, micros = divmod(us, MICRO)
    return f"{_second(seconds)[:-1]}.{micros:06d}Z"


def parse_rfc3339(text: str) -> int:
    """The time that `text` names. Offsets and fractions are read; digits past the microsecond are cut off."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(_what_is_wrong(text))
    year, month, day, hour, minute, second, fraction, sign, zone_hours, zone_minutes = match.groups()
    try:
        moment = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second))
    except ValueError as error:
        raise ValueError(f'parsing time "{text}": {_out_of_range(match, error)}') from None
    us = (moment - _EPOCH) // timedelta(microseconds=1)
    if fraction:
        us += int(fraction[:6].ljust(6, "0"))
    if sign:
        if int(zone_hours) > 24 or int(zone_minutes) > 60:
            unit = "minute" if int(zone_minutes) > 60 else "hour"
            raise ValueError(f'parsing time "{text}": time zone offset {unit} out of range')
        offset = (int(zone_hours) * _HOUR + int(zone_minutes) * _MINUTE) * MICRO
        us -= offset if sign == "+" else -offset
    return us


def _what_is_wrong(text: str) -> str:
    rest = text
    for element, pattern in _ELEMENTS:
        match = re.match(pattern, rest)
        if match is None:
            return f'parsing time "{text}" as "{_LAYOUT}": cannot parse "{rest}" as "{element}"'
        rest = rest[match.end() :]
    return f'parsing time "{text}": extra text: "{rest}"'


def _out_of_range(match: re.Match[str], error: ValueError) -> str:
    limits = (("month", 2, 1, 12), ("hour", 4, 0, 23), ("minute", 5, 0, 59), ("second", 6, 0, 59))
    for name, group, low, high in limits:
        if not low <= int(match[group]) <= high:
            return f"{name} out of range"
    return "day out of range" if int(match[1]) else str(error)


def age(us: int) -> str:
    """A span as kubectl's tables show it: two or three significant figures."""
    seconds = _whole_seconds(us)
    if seconds < 2 * _MINUTE:
        return _just_now(seconds)
    if seconds < 10 * _MINUTE:
        return _pair(seconds, _MINUTE, "m", 1, "s")
    if seconds < 3 * _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < 8 * _HOUR:
        return _pair(seconds, _HOUR, "h", _MINUTE, "m")
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR}h"
    if seconds < 8 * _DAY:
        return _pair(seconds, _DAY, "d", _HOUR, "h")
    if seconds < 2 * _YEAR:
        return f"{seconds // _DAY}d"
    if seconds < 8 * _YEAR:
        return _pair(seconds, _YEAR, "y", _DAY, "d")
    return f"{seconds // _YEAR}y"


def short_age(us: int) -> str:
    """A span in one unit only."""
    seconds = _whole_seconds(us)
    if seconds < _MINUTE:
        return _just_now(seconds)
    for limit, unit, letter in ((_HOUR, _MINUTE, "m"), (_DAY, _HOUR, "h"), (_YEAR, _DAY, "d")):
        if seconds < limit:
            return f"{seconds // unit}{letter}"
    return f"{seconds // _YEAR}y"


def _whole_seconds(us: int) -> int:
    return us // MICRO if us >= 0 else -(-us // MICRO)


def _just_now(seconds: int) -> str:
    # Clocks of two machines differ a little: an object made "one second from now" is not worth an alarm.
    if seconds < -1:
        return "<invalid>"
    return f"{max(seconds, 0)}s"


def _pair(seconds: int, unit: int, letter: str, small: int, small_letter: str) -> str:
    rest = seconds % unit // small
    return f"{seconds // unit}{letter}{rest}{small_letter}" if rest else f"{seconds // unit}{letter}"
