"""Times in RFC 3339 and ages, against the answers of Go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.timestamps import age, parse_rfc3339, rfc3339, rfc3339_micro, short_age

NEW_YEAR = 1767225600_000000
FIRST, LAST = parse_rfc3339("0001-01-01T00:00:00Z"), parse_rfc3339("9999-12-31T23:59:59.999999Z")


def test_times_are_written_to_the_second_and_to_the_microsecond():
    assert rfc3339(NEW_YEAR + 999_999) == "2026-01-01T00:00:00Z"
    assert rfc3339_micro(NEW_YEAR + 123) == "2026-01-01T00:00:00.000123Z"
    assert rfc3339_micro(-1) == "1969-12-31T23:59:59.999999Z"
    assert rfc3339(FIRST) == "0001-01-01T00:00:00Z"


def test_a_time_past_the_calendar_is_refused():
    with pytest.raises(ValueError, match="outside the years 1 to 9999"):
        rfc3339(LAST + 1_000_000)


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("2026-01-01T00:00:00Z", NEW_YEAR),
        ("2026-01-01T00:00:00.5Z", NEW_YEAR + 500_000),
        ("2026-01-01T00:00:00,5Z", NEW_YEAR + 500_000),
        ("2026-01-01T00:00:00.123456789Z", NEW_YEAR + 123_456),
        ("2026-01-01T01:00:00+01:00", NEW_YEAR),
        ("2025-12-31T18:30:00-05:30", NEW_YEAR),
        ("2026-01-01T1:00:00Z", NEW_YEAR + 3600_000000),
        ("2024-02-29T00:00:00Z", 1709164800_000000),
        ("1969-12-31T23:59:59.25Z", -750_000),
        ("2026-01-01T00:00:00+24:00", NEW_YEAR - 86400_000000),
    ],
)
def test_offsets_and_fractions_are_read(text, us):
    assert parse_rfc3339(text) == us


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'),
        ("2026-1-1T00:00:00Z", ' as "2006-01-02T15:04:05Z07:00": cannot parse "1-1T00:00:00Z" as "01"'),
        ("2026-01-01t00:00:00z", ' as "2006-01-02T15:04:05Z07:00": cannot parse "t00:00:00z" as "T"'),
        ("2026-01-01", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
        ("2026-01-01T00:00:00", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"'),
        ("2026-01-01T00:00:00.Z", ' as "2006-01-02T15:04:05Z07:00": cannot parse ".Z" as "Z07:00"'),
        ("2026-01-01T00:00:00Z ", ': extra text: " "'),
        ("2026-02-29T00:00:00Z", ": day out of range"),
        ("2026-13-01T00:00:00Z", ": month out of range"),
        ("2026-01-01T24:00:00Z", ": hour out of range"),
        ("2026-01-01T00:60:00Z", ": minute out of range"),
        ("2026-01-01T00:00:60Z", ": second out of range"),
        ("2026-01-01T00:00:00+25:00", ": time zone offset hour out of range"),
        ("2026-01-01T00:00:00+01:61", ": time zone offset minute out of range"),
    ],
)
def test_what_is_no_time_is_refused_in_the_words_of_go(text, problem):
    with pytest.raises(ValueError) as refused:
        parse_rfc3339(text)
    assert str(refused.value) == f'parsing time "{text}"{problem}'


@given(st.integers(FIRST, LAST))
def test_what_is_written_is_read_back(us):
    assert parse_rfc3339(rfc3339_micro(us)) == us
    assert parse_rfc3339(rfc3339(us)) == us // 1_000_000 * 1_000_000


DAY, YEAR = 86400, 86400 * 365


@pytest.mark.parametrize(
    ("seconds", "long", "short"),
    [
        (-2, "<invalid>", "<invalid>"),
        (-1.5, "0s", "0s"),
        (0.9, "0s", "0s"),
        (59, "59s", "59s"),
        (119, "119s", "1m"),
        (120, "2m", "2m"),
        (123, "2m3s", "2m"),
        (599, "9m59s", "9m"),
        (600, "10m", "10m"),
        (3 * 3600 - 1, "179m", "2h"),
        (3 * 3600, "3h", "3h"),
        (3 * 3600 + 12 * 60, "3h12m", "3h"),
        (8 * 3600, "8h", "8h"),
        (2 * DAY - 1, "47h", "1d"),
        (2 * DAY, "2d", "2d"),
        (5 * DAY + 23 * 3600, "5d23h", "5d"),
        (8 * DAY + 3600, "8d", "8d"),
        (2 * YEAR - 1, "729d", "1y"),
        (2 * YEAR, "2y", "2y"),
        (2 * YEAR + 45 * DAY, "2y45d", "2y"),
        (8 * YEAR + 45 * DAY, "8y", "8y"),
    ],
)
def test_ages_get_coarser_as_they_grow(seconds, long, short):
    us = int(seconds * 1_000_000)
    assert (age(us), short_age(us)) == (long, short)
