"""NodePorts: host ports that a pod wants must be free on its node.

A port is taken for a protocol and an address; the address 0.0.0.0 stands for all addresses of the node, and conflicts
with each of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ghostfleet.schedulers.framework.index import Index
from ghostfleet.schedulers.framework.nodetable import BoolArray
from ghostfleet.schedulers.framework.plugin import Filter, Objection, Plugin, Scope, Slots
from ghostfleet.schedulers.framework.podinfo import HostPort, PodInfo
from ghostfleet.schedulers.framework.snapshot import Snapshot

__all__ = ["NodePorts"]

_ANY = "0.0.0.0"


class NodePorts(Plugin):
    """Rules out nodes on which a wanted host port is taken."""

    name = "NodePorts"
    fields = frozenset(("hostPorts",))

    def pre_filter(self, pod: PodInfo) -> Filter | None:
        return _FreePorts(self.snapshot, pod.info.ports)


class _Ports(Index):
    """The host ports taken on all nodes."""

    def __init__(self) -> None:
        #: By protocol and number, by slot: how often each address is taken.
        self.users: dict[tuple[str, int], dict[int, dict[str, int]]] = {}

    def add(self, pod: PodInfo) -> None:
        self._change(pod, 1)

    def remove(self, pod: PodInfo) -> None:
        self._change(pod, -1)

    def _change(self, pod: PodInfo, sign: int) -> None:
        for protocol, address, port in pod.info.ports:
            slots = self.users.setdefault((protocol, port), {})
            taken = slots.setdefault(pod.slot, {})
            taken[address] = taken.get(address, 0) + sign
            if not taken[address]:
                del taken[address]
                if not taken:
                    del slots[pod.slot]


class _FreePorts(Filter):
    scope = Scope.PODS

    def __init__(self, snapshot: Snapshot, wanted: Sequence[HostPort]) -> None:
        self._nodes = snapshot.nodes
        self._users = snapshot.index(_Ports).users
        self._wanted = wanted

    def objections(self, slots: Slots) -> Sequence[Objection]:
        taken = ~self.allowed(slots)
        return (Objection("node(s) didn't have free ports for the requested pod ports", taken, True),)

    def allowed(self, slots: Slots) -> BoolArray:
        mask: BoolArray = np.ones(self._nodes.capacity, np.bool_)
        for protocol, _, port in self._wanted:
            for slot in self._users.get((protocol, port), ()):
                mask[slot] = mask[slot] and self.allows(slot)
        answer: BoolArray = mask[slots]
        return answer

    def allows(self, slot: int) -> bool:
        for protocol, address, port in self._wanted:
            taken = self._users.get((protocol, port), {}).get(slot)
            if taken and (address == _ANY or _ANY in taken or address in taken):
                return False
        return True
