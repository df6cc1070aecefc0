"""The values of CEL, and what they are called.

Ints, doubles, texts, bytes, booleans, null, lists and maps are Python's own; a `Uint` is an int that was written with a
`u`. A `Timestamp` counts nanoseconds since 1970 and a `Duration` nanoseconds, as in Go. A `Quantity` is KWOK's: an
amount of a resource that can be added, compared and multiplied. A `TypeName` is what `type(x)` gives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ghostfleet.core import quantity
from ghostfleet.languages.budget import BUDGET, CHUNK
from ghostfleet.languages.errors import EvaluationError
from ghostfleet.languages.gotimes import Time, format_time

__all__ = [
    "TYPE_NAMES",
    "CelError",
    "Duration",
    "Quantity",
    "Timestamp",
    "TypeName",
    "Uint",
    "equal",
    "no_overload",
    "type_name",
]

_SECOND = 1_000_000_000
_EPOCH = datetime(1970, 1, 1)


class CelError(EvaluationError):
    """An expression that has no value for an object."""


class Uint(int):
    """An int without a sign."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    nanoseconds: int

    def __str__(self) -> str:
        """Seconds, as CEL writes them."""
        sign = "-" if self.nanoseconds < 0 else ""
        whole, rest = divmod(abs(self.nanoseconds), _SECOND)
        fraction = f".{rest:09d}".rstrip("0") if rest else ""
        return f"{sign}{whole}{fraction}s"


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    since_epoch: int
    #: seconds east of UTC in the text that it was read from, which shows when it is written again
    offset: int = field(default=0, compare=False)

    @property
    def clock(self) -> datetime:
        """The time in UTC, to the second."""
        return _EPOCH + timedelta(seconds=self.since_epoch // _SECOND)

    def __str__(self) -> str:
        return format_time(Time(self.since_epoch, self.offset), "2006-01-02T15:04:05.999999999Z07:00")


@dataclass(frozen=True, slots=True)
class Quantity:
    amount: quantity.Quantity

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.amount.nano == other.amount.nano

    def __hash__(self) -> int:
        return hash(self.amount.nano)

    def __lt__(self, other: Quantity) -> bool:
        return self.amount.nano < other.amount.nano

    def __float__(self) -> float:
        return self.amount.nano / 1e9

    def __str__(self) -> str:
        return str(self.amount)


@dataclass(frozen=True, slots=True)
class TypeName:
    name: str

    def __str__(self) -> str:
        return self.name


#: what the types of values are called
TYPE_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    dict: "map",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    TypeName: "type",
    Quantity: "kubernetes.Quantity",
}


def type_name(value: Any) -> str:
    return TYPE_NAMES.get(type(value), "object")


def no_overload(what: str, *values: Any) -> CelError:
    """The error of a function that takes no values of these types."""
    return CelError(f"no such overload: {what}({', '.join(map(type_name, values))})")


_NUMBERS = (int, Uint, float)


def equal(left: Any, right: Any) -> bool:
    """`==`: numbers are compared whatever their types; values of different types are not equal."""
    kind, other = type(left), type(right)
    if kind is str:
        if len(left) >= CHUNK:
            BUDGET.handle(len(left))
        return other is str and bool(left == right)
    if kind in _NUMBERS and other in _NUMBERS:
        return bool(left == right)
    if kind is other and (kind is list or kind is dict):
        BUDGET.step(1 + len(left) // 2)
    if kind is list and other is list:
        return len(left) == len(right) and all(map(equal, left, right))
    if kind is dict and other is dict:
        return len(left) == len(right) and all(key in right and equal(part, right[key]) for key, part in left.items())
    return kind is other and bool(left == right)
