"""resource.k8s.io/v1beta1 and v1: how claims and slices of the older version are written in the newer one, and back.

In v1beta1 a request for exactly some devices has its fields beside its name, where v1 has them under `exactly`; and
what v1 says of a device stands under `basic`. A node's name that is empty, and `allNodes: false`, say nothing there.
All else, and v1beta2 altogether, is the same in both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ghostfleet.core.changes import Object

__all__ = ["from_v1", "to_v1"]

_EXACTLY = ("deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity")

Change = Callable[[Object], Object]


def to_v1(plural: str, obj: Object) -> Object:
    """What v1beta1 says, in the words of v1."""
    if plural == "resourceslices":
        return _at(obj, ("spec",), _slice_to_v1)
    return _at(obj, (*_REQUESTS[plural], "requests"), _each(_request_to_v1)) if plural in _REQUESTS else obj


def from_v1(plural: str, obj: Object) -> Object:
    """What v1 says, in the words of v1beta1."""
    if plural == "resourceslices":
        return _at(obj, ("spec", "devices"), _each(_device_from_v1))
    return _at(obj, (*_REQUESTS[plural], "requests"), _each(_request_from_v1)) if plural in _REQUESTS else obj


#: Where kinds have the claim that requests are in.
_REQUESTS = {"resourceclaims": ("spec", "devices"), "resourceclaimtemplates": ("spec", "spec", "devices")}


def _request_to_v1(request: Object) -> Object:
    exactly = {field: request[field] for field in _EXACTLY if request.get(field) not in (None, "", 0)}
    rest = {field: value for field, value in request.items() if field not in _EXACTLY}
    return {**rest, "exactly": exactly} if exactly else rest


def _request_from_v1(request: Object) -> Object:
    rest = {field: value for field, value in request.items() if field != "exactly"}
    return {**rest, **(request.get("exactly") or {})}


def _slice_to_v1(spec: Object) -> Object:
    kept = {field: value for field, value in spec.items() if field not in ("nodeName", "allNodes") or value}
    return _at(kept, ("devices",), _each(_device_to_v1))


def _device_to_v1(device: Object) -> Object:
    rest = {field: value for field, value in device.items() if field != "basic"}
    return {**rest, **(device.get("basic") or {})}


def _device_from_v1(device: Object) -> Object:
    return {"name": device.get("name", ""), "basic": {key: value for key, value in device.items() if key != "name"}}


def _each(change: Change) -> Callable[[Any], Any]:
    return lambda items: [change(each) for each in items]


def _at(obj: Object, path: tuple[str, ...], change: Callable[[Any], Any]) -> Object:
    """The object with what is at a path changed, if there is anything."""
    if not path:
        return change(obj)  # type: ignore[no-any-return]
    there = obj.get(path[0])
    return {**obj, path[0]: _at(there, path[1:], change)} if there else obj
