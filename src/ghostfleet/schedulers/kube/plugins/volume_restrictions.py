"""VolumeRestrictions: disks and claims that only one pod may use.

Some kinds of disks cannot be used twice on a node. A claim for one pod only (ReadWriteOncePod) rules every node out
while another pod uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ghostfleet.core.changes import Object
from ghostfleet.schedulers.framework.index import Index
from ghostfleet.schedulers.framework.nodetable import BoolArray
from ghostfleet.schedulers.framework.plugin import Filter, Objection, Plugin, Scope, Slots
from ghostfleet.schedulers.framework.podinfo import PodInfo
from ghostfleet.schedulers.framework.snapshot import Snapshot
from ghostfleet.schedulers.kube.plugins.claims import KINDS, find_claims

__all__ = ["VolumeRestrictions"]

_DISK = "node(s) had no available disk"
_IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)


class VolumeRestrictions(Plugin):
    """Keeps pods from sharing what cannot be shared."""

    name = "VolumeRestrictions"
    fields = frozenset(("volumes",))
    events = frozenset(("nodes", *KINDS))

    def pre_filter(self, pod: PodInfo) -> Filter | None:
        claims = find_claims(self.snapshot.store, pod.pod, pod.info)
        single = [
            (claim["metadata"]["namespace"], claim["metadata"]["name"])
            for claim in claims
            if "ReadWriteOncePod" in (claim["spec"].get("accessModes") or ())
        ]
        return _InUse(self.snapshot, pod.info.disks, single) if single or pod.info.disks else None


class _ClaimUsers(Index):
    """How many pods on nodes use a claim, by namespace and name."""

    def __init__(self) -> None:
        self.users: dict[tuple[str, str], int] = {}

    def add(self, pod: PodInfo) -> None:
        self._change(pod, 1)

    def remove(self, pod: PodInfo) -> None:
        self._change(pod, -1)

    def _change(self, pod: PodInfo, sign: int) -> None:
        for claim in pod.info.claims:
            place = (pod.namespace, claim)
            self.users[place] = self.users.get(place, 0) + sign
            if not self.users[place]:
                del self.users[place]


class _InUse(Filter):
    # A claim is in use on all nodes or on none.
    scope = Scope.CLUSTER
    sequential = True

    def __init__(self, snapshot: Snapshot, disks: Sequence[Object], claims: Sequence[tuple[str, str]]) -> None:
        self._pods = snapshot.pods
        self._users = snapshot.index(_ClaimUsers).users
        self._disks = disks
        self._claims = claims

    def objections(self, slots: Slots) -> Sequence[Objection]:
        clash: BoolArray = np.array([self._has_disk(int(slot)) for slot in slots], np.bool_)
        return Objection(_DISK, clash, True), Objection(_IN_USE, ~clash & self._claimed(), True)

    def allows(self, slot: int) -> bool:
        return not self._claimed() and not self._has_disk(slot)

    def _claimed(self) -> bool:
        return any(claim in self._users for claim in self._claims)

    def _has_disk(self, slot: int) -> bool:
        """Whether a pod on a node holds a disk that the pod wants for itself."""
        here = self._pods.by_slot.get(slot, {})
        return any(_clash(disk, other) for disk in self._disks for each in here.values() for other in each.info.disks)


def _clash(disk: Object, other: Object) -> bool:
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
