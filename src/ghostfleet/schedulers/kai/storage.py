"""Room for volumes: what a storage class can still give on a node.

Only claims that wait for a volume are looked at, and those that go with a pod that leaves. The other rules of volumes
are predicates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.pod_status import ALIVE, ALLOCATED_STATUSES
from ghostfleet.schedulers.kai.pods import StorageClaim

__all__ = ["StorageCapacity", "waiting_claims"]


@dataclass(eq=False)
class StorageCapacity:
    """Bytes of a storage class that nodes can reach, and the claims that are taken from it, by key."""

    storage_class: str
    capacity: int
    provisioned: dict[str, tuple[StorageClaim, str]] = field(default_factory=dict)

    def allocatable(self) -> int:
        taken = sum(claim.size for claim, _owner in self.provisioned.values() if claim.phase != "Bound")
        return self.capacity - taken

    def releasing(self, tasks: Mapping[str, PodInfo]) -> int:
        """What comes back when the pods that leave the node are gone."""
        return sum(
            claim.size
            for claim, owner in self.provisioned.values()
            if claim.owned and owner in tasks and not tasks[owner].status & ALIVE
        )


def waiting_claims(task: PodInfo) -> dict[str, list[tuple[str, StorageClaim]]]:
    """The claims by storage class that still need room: pending ones, and after an eviction in a simulation the
    pod's own, which would be deleted with it."""
    claims: dict[str, list[tuple[str, StorageClaim]]] = {}
    evicted = task.virtual and not task.status & ALLOCATED_STATUSES
    for key, claim in task.pod.storage_claims.items():
        if claim.phase == "Pending" or (evicted and claim.owned):
            claims.setdefault(claim.storage_class, []).append((key, claim))
    return claims


def sum_of(claims: Iterable[tuple[str, StorageClaim]]) -> int:
    """The bytes of claims."""
    return sum(claim.size for _key, claim in claims)
