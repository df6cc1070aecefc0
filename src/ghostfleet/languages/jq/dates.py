"""Dates in jq: broken-down times, and the formats of `strftime` and `strptime`.

A *broken-down time* is an array: year, month from 0, day, hour, minute, second, day of the week from Sunday, day of the
year from 0. All are in UTC: a simulated cluster has no local time. A *directive* is a letter after `%` that stands for
one part of a time; before it may come flags for padding and case, and a width.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

from ghostfleet.core.errors import shortened
from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.govalues import truncated
from ghostfleet.languages.jq.values import JqError, is_number, preview, to_float, to_int, wrong_type

__all__ = ["broken_down", "mktime", "strftime", "strptime"]

_EPOCH = datetime(1970, 1, 1)
_MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September"]
_MONTHS += ["October", "November", "December"]
_DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
_COMPOUND = {
    "c": "%a %b %e %H:%M:%S %Y",
    "+": "%a %b %e %H:%M:%S %Z %Y",
    "v": "%e-%b-%Y",
    "r": "%I:%M:%S %p",
    "F": "%Y-%m-%d",
    "D": "%m/%d/%y",
    "x": "%m/%d/%y",
    "T": "%H:%M:%S",
    "X": "%H:%M:%S",
    "R": "%H:%M",
}
_DIRECTIVE = re.compile(r"%([-_^#0]*)([0-9]*)(:{0,3}z|.)", re.DOTALL)


def _moment(seconds: int, micros: int = 0) -> datetime:
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=micros)
    except OverflowError:
        raise JqError("expected a time between the years 1 and 9999") from None


def broken_down(seconds: float) -> list[Any]:
    """The broken-down time of seconds since 1970."""
    whole = truncated(seconds)
    nanos = truncated((seconds - math.floor(seconds)) * 1e9)
    moment = _moment(whole)
    second = moment.second + nanos / 1e9
    weekday = moment.isoweekday() % 7
    return [
        moment.year,
        moment.month - 1,
        moment.day,
        moment.hour,
        moment.minute,
        float(second),
        weekday,
        moment.timetuple().tm_yday - 1,
    ]


def _instant(parts: list[Any]) -> tuple[int, int]:
    """Seconds since 1970 and nanoseconds; parts out of range carry over."""
    fields = [0] * 6
    nanos = 0
    for place, part in enumerate(parts[:8]):
        if not is_number(part):
            raise JqError("expected an array of 8 numbers")
        if place == 5:
            second = to_float(part) or 0.0
            fields[5] = truncated(second)
            nanos = truncated((second - math.floor(second)) * 1e9)
        elif place < 5:
            fields[place] = to_int(part) or 0
    year, month = fields[0] + fields[1] // 12, fields[1] % 12 + 1
    if not 1 <= year <= 9999:
        raise JqError("expected a time between the years 1 and 9999")
    days = date(year, month, 1).toordinal() - date(1970, 1, 1).toordinal() + fields[2] - 1
    return ((days * 24 + fields[3]) * 60 + fields[4]) * 60 + fields[5], nanos


def mktime(value: Any) -> float:
    """Seconds since 1970 of a broken-down time."""
    if type(value) is not list:
        raise wrong_type("mktime", value)
    try:
        seconds, nanos = _instant(value)
    except JqError as error:
        raise JqError(f"mktime cannot be applied to {preview(value)}: {error}") from None
    return seconds + nanos / 1e9


def strftime(value: Any, format: Any, name: str = "strftime") -> str:
    """A time, broken down or in seconds, written in a format."""
    if is_number(value):
        value = broken_down(to_float(value) or 0.0)
    if type(value) is not list or type(format) is not str:
        raise wrong_type(name, value, format)
    try:
        seconds, nanos = _instant(value)
    except JqError as error:
        raise JqError(f"{name}({preview(format)}) cannot be applied to {preview(value)}: {error}") from None
    moment = _moment(seconds, nanos // 1000)
    BUDGET.step(len(format) // 2)
    return _DIRECTIVE.sub(lambda match: _written(moment, match), format)


def _written(moment: datetime, match: re.Match[str]) -> str:
    flags, width, letter = match.groups()
    if letter in _COMPOUND:
        return _DIRECTIVE.sub(lambda inner: _written(moment, inner), _COMPOUND[letter])
    if letter in _NUMERIC:
        value, size, filler = _NUMERIC[letter](moment)
        return _padded(str(value), int(width or size), _filler(flags, filler))
    if letter in _VERBAL:
        text = _VERBAL[letter](moment)
        text = text.lower() if letter == "P" else text
        if "#" in flags:
            text = text.lower() if text.isupper() else text.upper()
        elif "^" in flags:
            text = text.upper()
        return _padded(text, int(width or 0), _filler(flags, " "))
    if letter.endswith("z"):
        return ("+00:00" if letter == ":z" else "+00:00:00" if letter == "::z" else "+00") if letter != "z" else "+0000"
    return match[0]


def _filler(flags: str, usual: str) -> str:
    for flag in reversed(flags):
        if flag in "-_0":
            return {"-": "", "_": " ", "0": "0"}[flag]
    return usual


def _padded(text: str, width: int, filler: str) -> str:
    BUDGET.handle(width)
    return text.rjust(width, filler) if filler else text


def _week(moment: datetime, first: int) -> int:
    """Week of the year, counted from the first day `first` (0 is Sunday)."""
    return (moment.timetuple().tm_yday + 6 - (moment.isoweekday() - first) % 7) // 7


_Numeric = Callable[[datetime], tuple[int, int, str]]
_NUMERIC: dict[str, _Numeric] = {
    "Y": lambda t: (t.year, 4, "0"),
    "y": lambda t: (t.year % 100, 2, "0"),
    "C": lambda t: (t.year // 100, 2, "0"),
    "g": lambda t: (t.isocalendar()[0] % 100, 2, "0"),
    "G": lambda t: (t.isocalendar()[0], 4, "0"),
    "m": lambda t: (t.month, 2, "0"),
    "w": lambda t: (t.isoweekday() % 7, 0, "0"),
    "u": lambda t: (t.isoweekday(), 0, "0"),
    "V": lambda t: (t.isocalendar()[1], 2, "0"),
    "U": lambda t: (_week(t, 0), 2, "0"),
    "W": lambda t: (_week(t, 1), 2, "0"),
    "e": lambda t: (t.day, 2, " "),
    "d": lambda t: (t.day, 2, "0"),
    "j": lambda t: (t.timetuple().tm_yday, 3, "0"),
    "k": lambda t: (t.hour, 2, " "),
    "H": lambda t: (t.hour, 2, "0"),
    "l": lambda t: (t.hour % 12 or 12, 2, " "),
    "I": lambda t: (t.hour % 12 or 12, 2, "0"),
    "M": lambda t: (t.minute, 2, "0"),
    "S": lambda t: (t.second, 2, "0"),
    "s": lambda t: ((t - _EPOCH) // timedelta(seconds=1), 0, " "),
    "f": lambda t: (t.microsecond, 6, "0"),
}
_VERBAL: dict[str, Callable[[datetime], str]] = {
    "B": lambda t: _MONTHS[t.month - 1],
    "b": lambda t: _MONTHS[t.month - 1][:3],
    "h": lambda t: _MONTHS[t.month - 1][:3],
    "A": lambda t: _DAYS[t.isoweekday() % 7],
    "a": lambda t: _DAYS[t.isoweekday() % 7][:3],
    "p": lambda t: "AM" if t.hour < 12 else "PM",
    "P": lambda t: "AM" if t.hour < 12 else "PM",
    "Z": lambda _: "UTC",
    "t": lambda _: "\t",
    "n": lambda _: "\n",
    "%": lambda _: "%",
}


def strptime(value: Any, format: Any) -> list[Any]:
    """The broken-down time that a text names in a format."""
    if type(value) is not str or type(format) is not str:
        raise wrong_type("strptime", value, format)
    BUDGET.step(len(format) // 2)
    try:
        return _Reading(value, format).time()
    except (ValueError, OverflowError) as error:
        why = f'failed to parse "{shortened(value)}" with "{shortened(format)}": {error}'
        raise JqError(f"strptime({preview(format)}) cannot be applied to {preview(value)}: {why}") from None


class _Reading:
    """A text that is being read along a format."""

    def __init__(self, text: str, format: str) -> None:
        self.text = text
        self.place = 0
        self.found: dict[str, int] = {}
        self.offset = 0
        self.read(format)
        if self.place < len(text):
            raise ValueError(f'unparsed string "{shortened(text[self.place :])}"')

    def read(self, format: str) -> None:
        place = 0
        while place < len(format):
            match = _DIRECTIVE.match(format, place)
            if match is None:
                if format[place] == "%":
                    raise ValueError('stray "%"')
                self.literal(format[place])
                place += 1
            else:
                self.directive(match[3])
                place = match.end()

    def literal(self, one: str) -> None:
        if self.text[self.place : self.place + 1] != one:
            raise ValueError(f"expected '{one}'")
        self.place += 1

    def directive(self, letter: str) -> None:
        if letter in _COMPOUND:
            self.read(_COMPOUND[letter])
        elif letter in _READ:
            name, size, least, most = _READ[letter]
            if letter in "ekl":
                self.place += self.text[self.place : self.place + 1] == " "
            self.found[name] = self.number(letter, size, least, most)
        elif letter in _NAMED:
            name, names = _NAMED[letter]
            self.found[name] = self.word(letter, names)
        elif letter.endswith("z"):
            self.zone()
        elif letter == "Z":
            match = re.compile("UTC|GMT").match(self.text, self.place)
            if match is None:
                raise ValueError('cannot parse "%Z"')
            self.place = match.end()
        elif letter in "tn":
            match = re.compile(r"\s+").match(self.text, self.place)
            if match is None:
                raise ValueError(f'expected a space for "%{letter}"')
            self.place = match.end()
        elif letter == "%":
            self.literal("%")
        else:
            raise ValueError(f'unexpected format "%{letter}"')

    def number(self, letter: str, size: int, least: int, most: int) -> int:
        signed = letter in "YGs" and self.text[self.place : self.place + 1] == "-"
        match = re.compile(rf"[0-9]{{1,{size}}}").match(self.text, self.place + signed)
        if match is None or not least <= int(match[0]) <= most:
            raise ValueError(f'cannot parse "%{letter}"')
        self.place = match.end()
        if letter == "f":
            return int(match[0].ljust(6, "0"))
        return -int(match[0]) if signed else int(match[0])

    def word(self, letter: str, names: list[str]) -> int:
        for number, name in enumerate(names):
            if self.text[self.place : self.place + len(name)].lower() == name.lower():
                self.place += len(name)
                return number
        raise ValueError(f'cannot parse "%{letter}"')

    def zone(self) -> None:
        match = re.compile(r"Z|([+-])([01][0-9]|2[0-3])(?::?([0-5][0-9])(?::?([0-5][0-9]))?)?").match(
            self.text, self.place
        )
        if match is None:
            raise ValueError('cannot parse "%z"')
        self.place = match.end()
        if match[1]:
            seconds = int(match[2]) * 3600 + int(match[3] or 0) * 60 + int(match[4] or 0)
            self.offset = -seconds if match[1] == "-" else seconds

    def time(self) -> list[Any]:
        found = self.found
        if "epoch" in found:
            return broken_down(float(found["epoch"]))
        year = self.year()
        hour = found.get("hour", 0)
        if "half" in found:
            hour = found.get("twelfth", hour) % 12 + 12 * found["half"]
        elif "twelfth" in found:
            hour = found["twelfth"] % 12
        day = self.day(year)
        seconds = (day - date(1970, 1, 1)).days * 86400 + hour * 3600 + found.get("minute", 0) * 60
        seconds += found.get("second", 0) - self.offset
        return broken_down(seconds + found.get("micro", 0) / 1e6)

    def year(self) -> int:
        found = self.found
        year = found.get("year", 1900)
        if "short" in found:
            year = found["short"] + (2000 if found["short"] < 69 else 1900)
        return found["century"] * 100 + year % 100 if "century" in found else year

    def day(self, year: int) -> date:
        found = self.found
        if "day" not in found and "yday" in found:
            return date(year, 1, 1) + timedelta(days=found["yday"] - 1)
        if "day" not in found and "week" in found:
            return date.fromisocalendar(year, found["week"], found.get("weekday", 1) or 7)
        # As in Go, the 31st of a shorter month is a day of the next one.
        month = found.get("number", found.get("month", 0) + 1)
        return date(year, month, 1) + timedelta(days=found.get("day", 1) - 1)


_READ = {
    "Y": ("year", 4, 0, 9999),
    "G": ("year", 4, 0, 9999),
    "y": ("short", 2, 0, 99),
    "C": ("century", 2, 0, 99),
    "m": ("number", 2, 1, 12),
    "w": ("weekday", 1, 0, 6),
    "u": ("weekday", 1, 1, 7),
    "V": ("week", 2, 1, 53),
    "e": ("day", 2, 1, 31),
    "d": ("day", 2, 1, 31),
    "j": ("yday", 3, 1, 366),
    "k": ("hour", 2, 0, 23),
    "H": ("hour", 2, 0, 23),
    "l": ("twelfth", 2, 1, 12),
    "I": ("twelfth", 2, 1, 12),
    "M": ("minute", 2, 0, 59),
    "S": ("second", 2, 0, 60),
    "s": ("epoch", 19, 0, 1 << 62),
    "f": ("micro", 6, 0, 999999),
}
_NAMED = {
    "B": ("month", _MONTHS),
    "b": ("month", [name[:3] for name in _MONTHS]),
    "h": ("month", [name[:3] for name in _MONTHS]),
    "A": ("weekday", _DAYS),
    "a": ("weekday", [name[:3] for name in _DAYS]),
    "p": ("half", ["AM", "PM"]),
    "P": ("half", ["AM", "PM"]),
}
