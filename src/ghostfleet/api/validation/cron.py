"""Whether a cron schedule can be read, and if not, why: in the words of the parser that Kubernetes uses.

A schedule is five *fields* (minute, hour, day of month, month, day of week) or a *descriptor* such as `@hourly`. A
field is a list of ranges, and a range may have a step.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ghostfleet.core.durations import parse_duration

__all__ = ["schedule_problem"]

_DESCRIPTORS = {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
_EVERY = "@every "
_TIME_ZONE = re.compile(r"(?:CRON_)?TZ=\S*\s*")


class _Bounds(NamedTuple):
    low: int
    high: int
    names: tuple[str, ...] = ()


_FIELDS = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")),
    _Bounds(0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)


def schedule_problem(schedule: str) -> str:
    """What is wrong with the schedule; empty if nothing is."""
    text = _TIME_ZONE.sub("", schedule, count=1) if schedule.startswith(("TZ=", "CRON_TZ=")) else schedule
    try:
        if text.startswith("@"):
            _check_descriptor(text)
        else:
            _check_fields(text)
    except ValueError as problem:
        return str(problem)
    return ""


def _check_descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith(_EVERY):
        raise ValueError(f"unrecognized descriptor: {text}")
    try:
        parse_duration(text.removeprefix(_EVERY))
    except ValueError as problem:
        raise ValueError(f"failed to parse duration {text}: {problem}") from None


def _check_fields(text: str) -> None:
    fields = text.split()
    if len(fields) != len(_FIELDS):
        listed = " ".join(fields)
        raise ValueError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{listed}]")
    for field, bounds in zip(fields, _FIELDS, strict=True):
        for expression in filter(None, field.split(",")):
            _check_range(expression, bounds)


def _check_range(expression: str, bounds: _Bounds) -> None:
    span, *steps = expression.split("/")
    ends = span.split("-")
    if ends[0] in ("*", "?"):
        start, end = bounds.low, bounds.high
    else:
        start = end = _number(ends[0], bounds)
        if len(ends) == 2:
            end = _number(ends[1], bounds)
        elif len(ends) > 2:
            raise ValueError(f"too many hyphens: {expression}")
    if len(steps) > 1:
        raise ValueError(f"too many slashes: {expression}")
    step = _integer(steps[0]) if steps else 1
    if steps and len(ends) == 1:
        end = bounds.high
    if start < bounds.low:
        raise ValueError(f"beginning of range ({start}) below minimum ({bounds.low}): {expression}")
    if end > bounds.high:
        raise ValueError(f"end of range ({end}) above maximum ({bounds.high}): {expression}")
    if start > end:
        raise ValueError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise ValueError(f"step of range should be a positive number: {expression}")


def _number(text: str, bounds: _Bounds) -> int:
    name = text.lower()
    return bounds.names.index(name) + bounds.low if name in bounds.names else _integer(text)


def _integer(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    number = int(text)
    if number < 0:
        raise ValueError(f"negative number ({number}) not allowed: {text}")
    return number
