"""Schedules: when a CronJob is due.

A schedule is five *fields* (minute, hour, day of month, month, day of week), a *descriptor* such as `@hourly`, or an
interval, `@every 90s`. Fields hold in the local time of a zone. A time that a clock change skips does not come; where
days of the month and of the week are both given, either will do. Times are microseconds since the epoch.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from ghostfleet.core.durations import parse_duration
from ghostfleet.core.timestamps import MICRO

__all__ = ["CronSchedule", "parse_schedule"]

_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_BOUNDS: tuple[tuple[int, int, tuple[str, ...]], ...] = (
    (0, 59, ()),
    (0, 23, ()),
    (1, 31, ()),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
_FAR = 5


class _Field(NamedTuple):
    values: frozenset[int]
    #: It was given as a star: any value.
    any: bool


class CronSchedule:
    """When a CronJob is due: `next` answers the first time after another."""

    def __init__(self, fields: tuple[_Field, ...], interval: int, zone: tzinfo) -> None:
        self._fields = fields
        self._interval = interval
        self._zone = zone

    def next(self, after: int) -> int | None:
        """The first time after `after`; None when none comes within five years."""
        if self._interval:
            return after // MICRO * MICRO + self._interval
        minutes, hours, _, months, _ = self._fields
        moment = datetime.fromtimestamp(after // MICRO, UTC).astimezone(self._zone)
        moment = self._later(moment.replace(second=0, microsecond=0), minutes=1)
        limit = moment.year + _FAR
        while moment.year <= limit:
            if moment.month not in months.values:
                moment = self._midnight(moment.replace(day=1) + timedelta(days=32), day=1)
            elif not self._fits_day(moment):
                moment = self._midnight(moment + timedelta(days=1))
            elif moment.hour not in hours.values:
                moment = self._later(moment.replace(minute=0), hours=1)
            elif moment.minute not in minutes.values:
                moment = self._later(moment, minutes=1)
            else:
                return int(moment.timestamp()) * MICRO
        return None

    def _later(self, moment: datetime, *, hours: int = 0, minutes: int = 0) -> datetime:
        """Real time passes, whatever the clocks on the wall do."""
        return (moment.astimezone(UTC) + timedelta(hours=hours, minutes=minutes)).astimezone(self._zone)

    def _midnight(self, moment: datetime, day: int | None = None) -> datetime:
        start = moment.replace(day=day or moment.day, hour=0, minute=0, fold=0)
        # Where the clock is changed at midnight, the day begins later.
        return start.astimezone(UTC).astimezone(self._zone)

    def _fits_day(self, moment: datetime) -> bool:
        _, _, days, _, weekdays = self._fields
        of_month, of_week = moment.day in days.values, moment.isoweekday() % 7 in weekdays.values
        return of_month and of_week if days.any or weekdays.any else of_month or of_week


@lru_cache(maxsize=1024)
def parse_schedule(text: str, zone: str = "") -> CronSchedule:
    """Read a schedule, in a zone that is given by name or stands in front of it; a ValueError when it is none."""
    if text.startswith(("TZ=", "CRON_TZ=")):
        prefix, _, text = text.partition(" ")
        zone, text = prefix.partition("=")[2], text.strip()
    where: tzinfo = ZoneInfo(zone) if zone and zone != "UTC" else UTC
    if text.startswith("@every "):
        interval = max(parse_duration(text.removeprefix("@every ")) // MICRO, 1) * MICRO
        return CronSchedule((), interval, where)
    fields = _DESCRIPTORS.get(text, text).split()
    if len(fields) != len(_BOUNDS):
        raise ValueError(f"expected exactly {len(_BOUNDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    return CronSchedule(tuple(_field(field, *bounds) for field, bounds in zip(fields, _BOUNDS, strict=True)), 0, where)


def _field(text: str, low: int, high: int, names: tuple[str, ...]) -> _Field:
    values: set[int] = set()
    star = False
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        if first in ("*", "?"):
            start, end = low, high
            star = star or step in ("", "1")
        else:
            start = _number(first, low, names)
            end = _number(last, low, names) if last else (high if step else start)
        if not low <= start <= end <= high:
            raise ValueError(f"{part} is outside of {low} to {high}")
        values.update(range(start, end + 1, int(step or "1")))
    return _Field(frozenset(values), star)


def _number(text: str, low: int, names: tuple[str, ...]) -> int:
    return names.index(text.lower()) + low if text.lower() in names else int(text)
