"""Devices and the slices they come in, read once from a ResourceSlice.

A *device* is known by its driver, pool and name. What the search asks again and again is worked out when a slice is
read: taints that keep claims away, counters in billionths, who may use it. A device also keeps what selectors said
about it, so that these answers go when the slice changes.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from ghostfleet.api.devicetaints import PREVENTING
from ghostfleet.core import quantity
from ghostfleet.schedulers.dra.nodes import NodeTest, node_test

__all__ = ["Device", "DeviceID", "PoolID", "Slice"]

Object = Mapping[str, Any]
#: set of counters, and how much of each
Counters = dict[str, dict[str, int]]


class PoolID(NamedTuple):
    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class DeviceID(NamedTuple):
    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


class Device:
    """One device of a slice."""

    __slots__ = ("consumes", "fits_node", "id", "matches", "multiple", "name", "object", "preventing", "slice")

    def __init__(self, device: Object, slice_: Slice) -> None:
        self.object = device
        self.slice = slice_
        self.name: str = device["name"]
        self.id = DeviceID(slice_.driver, slice_.pool.pool, self.name)
        #: whether several claims may share it
        self.multiple: bool = device.get("allowMultipleAllocations") or False
        self.consumes = _consumption(device.get("consumesCounters"))
        #: taints that must be tolerated
        self.preventing = [taint for taint in device.get("taints") or () if taint.get("effect") in PREVENTING]
        #: which nodes it is for, where its slice leaves that to each device
        self.fits_node: NodeTest | None = None
        #: what selectors said of it
        self.matches: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"Device({self.id})"


def _amounts(counters: Object | None) -> dict[str, int]:
    return {name: quantity.parse(counter["value"]).nano for name, counter in (counters or {}).items()}


def _consumption(consumed: Any) -> Counters:
    found: Counters = {}
    for each in consumed or ():
        counters = found.setdefault(each["counterSet"], {})
        for name, amount in _amounts(each.get("counters")).items():
            counters[name] = counters.get(name, 0) + amount
    return found


def _nowhere(_: Object) -> bool:
    return False


class Slice:
    """A ResourceSlice."""

    __slots__ = (
        "counters",
        "devices",
        "driver",
        "fits_node",
        "generation",
        "key",
        "name",
        "node_name",
        "object",
        "per_device",
        "pool",
        "size",
    )

    def __init__(self, resource_slice: Object, key: Hashable = None) -> None:
        spec = resource_slice["spec"]
        pool = spec["pool"]
        self.object = resource_slice
        self.name: str = resource_slice["metadata"]["name"]
        self.key = self.name if key is None else key
        self.driver: str = spec["driver"]
        self.pool = PoolID(self.driver, pool["name"])
        self.generation: int = pool.get("generation", 0)
        #: how many slices the pool has, by its own account
        self.size: int = pool.get("resourceSliceCount", 0)
        self.node_name: str = spec.get("nodeName") or ""
        #: None if the spec says nothing of it, which is not the same as no
        self.per_device: bool | None = spec.get("perDeviceNodeSelection")
        self.counters = [(each["name"], _amounts(each.get("counters"))) for each in spec.get("sharedCounters") or ()]
        self.devices = [Device(device, self) for device in spec.get("devices") or ()]
        #: which nodes it is for; None if that is said in a way that is not known
        self.fits_node = node_test(spec)
        if self.fits_node is None and self.per_device:
            self.fits_node = self._some_device_fits
        if self.per_device:
            for device in self.devices:
                device.fits_node = node_test(device.object) or _nowhere

    def _some_device_fits(self, node: Object) -> bool:
        return any(device.fits_node is not None and device.fits_node(node) for device in self.devices)
