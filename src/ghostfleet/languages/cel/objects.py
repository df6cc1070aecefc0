"""Objects of built-in kinds as Go programs show them to CEL: structs, not maps.

A field of a struct is always there. One that the object does not have is *zero*: an empty text, list or map, false, the
first time of the calendar, or null where Go has a pointer. A field that the type does not know is an error, times are
timestamps, and lists of resources hold quantities, of which an absent one is 0.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.core import quantity
from ghostfleet.core.schema import Type
from ghostfleet.core.timestamps import parse_rfc3339
from ghostfleet.languages.cel.values import CelError, Quantity, Timestamp

__all__ = ["Resources", "Struct", "shown"]

#: fields that are there in JSON, but belong to a part of the struct without a name
_NOT_SHOWN = frozenset(("apiVersion", "kind"))
_ZERO_TIME = Timestamp(-62135596800 * 10**9)
_ZEROS: dict[str, Any] = {"string": "", "integer": 0, "number": 0.0, "boolean": False, "quantity": "0", "bytes": b""}


class Struct:
    """An object, or a part of it, with its type."""

    __slots__ = ("type", "value")

    def __init__(self, value: dict[str, Any], type_: Type) -> None:
        self.value = value
        self.type = type_

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Struct) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]

    def field(self, name: str) -> Any:
        type_ = self.type.fields.get(name)
        if type_ is None or name in _NOT_SHOWN:
            raise CelError(f"undefined field {name!r}")
        if name in self.value and self.value[name] is not None:
            return shown(self.value[name], type_)
        return _zero(type_, name in self.type.omits or name in self.type.required)

    def has(self, name: str) -> bool:
        if name not in self.type.fields:
            raise CelError(f"undefined field {name!r}")
        return bool(self.value.get(name))


class Resources:
    """Amounts by the names of resources."""

    __slots__ = ("amounts",)

    def __init__(self, amounts: dict[str, Any]) -> None:
        self.amounts = amounts

    def __len__(self) -> int:
        return len(self.amounts)

    def __contains__(self, name: object) -> bool:
        return name in self.amounts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Resources) and {name: self.get(name) for name in self.amounts} == {
            name: other.get(name) for name in other.amounts
        }

    __hash__ = None  # type: ignore[assignment]

    def get(self, name: str) -> Quantity:
        return Quantity(quantity.parse(self.amounts.get(name, "0")))


def shown(value: Any, type_: Type) -> Any:
    """A value of some type, as CEL sees it."""
    sort = type_.sort
    if sort == "object":
        return Struct(value, type_)
    if sort == "list" and type_.items is not None:
        return [shown(item, type_.items) for item in value]
    if sort == "map" and type_.items is not None:
        if type_.items.sort == "quantity":
            return Resources(value)
        return value
    if sort in ("time", "microtime"):
        return Timestamp(parse_rfc3339(value) * 1000)
    if sort == "quantity":
        return Quantity(quantity.parse(value))
    return value


def _zero(type_: Type, plain: bool) -> Any:
    sort = type_.sort
    if sort == "list":
        return []
    if sort == "map":
        return Resources({}) if type_.items is not None and type_.items.sort == "quantity" else {}
    if sort in ("time", "microtime"):
        return _ZERO_TIME
    if sort == "object":
        return Struct({}, type_) if plain or type_.name.endswith(_EMBEDDED) else None
    return _ZEROS.get(sort) if plain else None


#: Parts of pods and nodes that are no pointers.
_EMBEDDED = ("ObjectMeta", "PodSpec", "PodStatus", "NodeSpec", "NodeStatus", "ResourceRequirements", "ContainerState")
