"""The functions of CEL's standard library, and those that KWOK adds.

A function is found by its name, by whether it has a target, and by the types of its arguments; `OVERLOADS` maps
a name to the types it takes. A *member* comes behind a dot, with its target as the first argument.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from ghostfleet.core import quantity
from ghostfleet.core.errors import shortened
from ghostfleet.core.goregex import RegexError
from ghostfleet.languages.cel.operators import as_duration, as_int, as_timestamp, as_uint
from ghostfleet.languages.cel.values import CelError, Duration, Quantity, Timestamp, Uint
from ghostfleet.languages.gotimes import parse_time
from ghostfleet.languages.govalues import format_float
from ghostfleet.languages.regexes import compiled, found_in

__all__ = ["FUNCTIONS", "MEMBERS", "Overloads"]

#: what a function gives for arguments of these types
Overloads = dict[tuple[type, ...], tuple[Callable[..., Any], type | None]]

_SECOND = 1_000_000_000
_INT64 = 1 << 63


def _from_float(value: float, low: float, high: float, noun: str) -> int:
    if not low < value < high:
        raise CelError(f"{noun} overflow")
    return int(value)


def _parsed_int(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise CelError(f"type conversion error: {shortened(text)!r} is no int")
    return as_int(int(text))


def _parsed_uint(text: str) -> Uint:
    if not re.fullmatch(r"[0-9]+", text):
        raise CelError(f"type conversion error: {shortened(text)!r} is no uint")
    return as_uint(int(text))


def _parsed_double(text: str) -> float:
    try:
        return float(text.replace("_", "x"))
    except ValueError:
        raise CelError(f"type conversion error: {shortened(text)!r} is no double") from None


def _parsed_bool(text: str) -> bool:
    if text in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if text in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise CelError(f"type conversion error: {shortened(text)!r} is no bool")


_PIECE = re.compile(r"([0-9]*)(\.[0-9]*)?(ns|us|µs|μs|ms|s|m|h)")
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}


def _parsed_duration(text: str) -> Duration:
    """Go's durations, to the nanosecond."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    total, place = 0, 0
    while place < len(rest) and rest != "0":
        match = _PIECE.match(rest, place)
        if match is None or not (match[1] or len(match[2] or "") > 1):
            raise CelError(f"type conversion error: {shortened(text)!r} is no duration")
        unit = _UNITS[match[3]]
        digits = (match[2] or ".")[1:]
        total += int(match[1] or "0") * unit + (int(digits) * unit // 10 ** len(digits) if digits else 0)
        place = match.end()
    if not rest:
        raise CelError(f"type conversion error: {shortened(text)!r} is no duration")
    return as_duration(-total if text[0] == "-" else total)


def _no_duration(value: int) -> Duration:
    """CEL declares this conversion, and then has none."""
    raise CelError(f"type conversion error from 'int' to 'google.protobuf.Duration': {value}")


def _parsed_timestamp(text: str) -> Timestamp:
    try:
        time = parse_time("2006-01-02T15:04:05Z07:00", text)
        return Timestamp(as_timestamp(time.nanoseconds).since_epoch, time.offset)
    except ValueError:
        raise CelError(f"type conversion error: {shortened(text)!r} is no timestamp") from None


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


def matches(text: str, pattern: str) -> bool:
    try:
        return any(True for _ in found_in(compiled(pattern), text, 1))
    except RegexError as error:
        raise CelError(str(error)) from None


def _quantity(text: str) -> Quantity:
    try:
        return Quantity(quantity.parse(text))
    except ValueError as error:
        raise CelError(str(error)) from None


def _zoned(time: Timestamp, zone: str) -> datetime:
    fixed = re.fullmatch(r"([+-]?)(\d{1,2}):(\d{2})", zone)
    if fixed is not None:
        offset = timedelta(hours=int(fixed[2]), minutes=int(fixed[3]))
        return time.clock.replace(tzinfo=UTC) + (-offset if fixed[1] == "-" else offset)
    try:
        return time.clock.replace(tzinfo=UTC).astimezone(ZoneInfo(zone))
    except (OSError, ValueError, LookupError):
        raise CelError(f"unknown time zone {zone}") from None


def _calendar(part: Callable[[datetime], int]) -> Overloads:
    return {
        (Timestamp,): (lambda time: part(time.clock), int),
        (Timestamp, str): (lambda time, zone: part(_zoned(time, zone)), int),
    }


def _truncated(nanoseconds: int, unit: int) -> int:
    return nanoseconds // unit if nanoseconds >= 0 else -(-nanoseconds // unit)


def _clock(part: Callable[[datetime], int], unit: int) -> Overloads:
    return _calendar(part) | {(Duration,): (lambda span: _truncated(span.nanoseconds, unit), int)}


_MILLISECONDS: Overloads = {
    (Timestamp,): (lambda time: time.since_epoch % _SECOND // 10**6, int),
    (Timestamp, str): (lambda time, _: time.since_epoch % _SECOND // 10**6, int),
    (Duration,): (lambda span: _truncated(span.nanoseconds, 10**6), int),
}
_SIZES: Overloads = {(kind,): (len, int) for kind in (str, bytes, list, dict)}
_MATCHES: Overloads = {(str, str): (matches, bool)}
_UNIX: Overloads = {(Timestamp,): (lambda time: time.since_epoch / 1e9, float)}
_QUANTITIES: Overloads = {(str,): (_quantity, Quantity)}


def _same(kind: type) -> Overloads:
    return {(kind,): (lambda value: value, kind)}


FUNCTIONS: dict[str, Overloads] = {
    "size": _SIZES,
    "matches": _MATCHES,
    "bool": _same(bool) | {(str,): (_parsed_bool, bool)},
    "bytes": _same(bytes) | {(str,): (str.encode, bytes)},
    "double": _same(float)
    | {
        (int,): (float, float),
        (Uint,): (float, float),
        (str,): (_parsed_double, float),
    },
    "duration": _same(Duration) | {(int,): (_no_duration, Duration), (str,): (_parsed_duration, Duration)},
    "int": _same(int)
    | {
        (float,): (lambda value: _from_float(value, -float(_INT64), float(_INT64), "integer"), int),
        (Uint,): (lambda value: as_int(int(value)), int),
        (str,): (_parsed_int, int),
        (Timestamp,): (lambda time: time.since_epoch // _SECOND, int),
        (Duration,): (lambda span: span.nanoseconds, int),
    },
    "uint": _same(Uint)
    | {
        (float,): (lambda value: Uint(_from_float(value, -1.0, float(2 * _INT64), "unsigned integer")), Uint),
        (int,): (as_uint, Uint),
        (str,): (_parsed_uint, Uint),
    },
    "string": _same(str)
    | {
        (bool,): (lambda value: "true" if value else "false", str),
        (int,): (str, str),
        (Uint,): (lambda value: str(int(value)), str),
        (float,): (format_float, str),
        (bytes,): (_decoded, str),
        (Timestamp,): (str, str),
        (Duration,): (str, str),
    },
    "timestamp": _same(Timestamp)
    | {(int,): (lambda value: as_timestamp(value * _SECOND), Timestamp), (str,): (_parsed_timestamp, Timestamp)},
    "UnixSecond": _UNIX,
    "Quantity": _QUANTITIES,
}

MEMBERS: dict[str, Overloads] = {
    "size": _SIZES,
    "matches": _MATCHES,
    "contains": {(str, str): (lambda text, part: part in text, bool)},
    "startsWith": {(str, str): (str.startswith, bool)},
    "endsWith": {(str, str): (str.endswith, bool)},
    "getFullYear": _calendar(lambda time: time.year),
    "getMonth": _calendar(lambda time: time.month - 1),
    "getDayOfYear": _calendar(lambda time: time.timetuple().tm_yday - 1),
    "getDayOfMonth": _calendar(lambda time: time.day - 1),
    "getDate": _calendar(lambda time: time.day),
    "getDayOfWeek": _calendar(lambda time: time.isoweekday() % 7),
    "getHours": _clock(lambda time: time.hour, 3600 * _SECOND),
    "getMinutes": _clock(lambda time: time.minute, 60 * _SECOND),
    "getSeconds": _clock(lambda time: time.second, _SECOND),
    "getMilliseconds": _MILLISECONDS,
    "UnixSecond": _UNIX,
    "Quantity": _QUANTITIES,
}
