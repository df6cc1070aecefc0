"""Counters that the devices of a pool share: partitions of one piece of hardware use parts of the same budget.

What is *available* in a pool is what its counter sets hold less what allocated devices of the pool use. As in
Kubernetes, pools are told apart by their name alone here: two drivers with pools of one name share an account, and the
counter sets that are in it are those of the pool that was used first.
"""

from __future__ import annotations

from ghostfleet.schedulers.dra.allocated import AllocatedDevices
from ghostfleet.schedulers.dra.devices import Device
from ghostfleet.schedulers.dra.features import Features
from ghostfleet.schedulers.dra.pools import Pool

__all__ = ["Counting"]

Counters = dict[str, dict[str, int]]


class Counting:
    """The counters that devices use which are taken in one search."""

    __slots__ = ("_accounts", "_allocated", "_stable")

    def __init__(self, allocated: AllocatedDevices, features: Features) -> None:
        self._allocated = allocated
        self._stable = features.stable
        #: what is left, by pool name and counter set
        self._accounts: dict[str, Counters] = {}

    def take(self, device: Device, pool: Pool) -> bool:
        """Whether there is enough left of all counters of the pool once the device uses its part; if so, it does."""
        name = pool.id.pool
        left = self._accounts.get(name)
        if left is None:
            left = self._accounts[name] = self._available(pool)
        _use(left, device, 1)
        if all(amount >= 0 for counters in left.values() for amount in counters.values()):
            return True
        _use(left, device, -1)
        return False

    def give_back(self, device: Device, pool: Pool) -> None:
        _use(self._accounts[pool.id.pool], device, -1)

    def _available(self, pool: Pool) -> Counters:
        available = {name: dict(counters) for name, counters in pool.counters.items()}
        for device in (*pool.devices, *pool.elsewhere):
            if device.consumes and self._is_held(device):
                _use(available, device, 1)
        return available

    def _is_held(self, device: Device) -> bool:
        """Whether a device or a share of it is allocated; the stable allocator knows nothing of shares."""
        return device.id in self._allocated.devices if self._stable else self._allocated.holds(device.id)


def _use(left: Counters, device: Device, sign: int) -> None:
    for counter_set, counters in device.consumes.items():
        known = left.get(counter_set)
        if known is None:
            continue
        for name, amount in counters.items():
            if name in known:
                known[name] -= sign * amount
