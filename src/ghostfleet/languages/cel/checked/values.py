"""Values that only checked CEL has, what their types are called, and which values an overload takes.

An *optional* value is there or not. A `DefaultMap` has a value for every key that is asked for, though it does not list
them all. A `Failure` is an error that a loop carries along, until it is known whether it matters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ghostfleet.languages.cel.checked.types import Type
from ghostfleet.languages.cel.values import TYPE_NAMES, CelError, TypeName
from ghostfleet.languages.cel.values import equal as equal_plain

__all__ = [
    "NONE",
    "CostExceeded",
    "DefaultMap",
    "Failure",
    "Optional",
    "accepts",
    "equal",
    "name_type",
    "size_of",
    "type_name",
    "type_of",
]


class CostExceeded(CelError):
    """The expression does more than it may; nothing can make up for that."""


@dataclass(frozen=True, slots=True)
class Optional:
    """A value, or none."""

    value: Any = None
    present: bool = True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Optional) or self.present != other.present:
            return False
        return not self.present or equal(self.value, other.value)

    __hash__ = None  # type: ignore[assignment]


NONE = Optional(present=False)


class DefaultMap(dict[str, Any]):
    """A map of maps that is empty for a key it does not have."""

    def __missing__(self, key: str) -> dict[str, Any]:
        return {}


class Failure:
    """An error in the place of a value."""

    __slots__ = ("error",)

    def __init__(self, error: CelError) -> None:
        self.error = error


_NAMES = {**TYPE_NAMES, DefaultMap: "map", Optional: "optional_type"}


def name_type(python: type, name: str) -> None:
    """Gives the values of a Python type a type in CEL."""
    _NAMES[python] = name


def type_name(value: Any) -> str:
    return _NAMES.get(type(value), "object")


def type_of(value: Any) -> TypeName:
    return TypeName(type_name(value))


def equal(left: Any, right: Any) -> bool:
    """`==`, also for values that are not in the plain language."""
    if isinstance(left, dict) and isinstance(right, dict):
        return len(left) == len(right) and all(key in right and equal(part, right[key]) for key, part in left.items())
    if type(left) is list and type(right) is list:
        return len(left) == len(right) and all(map(equal, left, right))
    return equal_plain(left, right)


def size_of(value: Any) -> int:
    """What a value counts for, when it has to be gone through."""
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    if type(value) is Optional and value.present:
        return size_of(value.value)
    return 1


def accepts(type_: Type) -> Callable[[Any], bool]:
    """Whether a value is of a type, as far as its first element tells."""
    if type_.is_dyn or type_.kind in ("param", "error"):
        return lambda _: True
    name = type_.name
    inner = [accepts(each) for each in type_.parameters if each.is_open or each.kind not in ("param",)]
    if type_.kind == "list":
        item = inner[0]
        return lambda value: type(value) is list and (not value or item(value[0]))
    if type_.kind == "map":
        key_of, value_of = inner

        def fits(value: Any) -> bool:
            if not isinstance(value, dict):
                return False
            return not value or all(key_of(key) and value_of(part) for key, part in list(value.items())[:1])

        return fits
    return lambda value: _NAMES.get(type(value)) == name
