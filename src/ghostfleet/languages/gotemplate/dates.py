"""The functions for dates that templates get from the library sprig.

Sprig reads the clock of the machine; here the time comes from the function Now of the caller, so that it is that
of the simulated cluster.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ghostfleet.core.durations import format_duration, parse_duration
from ghostfleet.languages.gotemplate.functions import Function, charged
from ghostfleet.languages.gotemplate.values import Int64, TemplateError, kind_of
from ghostfleet.languages.gotimes import Time, format_time, in_zone, parse_time

__all__ = ["dates", "moment"]

_SECOND = 1_000_000_000
_UNITS = ((365 * 86400, "y"), (30 * 86400, "mo"), (86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
RFC3339_NANO = "2006-01-02T15:04:05.999999999Z07:00"


def moment(text: str) -> Time:
    """The time that the function Now gave."""
    try:
        return parse_time(RFC3339_NANO, text)
    except ValueError as error:
        raise TemplateError(str(error)) from None


def _modified(span: str, time: Time) -> Time:
    try:
        micros = parse_duration(span)
    except ValueError:
        return time
    return Time(time.nanoseconds + micros * 1000, time.offset, time.zone)


def _strictly_modified(span: str, time: Time) -> Time:
    try:
        parse_duration(span)
    except ValueError as error:
        raise TemplateError(str(error)) from None
    return _modified(span, time)


def _date(layout: str, text: str) -> Time:
    try:
        return parse_time(layout, text)
    except ValueError:
        return Time(-62135596800 * _SECOND)


def _strict_date(layout: str, text: str) -> Time:
    try:
        return parse_time(layout, text)
    except ValueError as error:
        raise TemplateError(str(error)) from None


def _span(seconds: Any) -> str:
    if type(seconds) is Int64:
        return format_duration(seconds * 1_000_000)
    digits = isinstance(seconds, str) and re.fullmatch(r"[+-]?[0-9]+", seconds) and kind_of(seconds) == "string"
    return format_duration(int(seconds) * 1_000_000 if digits else 0)


def _rounded_span(now: Callable[[], Time]) -> Callable[[Any], str]:
    def run(value: Any) -> str:
        nanos = 0
        if type(value) is Time:
            nanos = now().nanoseconds - value.nanoseconds
        elif type(value) is Int64:
            nanos = int(value)
        elif isinstance(value, str):
            try:
                nanos = parse_duration(value) * 1000
            except ValueError:
                nanos = 0
        for seconds, letter in _UNITS:
            if abs(nanos) > seconds * _SECOND:
                return f"{abs(nanos) // (seconds * _SECOND)}{letter}"
        return "0s"

    return run


def dates(now: Callable[[], Time]) -> dict[str, Function]:
    """All functions for dates, with a clock."""

    def time_of(value: Any) -> Time:
        if type(value) is Time:
            return value
        return Time(int(value) * _SECOND) if kind_of(value) == "int" else now()

    def written(layout: str, value: Any, zone: str = "Local") -> str:
        return format_time(in_zone(time_of(value), zone), layout)

    def ago(value: Any) -> str:
        elapsed = now().nanoseconds - time_of(value).nanoseconds
        seconds = (abs(elapsed) + _SECOND // 2) // _SECOND
        return format_duration((seconds if elapsed >= 0 else -seconds) * 1_000_000)

    table: dict[str, tuple[str, Callable[..., Any]]] = {
        "now": ("", now),
        "ago": ("a", ago),
        "date": ("sa", written),
        "date_in_zone": ("sas", written),
        "dateInZone": ("sas", written),
        "htmlDate": ("a", lambda value: written("2006-01-02", value)),
        "htmlDateInZone": ("as", lambda value, zone: written("2006-01-02", value, zone)),
        "date_modify": ("st", _modified),
        "dateModify": ("st", _modified),
        "must_date_modify": ("st", _strictly_modified),
        "mustDateModify": ("st", _strictly_modified),
        "duration": ("a", _span),
        "durationRound": ("a", _rounded_span(now)),
        "toDate": ("ss", _date),
        "mustToDate": ("ss", _strict_date),
        "unixEpoch": ("t", lambda time: str(time.nanoseconds // _SECOND)),
    }
    return {name: charged(name, *entry) for name, entry in table.items()}
