"""The feature gates that change how devices are allocated, and what follows from them.

Kubernetes has three makes of its allocator: *stable*, *incubating* and *experimental*. The oldest one that supports
all gates that are on is used. They differ in what they know, and in the order of devices: from incubating on, pools
and slices are tried in the order of their names, so that drivers can say by names what goes first; the stable one takes
slices as they are listed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["GATES", "Features"]

#: the gate of each field of `Features`
GATES = {
    "admin_access": "DRAAdminAccess",
    "consumable_capacity": "DRAConsumableCapacity",
    "binding_conditions": "DRADeviceBindingConditions+DRAResourceClaimDeviceStatus",
    "device_taints": "DRADeviceTaints",
    "list_attributes": "DRAListTypeAttributes",
    "partitionable_devices": "DRAPartitionableDevices",
    "prioritized_list": "DRAPrioritizedList",
}


@dataclass(frozen=True, slots=True)
class Features:
    """Which gates are on; without arguments those that Kubernetes 1.36 has on by default."""

    admin_access: bool = True
    consumable_capacity: bool = True
    binding_conditions: bool = True
    device_taints: bool = True
    list_attributes: bool = False
    partitionable_devices: bool = True
    prioritized_list: bool = True
    #: leave out the stable make, even if it would do
    newer: bool = False

    @classmethod
    def of(cls, gates: Iterable[str], *, newer: bool = False) -> Features:
        """These gates on, all others off; a ValueError for one that there is not."""
        on = set(gates)
        if unknown := sorted(on - set(GATES.values())):
            raise ValueError(f"unknown feature gate {unknown[0]!r}, expected one of {', '.join(GATES.values())}")
        return cls(**{field: gate in on for field, gate in GATES.items()}, newer=newer)

    @property
    def stable(self) -> bool:
        """Whether the oldest make of the allocator does."""
        return not (self.newer or self.consumable_capacity or self.binding_conditions or self.list_attributes)
