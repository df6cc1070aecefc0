"""Quantities of resources: `500m` of a CPU, `1536Mi` of memory, `8` GPUs.

A *quantity* is an exact number of billionths and a *format*, which says with what suffixes it is written: decimal
(`k`, `M`, `m`), binary (`Ki`, `Mi`) or with an exponent (`e3`). Finer amounts are rounded up to a billionth, as
Kubernetes does. The *canonical* text of a quantity is what the API server writes back for it. Every function takes a
quantity as text, as a number, or parsed; texts are cached, for the same few come again and again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple

__all__ = [
    "ZERO",
    "Amount",
    "Format",
    "Quantity",
    "add",
    "canonical",
    "compare",
    "from_milli",
    "from_value",
    "is_valid",
    "milli",
    "parse",
    "sub",
    "total",
    "value",
]

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

_BAD_FORMAT = r"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_BAD_NUMBER = "unable to parse numeric part of quantity"
_BAD_SUFFIX = "unable to parse quantity's suffix"

_SHAPE = re.compile(r"([+-]?)(0*)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIXES = {exponent: suffix for suffix, exponent in _BINARY.items()}

_NANO = 10**9
_MAX_INT64 = (1 << 63) - 1
_GO_SPACE = " \t\n\v\f\r\x85\xa0"
#: Go takes any exponent and any number of digits; past these no cluster has a meaning for them, only a cost.
_MAX_EXPONENT, _MAX_DIGITS = 1000, 4000


class Quantity(NamedTuple):
    """A parsed quantity; `str()` gives its canonical text."""

    nano: int
    format: Format
    #: the text it was read from, where Kubernetes would write it back as it was
    kept: str = ""

    def __str__(self) -> str:
        return self.kept or _canonical(self.nano, self.format)


Amount = str | int | float | Quantity

ZERO = Quantity(0, "DecimalSI")


def parse(amount: Amount) -> Quantity:
    """The quantity that a JSON value stands for; a ValueError in Kubernetes' words if it is none."""
    if isinstance(amount, str):
        return _parse(amount)
    if isinstance(amount, Quantity):
        return amount
    if isinstance(amount, (int, float)) and not isinstance(amount, bool):
        return _parse(repr(amount))
    raise ValueError(_BAD_FORMAT)


def is_valid(amount: object) -> bool:
    if not isinstance(amount, (str, int, float, Quantity)):
        return False
    try:
        parse(amount)
    except ValueError:
        return False
    return True


def canonical(amount: Amount) -> str:
    """The text the API server writes back: `1000m` becomes `1`, `1024Ki` becomes `1Mi`."""
    return _canonical_text(amount) if isinstance(amount, str) else str(parse(amount))


