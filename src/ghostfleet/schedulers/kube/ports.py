"""Host ports: which ports of nodes are taken.

A port is taken for a protocol and an address; the address 0.0.0.0 stands for all addresses of the node, and conflicts
with each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ghostfleet.schedulers.kube.facts import HostPort
from ghostfleet.schedulers.kube.table import BoolArray

__all__ = ["PortUse", "conflict"]

ANY = "0.0.0.0"


def conflict(wanted: Sequence[HostPort], taken: Iterable[HostPort]) -> bool:
    """Whether some wanted port is taken already."""
    held = list(taken)
    return any(
        protocol == other and port == number and (ANY in (address, where) or address == where)
        for protocol, address, port in wanted
        for other, where, number in held
    )


class PortUse:
    """The ports taken on all nodes."""

    def __init__(self) -> None:
        #: By protocol and number, by slot: how often each address is taken.
        self._users: dict[tuple[str, int], dict[int, dict[str, int]]] = {}

    def change(self, slot: int, ports: Iterable[HostPort], sign: int) -> None:
        """A pod with these ports came to a slot (+1) or left it (-1)."""
        for protocol, address, port in ports:
            slots = self._users.setdefault((protocol, port), {})
            taken = slots.setdefault(slot, {})
            taken[address] = taken.get(address, 0) + sign
            if not taken[address]:
                del taken[address]
                if not taken:
                    del slots[slot]

    def free(self, slot: int, wanted: Sequence[HostPort]) -> bool:
        """Whether all wanted ports are free on one node."""
        for protocol, address, port in wanted:
            taken = self._users.get((protocol, port), {}).get(slot)
            if taken and (address == ANY or ANY in taken or address in taken):
                return False
        return True

    def free_on(self, wanted: Sequence[HostPort], capacity: int) -> BoolArray:
        """Nodes on which all wanted ports are free."""
        mask: BoolArray = np.ones(capacity, np.bool_)
        for protocol, _, port in wanted:
            for slot in self._users.get((protocol, port), ()):
                mask[slot] = mask[slot] and self.free(slot, wanted)
        return mask
