"""What claims hold already: whole devices, shares of devices, and the capacity that shares consume.

A device that is used with admin access is held by nobody. Each change of what is held raises the *version* of the
device's pool, so that answers worked out from it can be kept until then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ghostfleet.core import quantity
from ghostfleet.schedulers.dra.devices import DeviceID, PoolID

__all__ = ["AllocatedDevices"]

Object = Mapping[str, Any]


class AllocatedDevices:
    """All devices that are allocated."""

    __slots__ = ("_changes", "_versions", "capacity", "devices", "shares")

    def __init__(self) -> None:
        self.devices: set[DeviceID] = set()
        #: how many shares of a device are held
        self.shares: dict[DeviceID, int] = {}
        #: billionths of each capacity that shares consume
        self.capacity: dict[DeviceID, dict[str, int]] = {}
        self._versions: dict[PoolID, int] = {}
        self._changes = 0

    def version(self, pool: PoolID) -> int:
        return self._versions.get(pool, 0)

    def holds(self, device: DeviceID) -> bool:
        """Whether some claim holds the device or a share of it."""
        return device in self.devices or device in self.shares or device in self.capacity

    def add(self, allocation: Object, *, shared: bool = True) -> None:
        """Everything in an AllocationResult; without consumable capacity (`shared`) shares are whole devices."""
        for result in _held(allocation):
            device = self._changed(result)
            if not (shared and result.get("shareID")):
                self.devices.add(device)
                continue
            self.shares[device] = self.shares.get(device, 0) + 1
            if result.get("consumedCapacity") is not None:
                self.consume(device, result["consumedCapacity"])

    def remove(self, allocation: Object, *, shared: bool = True) -> None:
        for result in _held(allocation):
            device = self._changed(result)
            if not (shared and result.get("shareID")):
                self.devices.discard(device)
                continue
            self.shares[device] -= 1
            if not self.shares[device]:
                del self.shares[device]
            self._release(device, result.get("consumedCapacity") or {})

    def consume(self, device: DeviceID, amounts: Object) -> None:
        self._count(device)
        consumed = self.capacity.setdefault(device, {})
        for name, amount in amounts.items():
            consumed[name] = consumed.get(name, 0) + quantity.parse(amount).nano

    def _release(self, device: DeviceID, amounts: Object) -> None:
        consumed = self.capacity.get(device)
        if consumed is None:
            return
        for name, amount in amounts.items():
            consumed[name] = consumed.get(name, 0) - quantity.parse(amount).nano
        if not any(consumed.values()):
            del self.capacity[device]

    def _changed(self, result: Object) -> DeviceID:
        device = DeviceID(result["driver"], result["pool"], result["device"])
        self._count(device)
        return device

    def _count(self, device: DeviceID) -> None:
        self._changes += 1
        self._versions[PoolID(device.driver, device.pool)] = self._changes


def _held(allocation: Object) -> Iterable[Object]:
    results = (allocation.get("devices") or {}).get("results") or ()
    return (result for result in results if not result.get("adminAccess"))
