"""Constraints between the devices of a claim, kept up to date while devices are tried.

`matchAttribute` asks that all devices have the same value of an attribute, or with lists a value in common;
`distinctAttribute` that no two have. A device without the attribute satisfies neither. Both can take back the
last device they accepted. Two habits of Kubernetes' own are kept, since they show in what is allocated: a common
value that was lost to a device stays lost when the device is taken back, and of the devices of one request only the
latest counts for `distinctAttribute`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ghostfleet.schedulers.dra.devices import Device
from ghostfleet.schedulers.dra.features import Features
from ghostfleet.schedulers.dra.requests import Request

__all__ = ["Constraint", "constraint"]

Object = Mapping[str, Any]
#: the type of an attribute, and its values
Values = tuple[str, frozenset[Any]]

_SCALARS = ("string", "int", "bool", "version")
_IN_LISTS = ("ints", "bools", "strings", "versions")


class Constraint(Protocol):
    def add(self, request: Request, device: Device) -> bool:
        """Whether the device may be taken for the request; from then on it counts."""
        ...

    def remove(self, request: Request, device: Device) -> None:
        """The device that was added last, which counts no more."""
        ...


def constraint(spec: Object, features: Features) -> Constraint | None:
    """The constraint that a claim describes; None if it is of no kind that is known."""
    if spec.get("matchAttribute") is not None:
        return _MatchAttribute(spec, spec["matchAttribute"], features)
    if spec.get("distinctAttribute") is not None and not features.stable:
        return _DistinctAttribute(spec, spec["distinctAttribute"], features)
    return None


class _OfAttribute:
    __slots__ = ("_attribute", "_lists", "_requests")

    def __init__(self, spec: Object, attribute: str, features: Features) -> None:
        self._attribute = attribute
        self._requests = frozenset(spec.get("requests") or ())
        self._lists = features.list_attributes

    def concerns(self, request: Request) -> bool:
        return not self._requests or request.group in self._requests or request.full_name in self._requests

    def values(self, device: Device) -> Values | None:
        found = _attribute(device, self._attribute)
        return None if found is None else _values(found, self._lists)


def _attribute(device: Device, name: str) -> Object | None:
    """An attribute by its full name; those of the driver's own domain may be published without it."""
    attributes: Object = device.object.get("attributes") or {}
    if name in attributes:
        found: Object = attributes[name]
        return found
    domain, slash, rest = name.partition("/")
    return attributes.get(rest) if slash and domain == device.id.driver else None


def _values(attribute: Object, lists: bool) -> Values:
    if lists:
        for sort in _IN_LISTS:
            if attribute.get(sort):
                return sort[:-1], frozenset(attribute[sort])
    for sort in ("int", "bool", "string", "version") if lists else _SCALARS:
        if attribute.get(sort) is not None:
            return sort, frozenset((attribute[sort],))
    return "", frozenset()


class _MatchAttribute(_OfAttribute):
    __slots__ = ("_common", "_count")

    def __init__(self, spec: Object, attribute: str, features: Features) -> None:
        super().__init__(spec, attribute, features)
        self._common: Values = "", frozenset()
        self._count = 0

    def add(self, request: Request, device: Device) -> bool:
        if not self.concerns(request):
            return True
        found = self.values(device)
        if found is None or (self._lists and not found[0]):
            return False
        if self._count == 0:
            self._common = found
        else:
            shared = found[1] & self._common[1]
            if found[0] != self._common[0] or not shared:
                return False
            self._common = found[0], shared
        self._count += 1
        return True

    def remove(self, request: Request, device: Device) -> None:  # noqa: ARG002
        if self.concerns(request):
            self._count -= 1


class _DistinctAttribute(_OfAttribute):
    __slots__ = ("_count", "_taken")

    def __init__(self, spec: Object, attribute: str, features: Features) -> None:
        super().__init__(spec, attribute, features)
        self._taken: dict[str, Values] = {}
        self._count = 0

    def add(self, request: Request, device: Device) -> bool:
        if not self.concerns(request):
            return True
        found = self.values(device)
        if found is None or (self._count and not self._is_new(found)):
            return False
        self._taken[request.group] = found
        self._count += 1
        return True

    def _is_new(self, found: Values) -> bool:
        if not found[0]:
            return not self._lists and not self._taken
        return not any(found[0] == taken[0] and found[1] & taken[1] for taken in self._taken.values())

    def remove(self, request: Request, device: Device) -> None:  # noqa: ARG002
        if self.concerns(request):
            self._taken.pop(request.group, None)
            self._count -= 1
