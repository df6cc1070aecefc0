"""Quantities against the answers of apimachinery, and against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.utils.quantity import parse_quantity

from ghostfleet.core import quantity
from ghostfleet.core.quantity import Quantity

# text, what the API server writes back, milli value, value
ROUND_TRIPS = [
    ("0", "0", 0, 0),
    ("1", "1", 1000, 1),
    ("+5", "+5", 5000, 5),
    ("-5", "-5", -5000, -5),
    ("010", "010", 10000, 10),
    ("1000m", "1", 1000, 1),
    ("1500m", "1500m", 1500, 2),
    ("0.5", "500m", 500, 1),
    ("1.5", "1500m", 1500, 2),
    ("1.500", "1.500", 1500, 2),
    ("0.001", "1m", 1, 1),
    ("0.5m", "500u", 1, 1),
    ("1k", "1k", 1000000, 1000),
    ("1000", "1k", 1000000, 1000),
    ("1000k", "1M", 1000000000, 1000000),
    ("1024", "1024", 1024000, 1024),
    ("1024Ki", "1Mi", 1048576000, 1048576),
    ("1025Ki", "1025Ki", 1049600000, 1049600),
    ("1000Mi", "1000Mi", 1048576000000, 1048576000),
    ("2048Mi", "2Gi", 2147483648000, 2147483648),
    ("1.5Gi", "1536Mi", 1610612736000, 1610612736),
    ("0.5Ki", "512", 512000, 512),
    ("0.1Ki", "102400m", 102400, 103),
    ("5Pi", "5Pi", 5629499534213120000, 5629499534213120),
    ("1Ei", "1Ei", 1152921504606846976000, 1152921504606846976),
    ("16Ei", "9223372036854775807", 9223372036854775807000, 9223372036854775807),
    ("100e3", "100e3", 100000000, 100000),
    ("1000e3", "1e6", 1000000000, 1000000),
    ("1E3", "1E3", 1000000, 1000),
    ("12E", "12E", 12 * 10**21, 12 * 10**18),
    ("1e1", "10", 10000, 10),
    ("1.5e3", "1500", 1500000, 1500),
    ("1e-12", "1e-9", 1, 1),
    ("0.0000000001", "1n", 1, 1),
    ("1.0000000001", "1000000001n", 1001, 2),
    ("1000n", "1u", 1, 1),
    ("3000000u", "3", 3000, 3),
    ("123456789.123456789", "123456789.123456789", 123456789124, 123456790),
    ("1.", "1.", 1000, 1),
    (".", "0", 0, 0),
    ("+", "0", 0, 0),
    ("Ki", "0", 0, 0),
    ("-1.5Gi", "-1536Mi", -1610612736000, -1610612736),
    ("-0.5", "-500m", -500, -1),
    ("-0", "0", 0, 0),
    ("0Mi", "0", 0, 0),
    (" 1 ", "1", 1000, 1),
]


@pytest.mark.parametrize(("text", "canonical", "milli", "value"), ROUND_TRIPS)
def test_a_quantity_reads_and_writes_as_in_go(text, canonical, milli, value):
    assert (quantity.canonical(text), quantity.milli(text), quantity.value(text)) == (canonical, milli, value)


FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
NUMBER = "unable to parse numeric part of quantity"
SUFFIX = "unable to parse quantity's suffix"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", FORMAT),
        ("abc", FORMAT),
        ("1 Gi", FORMAT),
        ("1.2.3", FORMAT),
        ("1_0", FORMAT),
        ("0x10", FORMAT),
        ("½", FORMAT),
        ("1\n2", FORMAT),
        ("Pi", NUMBER),
        ("1" * 5000, NUMBER),
        ("--1", SUFFIX),
        ("1Kii", SUFFIX),
        ("1ki", SUFFIX),
        ("1K", SUFFIX),
        ("1e", SUFFIX),
        ("1ee3", SUFFIX),
        ("1e99999999999", SUFFIX),
        ("1e1001", SUFFIX),
    ],
)
def test_what_is_no_quantity_is_refused_in_the_words_of_kubernetes(text, message):
    assert not quantity.is_valid(text)
    with pytest.raises(ValueError) as refused:
        quantity.parse(text)
    assert str(refused.value) == message


@pytest.mark.parametrize("value", [True, None, [], {}, b"1", float("nan"), float("inf")])
def test_values_of_other_types_are_no_quantities(value):
    assert not quantity.is_valid(value)
    with pytest.raises(ValueError):
        quantity.parse(value)


def test_numbers_of_json_are_quantities():
    assert [quantity.canonical(number) for number in (2, 0.5, 1.0, 1000, 1e22)] == ["2", "500m", "1", "1k", "10e21"]
    assert quantity.is_valid(quantity.parse("1Gi"))


# left, right, sum, difference, comparison
SUMS = [
    ("1", "500m", "1500m", "500m", 1),
    ("500m", "500m", "1", "0", 0),
    ("1Gi", "512Mi", "1536Mi", "512Mi", 1),
    ("1Gi", "1", "1073741825", "1073741823", 1),
    ("0", "1Gi", "1Gi", "-1Gi", -1),
    ("1", "1Gi", "1073741825", "-1073741823", -1),
    ("1e3", "1Ki", "2024", "-24", -1),
    ("100m", "1Ki", "1024100m", "-1023900m", -1),
    ("1Ki", "-1Ki", "0", "2Ki", 1),
    ("1.5Gi", "0.1", "1610612736100m", "1610612735900m", 1),
]


@pytest.mark.parametrize(("left", "right", "added", "subtracted", "order"), SUMS)
def test_sums_keep_the_format_of_the_first(left, right, added, subtracted, order):
    assert str(quantity.add(left, right)) == added
    assert str(quantity.sub(left, right)) == subtracted
    assert quantity.compare(left, right) == order
    assert quantity.compare(right, left) == -order


def test_a_total_takes_the_format_of_what_it_adds():
    assert str(quantity.total(["512Mi", "512Mi", "1Gi"])) == "2Gi"
    assert str(quantity.total([])) == "0"


def test_quantities_are_made_from_counts():
    assert str(quantity.from_milli(1500)) == "1500m"
    assert str(quantity.from_value(3 * 2**30, "BinarySI")) == "3Gi"


numbers = st.builds(
    lambda sign, whole, fraction: f"{sign}{whole}" + (f".{fraction}" if fraction is not None else ""),
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**12),
    st.none() | st.integers(0, 10**6),
)
decimal_suffixes = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
binary_suffixes = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
scales = {suffix: Fraction(10) ** exponent for suffix, exponent in decimal_suffixes.items()}
scales |= {suffix: Fraction(2) ** exponent for suffix, exponent in binary_suffixes.items()}


def rounded_to_nano(exact: Fraction) -> int:
    nano = -(-abs(exact) * 10**9 // 1)
    return int(nano if exact > 0 else -nano)


@given(numbers, st.sampled_from(list(scales)))
def test_the_amount_is_the_exact_fraction_rounded_up_to_a_billionth(number, suffix):
    expected = rounded_to_nano(Fraction(number) * scales[suffix])
    if suffix in binary_suffixes:
        limit = (2**63 - 1) * 10**9
        expected = max(min(expected, limit), -limit)
    assert quantity.parse(number + suffix).nano == expected


@given(numbers, st.sampled_from([suffix for suffix in scales if suffix not in ("Pi", "Ei")]))
def test_the_amount_is_what_the_kubernetes_client_reads(number, suffix):
    # The client keeps what is below a billionth and does not know that binary amounts end at the largest 64-bit number.
    read = Fraction(parse_quantity(number.removeprefix("+") + suffix))
    if abs(read) < 2**63:
        assert quantity.parse(number + suffix).nano == rounded_to_nano(read)


@given(numbers, st.sampled_from(list(scales)))
def test_canonical_texts_name_the_same_amount_and_are_stable(number, suffix):
    parsed = quantity.parse(number + suffix)
    canonical = quantity.parse(str(Quantity(parsed.nano, parsed.format)))
    if abs(parsed.nano) < 10**30:
        assert canonical.nano == parsed.nano
        assert str(Quantity(canonical.nano, parsed.format)) == str(Quantity(parsed.nano, parsed.format))


@given(numbers, numbers, st.sampled_from(list(scales)), st.sampled_from(list(scales)))
def test_sums_and_comparisons_are_exact(left, right, one, other):
    a, b = quantity.parse(left + one), quantity.parse(right + other)
    assert quantity.add(a, b).nano - a.nano == b.nano
    assert quantity.sub(quantity.add(a, b), b).nano == a.nano
    assert quantity.compare(a, b) == (a.nano > b.nano) - (a.nano < b.nano)
