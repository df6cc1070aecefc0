"""The operators of CEL, by the types of their operands.

Each table maps a pair of Python types to a function; a pair that is not in it has no such operation. Ints that leave 64
bits are errors, as are divisions by zero.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ghostfleet.core import quantity
from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.cel.values import CelError, Duration, Quantity, Timestamp, Uint
from ghostfleet.languages.govalues import truncated

__all__ = ["ARITHMETIC", "COMPARABLE", "COMPARISONS", "NEGATIONS", "index", "is_key"]

Pair = tuple[type, type]
Operation = Callable[[Any, Any], Any]

_INT_LEAST, _INT_MOST = -(1 << 63), (1 << 63) - 1
_UINT_MOST = (1 << 64) - 1
_TIME_LEAST, _TIME_MOST = -62135596800 * 10**9, 253402300799 * 10**9 + 999_999_999


def as_int(value: int) -> int:
    if not _INT_LEAST <= value <= _INT_MOST:
        raise CelError("integer overflow")
    return value


def as_uint(value: int) -> Uint:
    if not 0 <= value <= _UINT_MOST:
        raise CelError("unsigned integer overflow")
    return Uint(value)


def as_duration(nanoseconds: int) -> Duration:
    if not _INT_LEAST <= nanoseconds <= _INT_MOST:
        raise CelError("duration overflow")
    return Duration(nanoseconds)


def as_timestamp(nanoseconds: int) -> Timestamp:
    if not _TIME_LEAST <= nanoseconds <= _TIME_MOST:
        raise CelError("timestamp overflow")
    return Timestamp(nanoseconds)


def _quotient(left: int, right: int) -> int:
    if right == 0:
        raise CelError("division by zero")
    size = abs(left) // abs(right)
    return size if (left < 0) == (right < 0) else -size


def _rest(left: int, right: int) -> int:
    if right == 0:
        raise CelError("modulus by zero")
    if left == _INT_LEAST and right == -1:
        raise CelError("integer overflow")
    return int(math.fmod(left, right)) if abs(left) < 1 << 52 > abs(right) else _sign(left) * (abs(left) % abs(right))


def _sign(value: int) -> int:
    return -1 if value < 0 else 1


def _divided(left: float, right: float) -> float:
    try:
        return left / right
    except ZeroDivisionError:
        if left == 0 or left != left:
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _joined(left: Any, right: Any) -> Any:
    BUDGET.handle(len(left) + len(right))
    return left + right


def _milli(amount: Quantity, change: Callable[[int], int]) -> Quantity:
    return Quantity(quantity.from_milli(change(quantity.milli(amount.amount))))


def _amount(value: float) -> Quantity:
    return Quantity(quantity.from_milli(truncated(value * 1e3)))


ARITHMETIC: dict[str, dict[Pair, Operation]] = {
    "+": {
        (int, int): lambda left, right: as_int(left + right),
        (Uint, Uint): lambda left, right: as_uint(left + right),
        (float, float): operator.add,
        (str, str): _joined,
        (bytes, bytes): _joined,
        (list, list): _joined,
        (Duration, Duration): lambda left, right: as_duration(left.nanoseconds + right.nanoseconds),
        (Timestamp, Duration): lambda left, right: as_timestamp(left.since_epoch + right.nanoseconds),
        (Duration, Timestamp): lambda left, right: as_timestamp(left.nanoseconds + right.since_epoch),
        (Quantity, Quantity): lambda left, right: Quantity(quantity.add(left.amount, right.amount)),
    },
    "-": {
        (int, int): lambda left, right: as_int(left - right),
        (Uint, Uint): lambda left, right: as_uint(left - right),
        (float, float): operator.sub,
        (Duration, Duration): lambda left, right: as_duration(left.nanoseconds - right.nanoseconds),
        (Timestamp, Duration): lambda left, right: as_timestamp(left.since_epoch - right.nanoseconds),
        (Timestamp, Timestamp): lambda left, right: as_duration(left.since_epoch - right.since_epoch),
        (Quantity, Quantity): lambda left, right: Quantity(quantity.sub(left.amount, right.amount)),
    },
    "*": {
        (int, int): lambda left, right: as_int(left * right),
        (Uint, Uint): lambda left, right: as_uint(left * right),
        (float, float): operator.mul,
        (Quantity, int): lambda left, right: _milli(left, lambda milli: milli * right),
        (Quantity, Uint): lambda left, right: _milli(left, lambda milli: milli * right),
        (Quantity, float): lambda left, right: _amount(float(left) * right),
    },
    "/": {
        (int, int): lambda left, right: as_int(_quotient(left, right)),
        (Uint, Uint): lambda left, right: Uint(_quotient(left, right)),
        (float, float): _divided,
        (Quantity, int): lambda left, right: _milli(left, lambda milli: _quotient(milli, right)),
        (Quantity, Uint): lambda left, right: _milli(left, lambda milli: _quotient(milli, right)),
        (Quantity, float): lambda left, right: _amount(_divided(float(left), right)),
    },
    "%": {
        (int, int): _rest,
        (Uint, Uint): lambda left, right: Uint(_rest(left, right)),
    },
}

NEGATIONS: dict[type, Callable[[Any], Any]] = {
    int: lambda value: as_int(-value),
    float: operator.neg,
    Quantity: lambda value: Quantity(quantity.sub(quantity.ZERO, value.amount)),
}

_NUMBERS = (int, Uint, float)
#: pairs of types that have an order
COMPARABLE: frozenset[Pair] = frozenset(
    [(kind, kind) for kind in (bool, int, Uint, float, str, bytes, Timestamp, Duration, Quantity)]
    + [(left, right) for left in _NUMBERS for right in _NUMBERS]
)
COMPARISONS: dict[str, Operation] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left < right or left == right,
    ">": lambda left, right: right < left,
    ">=": lambda left, right: right < left or left == right,
}


def index(value: Any, key: Any) -> Any:
    """`value[key]`."""
    if type(value) is dict:
        if not is_key(key, value):
            raise CelError(f"no such key: {key}")
        return value[key]
    if type(value) is list:
        if type(key) not in _NUMBERS or key != int(key):
            raise CelError(f"invalid index of a list: {key}")
        if not 0 <= key < len(value):
            raise CelError(f"index out of bounds: {key}")
        return value[int(key)]
    raise CelError("no such overload: _[_]")


def is_key(key: Any, whole: Any) -> bool:
    """Whether a map has a key."""
    kind = type(key)
    if kind is bool:
        BUDGET.step(len(whole) // 8)
        # In Python True is the key 1 as well; in CEL it is not.
        return any(known is key for known in whole)
    return kind in (str, *_NUMBERS) and key in whole
