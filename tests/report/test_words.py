"""Spans of time in words."""

from __future__ import annotations

import pytest

from ghostfleet.report.words import amount, count_of, percent, span


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (1e-7, "0 s"),
        (0.00035, "350 µs"),
        (0.0123, "12.3 ms"),
        (0.99951, "1 s"),
        (1.25, "1.25 s"),
        (20, "20 s"),
        (59.97, "1 min 00 s"),
        (125, "2 min 05 s"),
        (3725, "1 h 02 min"),
        (273_600, "3 d 4 h"),
        (-2.5, "-2.5 s"),
    ],
)
def test_a_span_has_about_three_figures(seconds, words):
    assert span(seconds) == words


def test_numbers_read_well():
    assert [amount(each) for each in (0.0, 7.0, 8.53, 123.4, 12_345.0)] == ["0", "7", "8.5", "123", "12,345"]
    assert [count_of(each, "node") for each in (1, 2_000)] == ["1 node", "2,000 nodes"]


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.042, "0.042"), (0.0004, "4e-04"), (0.5, "0.5"), (1234.5, "1,234")]
)
def test_little_is_not_nothing(value, text):
    assert amount(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0%"), (0.00001, "0.1%"), (0.004, "0.4%"), (0.43, "43%"), (0.997, "99.7%"), (0.99999, "99.9%"), (1, "100%")],
)
def test_a_share_is_all_or_nothing_only_when_it_is(share, text):
    assert percent(share) == text
