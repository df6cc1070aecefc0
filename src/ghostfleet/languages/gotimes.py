"""Times in templates and CEL, and Go's layouts, which name the parts of a time by those of Mon Jan 2 15:04:05 MST 2006.

A time is a count of nanoseconds since 1970 and an offset from UTC. There is no local time zone: it is UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from ghostfleet.core.errors import shortened

__all__ = ["Time", "format_time", "in_zone", "parse_time"]

#: characters of a layout to read times by, which is made a pattern
_LONGEST_LAYOUT = 256
_EPOCH = datetime(1970, 1, 1)
_SECOND = 1_000_000_000
_MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September"]
_MONTHS += ["October", "November", "December"]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_PIECE = re.compile(
    r"January|Jan|Monday|Mon|MST|2006|Z07:00:00|Z07:00|Z0700|Z07|-07:00:00|-07:00|-0700|-07|[.,]0+(?!\d)|[.,]9+(?!\d)"
    r"|002|__2|_2(?!006)|01|02|03|04|05|06|15|PM|pm|1|2|3|4|5"
)


@dataclass(frozen=True, slots=True)
class Time:
    """An instant, and the offset at which its clock is read."""

    nanoseconds: int
    offset: int = 0
    zone: str = "UTC"

    @property
    def clock(self) -> datetime:
        return _EPOCH + timedelta(seconds=self.nanoseconds // _SECOND + self.offset)

    def __str__(self) -> str:
        return format_time(self, "2006-01-02 15:04:05.999999999 -0700 MST")


def in_zone(time: Time, name: str) -> Time:
    """The same instant on the clocks of a zone, or on those of UTC if there is no such zone."""
    if name in ("", "UTC", "Local"):
        return Time(time.nanoseconds)
    try:
        zone = ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        return Time(time.nanoseconds)
    moment = datetime.fromtimestamp(time.nanoseconds // _SECOND, zone)
    offset = moment.utcoffset() or timedelta()
    return Time(time.nanoseconds, int(offset.total_seconds()), moment.tzname() or "")


def format_time(time: Time, layout: str) -> str:
    clock = time.clock
    nanos = time.nanoseconds % _SECOND

    def piece(match: re.Match[str]) -> str:
        text = match[0]
        if text[0] in ".,":
            digits = f"{nanos:09d}"[: len(text) - 1]
            if text[1] == "9":
                digits = digits.rstrip("0")
            return text[0] + digits if digits else ""
        if text[0] == "Z" and time.offset == 0:
            return "Z"
        if text[0] in "Z-":
            return _offset(time.offset, text[1:])
        return _WRITE[text](clock, time)

    return _PIECE.sub(piece, layout)


def _offset(seconds: int, form: str) -> str:
    sign = "-" if seconds < 0 else "+"
    hours, rest = divmod(abs(seconds), 3600)
    minutes, rest = divmod(rest, 60)
    colon = ":" if ":" in form else ""
    text = f"{sign}{hours:02d}"
    if len(form) > 2:
        text += f"{colon}{minutes:02d}"
    return text + f":{rest:02d}" if form.count(":") == 2 else text


_WRITE: dict[str, Callable[[datetime, Time], str]] = {
    "January": lambda clock, _: _MONTHS[clock.month - 1],
    "Jan": lambda clock, _: _MONTHS[clock.month - 1][:3],
    "Monday": lambda clock, _: _DAYS[clock.weekday()],
    "Mon": lambda clock, _: _DAYS[clock.weekday()][:3],
    "MST": lambda _, time: time.zone or _offset(time.offset, "0700"),
    "2006": lambda clock, _: f"{clock.year:04d}",
    "06": lambda clock, _: f"{clock.year % 100:02d}",
    "01": lambda clock, _: f"{clock.month:02d}",
    "1": lambda clock, _: str(clock.month),
    "02": lambda clock, _: f"{clock.day:02d}",
    "_2": lambda clock, _: f"{clock.day:2d}",
    "2": lambda clock, _: str(clock.day),
    "002": lambda clock, _: f"{clock.timetuple().tm_yday:03d}",
    "__2": lambda clock, _: f"{clock.timetuple().tm_yday:3d}",
    "15": lambda clock, _: f"{clock.hour:02d}",
    "03": lambda clock, _: f"{clock.hour % 12 or 12:02d}",
    "3": lambda clock, _: str(clock.hour % 12 or 12),
    "04": lambda clock, _: f"{clock.minute:02d}",
    "4": lambda clock, _: str(clock.minute),
    "05": lambda clock, _: f"{clock.second:02d}",
    "5": lambda clock, _: str(clock.second),
    "PM": lambda clock, _: "AM" if clock.hour < 12 else "PM",
    "pm": lambda clock, _: "am" if clock.hour < 12 else "pm",
}
_READ = {
    "2006": ("year", r"\d{4}"),
    "06": ("short", r"\d{2}"),
    "01": ("month", r"\d{2}"),
    "1": ("month", r"\d{1,2}"),
    "02": ("day", r"\d{2}"),
    "_2": ("day", r" ?\d{1,2}"),
    "2": ("day", r"\d{1,2}"),
    "002": ("yday", r"\d{3}"),
    "15": ("hour", r"\d{1,2}"),
    "03": ("twelfth", r"\d{2}"),
    "3": ("twelfth", r"\d{1,2}"),
    "04": ("minute", r"\d{2}"),
    "4": ("minute", r"\d{1,2}"),
    "05": ("second", r"\d{2}"),
    "5": ("second", r"\d{1,2}"),
    "PM": ("half", "AM|PM"),
    "pm": ("half", "am|pm"),
    "January": ("name", "|".join(_MONTHS)),
    "Jan": ("name", "|".join(name[:3] for name in _MONTHS)),
    "Monday": ("weekday", "|".join(_DAYS)),
    "Mon": ("weekday", "|".join(name[:3] for name in _DAYS)),
    "MST": ("zone", "[A-Z]{3,4}"),
}


def parse_time(layout: str, text: str) -> Time:
    """The time that a text names in a layout; ValueError if it does not."""
    if len(layout) > _LONGEST_LAYOUT:
        raise ValueError(f"expected a layout of at most {_LONGEST_LAYOUT} characters")
    pattern, names = _pattern(layout)
    match = re.fullmatch(pattern, text)
    if match is None:
        raise ValueError(f'parsing time "{shortened(text)}" as "{shortened(layout)}": cannot parse')
    found: dict[str, Any] = {name: match[f"p{place}"] for place, name in enumerate(names)}
    try:
        return _time(found)
    except ValueError as error:
        raise ValueError(f'parsing time "{shortened(text)}": {error}') from None


def _pattern(layout: str) -> tuple[str, list[str]]:
    made, place = "", 0
    names: list[str] = []
    for piece in _PIECE.finditer(layout):
        made += re.escape(layout[place : piece.start()])
        place = piece.end()
        text = piece[0]
        if text[0] in ".,":
            name, pattern = "fraction", rf"[.,]\d{{{len(text) - 1}}}" if text[1] == "0" else r"(?:[.,]\d+)?"
        elif text[0] in "Z-":
            name, pattern = "offset", _OFFSETS[text[1:]] + ("|Z" if text[0] == "Z" else "")
        else:
            name, pattern = _READ[text]
        # Go reads a fraction behind the seconds even where the layout has none.
        after = r"(?:[.,]\d+)?" if name == "second" and layout[place : place + 1] not in (".", ",") else ""
        # Go never comes back to a part that it has read, and neither must this: it could take for ever.
        made += f"(?P<p{len(names)}>(?>(?:{pattern}){after}))"
        names.append(name)
    return made + re.escape(layout[place:]), names


_OFFSETS = {
    "07": r"[+-]\d{2}",
    "0700": r"[+-]\d{4}",
    "07:00": r"[+-]\d{2}:\d{2}",
    "07:00:00": r"[+-]\d{2}:\d{2}:\d{2}",
}


def _time(found: dict[str, str]) -> Time:
    year = int(found["year"]) if "year" in found else int(found.get("short", "0"))
    if "short" in found:
        year += 1900 if year >= 69 else 2000
    month = int(found.get("month", "1"))
    if "name" in found:
        month = next(number for number, name in enumerate(_MONTHS, 1) if name.startswith(found["name"]))
    hour = int(found.get("hour", "0"))
    if "twelfth" in found:
        hour = int(found["twelfth"]) % 12
    if found.get("half", "").upper() == "PM" and hour < 12:
        hour += 12
    second, _, fraction = found.get("second", "0").replace(",", ".").partition(".")
    fraction = fraction or found.get("fraction", ".")[1:]
    clock = datetime(max(year, 1), month, int(found.get("day", "1")), hour, int(found.get("minute", "0")), int(second))
    offset = _seconds(found.get("offset", "Z"))
    whole = (clock - _EPOCH) // timedelta(seconds=1) - offset
    zone = "UTC" if offset == 0 else ""
    return Time(whole * _SECOND + int(fraction[:9].ljust(9, "0") or "0"), offset, zone)


def _seconds(text: str) -> int:
    if text == "Z":
        return 0
    digits = text[1:].replace(":", "").ljust(6, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:4]) * 60 + int(digits[4:6])
    return -seconds if text[0] == "-" else seconds
