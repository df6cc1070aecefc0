"""What pods find in a cluster: nodes, the pods on them, and what both have taken.

This is the scheduler's picture of the cluster, fed with nodes and with pods that are on nodes or about to be.
Everything that decides about placement is answered from here; nothing here decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from ghostfleet.core.changes import Object
from ghostfleet.schedulers.kube.counting import Census, Resident
from ghostfleet.schedulers.kube.facts import Facts, FactsCache
from ghostfleet.schedulers.kube.matching import Matcher
from ghostfleet.schedulers.kube.ports import PortUse
from ghostfleet.schedulers.kube.table import IntArray, NodeTable

__all__ = ["Surroundings", "disks_clash"]

_WARM_PLANS = 256
_MEGABYTE = 1024 * 1024
_LEAST_IMAGE, _MOST_IMAGE = 23 * _MEGABYTE, 1000 * _MEGABYTE


class Coolable(Protocol):
    """What can be told to let go of what it keeps."""

    def cool_down(self) -> None: ...


class Surroundings:
    """Nodes, pods on nodes, ports, claims and images."""

    def __init__(self, namespace_labels: Callable[[str], Mapping[str, str] | None]) -> None:
        self.table = NodeTable()
        self.matcher = Matcher(self.table)
        self.census = Census(self.table, namespace_labels)
        self.ports = PortUse()
        self.facts = FactsCache()
        #: How many pods on nodes use a claim, by namespace and name.
        self._claim_users: dict[tuple[str, str], int] = {}
        #: Counts everything that may change a decision.
        self.version = 0
        self._warm: dict[Coolable, None] = {}

    def keep_warm(self, plan: Coolable) -> None:
        """A plan keeps values of all nodes; the one that has kept them longest has to let go when there are many."""
        self._warm.pop(plan, None)
        self._warm[plan] = None
        if len(self._warm) > _WARM_PLANS:
            oldest = next(iter(self._warm))
            del self._warm[oldest]
            oldest.cool_down()

    # -- pods on nodes -----------------------------------------------------------------------------------------------

    def settle(self, pod: Object, node: str, facts: Facts | None = None, *, assumed: bool = False) -> Resident:
        """A pod is on a node."""
        facts = facts or self.facts.of(pod["spec"])
        slot = self.table.slot(node)
        resident = Resident(pod, facts, slot, assumed=assumed)
        self.version += 1
        self.table.charge(slot, facts)
        if facts.ports or facts.claims:
            self._take(resident, 1)
        self.census.add(resident)
        return resident

    def leave(self, resident: Resident) -> None:
        """A pod is on its node no longer."""
        self.version += 1
        self.census.remove(resident)
        self._take(resident, -1)
        self.table.discharge(resident.slot, resident.facts)

    def _take(self, resident: Resident, sign: int) -> None:
        facts = resident.facts
        if facts.ports:
            self.ports.change(resident.slot, facts.ports, sign)
        for claim in facts.claims:
            place = (resident.namespace, claim)
            self._claim_users[place] = self._claim_users.get(place, 0) + sign
            if not self._claim_users[place]:
                del self._claim_users[place]

    def claim_in_use(self, namespace: str, claim: str) -> bool:
        return (namespace, claim) in self._claim_users

    def disks_free(self, slot: int, facts: Facts) -> bool:
        """Whether no pod on a node holds a disk that the pod wants for itself."""
        here = self.census.by_slot.get(slot, {})
        return not any(
            disks_clash(disk, other) for disk in facts.disks for each in here.values() for other in each.facts.disks
        )

    # -- images ------------------------------------------------------------------------------------------------------

    def image_scores(self, facts: Facts) -> IntArray | None:
        """What having the pod's images is worth on each node; None when no node has any of them."""
        known = [self.table.images[name] for name in facts.images if name in self.table.images]
        if not known:
            return None
        sums: IntArray = np.zeros(self.table.capacity, np.int64)
        nodes = len(self.table)
        for sizes in known:
            spread = len(sizes) / nodes if nodes else 0.0
            for slot, size in sizes.items():
                sums[slot] += int(size * spread)
        most = _MOST_IMAGE * facts.containers
        return 100 * (np.clip(sums, _LEAST_IMAGE, most) - _LEAST_IMAGE) // (most - _LEAST_IMAGE)


def disks_clash(disk: Object, other: Object) -> bool:
    """Whether two volumes are the same disk, which cannot be used twice."""
    for kind, same in _SAME_DISK.items():
        mine, theirs = disk.get(kind), other.get(kind)
        if mine and theirs and same(mine, theirs):
            # Amazon's disks cannot be shared even for reading.
            return kind == "awsElasticBlockStore" or not (mine.get("readOnly") and theirs.get("readOnly"))
    return False


def _same_rbd(mine: Object, theirs: Object) -> bool:
    shared = set(mine.get("monitors") or ()) & set(theirs.get("monitors") or ())
    return bool(shared) and mine.get("pool") == theirs.get("pool") and mine.get("image") == theirs.get("image")


_SAME_DISK: dict[str, Callable[[Object, Object], bool]] = {
    "gcePersistentDisk": lambda mine, theirs: mine.get("pdName") == theirs.get("pdName"),
    "awsElasticBlockStore": lambda mine, theirs: mine.get("volumeID") == theirs.get("volumeID"),
    "iscsi": lambda mine, theirs: mine.get("iqn") == theirs.get("iqn"),
    "rbd": _same_rbd,
}
