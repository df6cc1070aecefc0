"""Durations against the answers of Go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "us", "printed"),
    [
        ("0", 0, "0s"),
        ("-0", 0, "0s"),
        ("1h30m", 5_400_000_000, "1h30m0s"),
        ("90s", 90_000_000, "1m30s"),
        ("1.5h", 5_400_000_000, "1h30m0s"),
        ("300ms", 300_000, "300ms"),
        ("-2m", -120_000_000, "-2m0s"),
        ("+5s", 5_000_000, "5s"),
        (".5s", 500_000, "500ms"),
        ("1.s", 1_000_000, "1s"),
        ("1.5s", 1_500_000, "1.5s"),
        ("1500us", 1_500, "1.5ms"),
        ("5us", 5, "5µs"),
        ("5µs", 5, "5µs"),
        ("5μs", 5, "5µs"),
        ("999ns", 0, "0s"),
        ("1m1m", 120_000_000, "2m0s"),
        ("100h0.25s", 360_000_250_000, "100h0m0.25s"),
        ("0.3333333333333333333h", 1_200_000_000, "20m0s"),
        ("2562047h47m16.854775807s", 9_223_372_036_854_775, "2562047h47m16.854775s"),
    ],
)
def test_a_duration_reads_and_prints_as_in_go(text, us, printed):
    assert parse_duration(text) == us
    assert format_duration(us) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        (".s", 'time: invalid duration ".s"'),
        ("h", 'time: invalid duration "h"'),
        ("1h-2m", 'time: unknown unit "h-" in duration "1h-2m"'),
        ("1", 'time: missing unit in duration "1"'),
        ("1h1", 'time: missing unit in duration "1h1"'),
        ("3d", 'time: unknown unit "d" in duration "3d"'),
        ("1 h", 'time: unknown unit " h" in duration "1 h"'),
        ("1S", 'time: unknown unit "S" in duration "1S"'),
        ("2562048h", 'time: invalid duration "2562048h"'),
        ("100000000000000000000h", 'time: invalid duration "100000000000000000000h"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
    ],
)
def test_what_is_no_duration_is_refused_in_the_words_of_go(text, message):
    with pytest.raises(ValueError) as refused:
        parse_duration(text)
    assert str(refused.value) == message


@given(st.integers(-(2**63) // 1000 + 1, 2**63 // 1000 - 1))
def test_what_is_printed_is_read_back(us):
    # Go reads fractions of a second through a float, which is exact to far below a microsecond.
    assert abs(parse_duration(format_duration(us)) - us) <= 1