def milli(amount: Amount) -> int:
    """Thousandths, rounded up: what schedulers count CPU in."""
    return _milli(amount) if isinstance(amount, str) else _scaled(parse(amount).nano, _NANO // 1000)


def value(amount: Amount) -> int:
    """Whole units, rounded up: what schedulers count everything else in."""
    return _value(amount) if isinstance(amount, str) else _scaled(parse(amount).nano, _NANO)


def compare(left: Amount, right: Amount) -> int:
    """-1, 0 or 1."""
    a, b = parse(left).nano, parse(right).nano
    return (a > b) - (a < b)


def add(left: Amount, right: Amount) -> Quantity:
    """The sum, in the format of `left` unless that is zero."""
    a, b = parse(left), parse(right)
    return Quantity(a.nano + b.nano, a.format if a.nano else b.format)


def sub(left: Amount, right: Amount) -> Quantity:
    """The difference, in the format of `left` unless that is zero."""
    a, b = parse(left), parse(right)
    return Quantity(a.nano - b.nano, a.format if a.nano else b.format)


def total(amounts: Iterable[Amount]) -> Quantity:
    """The sum of all, in the format of the first that is not zero."""
    result = ZERO
    for amount in amounts:
        result = add(result, amount)
    return result


def from_milli(thousandths: int, format: Format = "DecimalSI") -> Quantity:
    return Quantity(thousandths * (_NANO // 1000), format)


def from_value(units: int, format: Format = "DecimalSI") -> Quantity:
    return Quantity(units * _NANO, format)


@lru_cache(maxsize=16384)
def _canonical_text(text: str) -> str:
    return str(_parse(text))


@lru_cache(maxsize=16384)
def _milli(text: str) -> int:
    return _scaled(_parse(text).nano, _NANO // 1000)


@lru_cache(maxsize=16384)
def _value(text: str) -> int:
    return _scaled(_parse(text).nano, _NANO)


def _scaled(nano: int, unit: int) -> int:
    """How many units, rounded away from zero."""
    return -(-nano // unit) if nano >= 0 else nano // unit


@lru_cache(maxsize=16384)
def _parse(text: str) -> Quantity:
    text = text.strip(_GO_SPACE)
    match = _SHAPE.fullmatch(text)
    if not text or match is None:
        raise ValueError(_BAD_FORMAT)
    sign, zeros, whole, fraction, suffix = match.groups("")
    if len(whole) + len(fraction) > _MAX_DIGITS:
        raise ValueError(_BAD_NUMBER)
    exponent, format = _interpret(suffix)
    digits = (whole or "0") + fraction
    scale = exponent - len(fraction)
    if format == "BinarySI":
        small = not fraction and len(digits) + exponent * 3 // 10 <= 14
        keeps = small and int(digits) & 7 != 0
        nano, format = _binary_nano(int(digits), len(fraction), exponent)
    else:
        small = len(digits) <= 18 and scale >= -9
        keeps = small and scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
        nano = _decimal_nano(int(digits), scale)
    # Kubernetes has a fast path for small numbers. There a text without digits is zero, and a text that at a glance has
    # no trailing zeros to fold into the suffix is written back as it came, be it `1.500` or `+5`.
    if not small and not (zeros or whole or fraction):
        raise ValueError(_BAD_NUMBER)
    return Quantity(-nano if sign == "-" else nano, format, text if keeps else "")


def _interpret(suffix: str) -> tuple[int, Format]:
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], "DecimalSI"
    if suffix in _BINARY:
        return _BINARY[suffix], "BinarySI"
    match = _EXPONENT.fullmatch(suffix)
    if match is None or len(match[1]) > 10 or int(match[1]) > _MAX_EXPONENT:
        raise ValueError(_BAD_SUFFIX)
    return max(int(match[1]), -_MAX_EXPONENT - _MAX_DIGITS), "DecimalExponent"


def _decimal_nano(digits: int, scale: int) -> int:
    return digits * _power(scale + 9) if scale >= -9 else -(-digits // _power(-9 - scale))


def _power(exponent: int) -> int:
    return int(10**exponent)


def _binary_nano(digits: int, places: int, exponent: int) -> tuple[int, Format]:
    nano = min(-(-(digits << exponent) * _NANO // _power(places)), _MAX_INT64 * _NANO)
    return nano, "DecimalSI" if 0 < nano < _NANO else "BinarySI"


@lru_cache(maxsize=16384)
def _canonical(nano: int, format: Format) -> str:
    if nano == 0:
        return "0"
    if format == "BinarySI" and abs(nano) >= 1024 * _NANO and nano % _NANO == 0:
        units, exponent = nano // _NANO, 0
        while units % 1024 == 0:
            units, exponent = units // 1024, exponent + 10
        return f"{units}{_BINARY_SUFFIXES.get(exponent, '')}"
    exponent = -9
    while nano % 1000 == 0:
        nano, exponent = nano // 1000, exponent + 3
    if format == "DecimalExponent":
        return f"{nano}e{exponent}" if exponent else str(nano)
    return f"{nano}{_DECIMAL_SUFFIXES.get(exponent, '')}"
