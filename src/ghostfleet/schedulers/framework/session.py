"""What a scheduler of one's own sees in a cycle: the snapshot, the pods that wait for it, and the time.

The session costs nothing to make: the snapshot is kept by events, and what is asked of it is answered from columns.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ghostfleet.core.changes import Object
from ghostfleet.schedulers.framework.nodetable import IntArray
from ghostfleet.schedulers.framework.podinfo import PodInfo, SpecCache
from ghostfleet.schedulers.framework.snapshot import Snapshot
from ghostfleet.schedulers.framework.statement import Statement

__all__ = ["NodeInfo", "PendingPods", "Session"]


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """A node of a snapshot, as it is at the moment."""

    snapshot: Snapshot
    slot: int

    @property
    def name(self) -> str:
        return self.snapshot.nodes.names[self.slot]

    @property
    def object(self) -> Object:
        node = self.snapshot.nodes.objects[self.slot]
        assert node is not None
        return node

    @property
    def labels(self) -> Mapping[str, str]:
        return self.object["metadata"].get("labels") or {}

    @property
    def pods(self) -> list[PodInfo]:
        """The pods on it, those included that are about to be."""
        return list(self.snapshot.pods.by_slot.get(self.slot, {}).values())

    @property
    def free(self) -> dict[str, int]:
        """What is left of its resources: thousandths of a CPU, whole units of everything else."""
        nodes = self.snapshot.nodes
        has, used = nodes.allocatable[self.slot], nodes.used[self.slot]
        return {name: has[column] - used[column] for name, column in nodes.resources.items()}


@dataclass(frozen=True, slots=True)
class Session:
    """The cluster in one cycle of a scheduler."""

    snapshot: Snapshot
    #: Pods that wait for it, the most important first, then the oldest.
    pending: Sequence[PodInfo]
    #: Cluster time in microseconds.
    now: int

    @property
    def nodes(self) -> list[NodeInfo]:
        """All nodes, in the order in which kube-scheduler looks at them."""
        nodes = self.snapshot.nodes
        return [NodeInfo(self.snapshot, int(slot)) for slot in nodes.tree.order()[: len(nodes)]]

    def free(self, resource: str) -> IntArray:
        """What is left of a resource, by slot of the nodes."""
        return self.snapshot.free(resource)

    def pick(self, pod: PodInfo, least: IntArray | None = None) -> str | None:
        """The node with room for a pod where a number (by slot) is least, or just the first; None if there is none."""
        slots = self.snapshot.fits(pod).nonzero()[0]
        if not len(slots):
            return None
        return self.snapshot.nodes.names[int(slots[0] if least is None else slots[least[slots].argmin()])]

    def statement(self) -> Statement:
        """Try what would be; nothing is decided before its `commit` is."""
        return Statement(self.snapshot)


class PendingPods:
    """The pods that wait for one scheduler, in their order."""

    def __init__(self, specs: SpecCache) -> None:
        self._specs = specs
        self._keys: dict[str, tuple[int, str, int]] = {}
        self._order: list[tuple[int, str, int]] = []
        self._pods: dict[tuple[int, str, int], PodInfo] = {}
        self._sequence = 0

    @property
    def unschedulable(self) -> dict[str, tuple[int, str, int]]:
        return self._keys

    @property
    def waiting_for_pods(self) -> dict[str, tuple[int, str, int]]:
        return self._keys

    def waiting(self) -> bool:
        return bool(self._keys)

    def listed(self) -> list[PodInfo]:
        """All of them, the most important first, then the oldest."""
        return [self._pods[key] for key in self._order]

    def put(self, old: Object | None, pod: Object, now: int) -> bool:  # noqa: ARG002
        metadata, spec = pod["metadata"], pod["spec"]
        known = self._keys.get(metadata["uid"])
        if "deletionTimestamp" in metadata or spec.get("schedulingGates"):
            return self.remove(metadata["uid"])
        if known is not None and self._pods[known].pod["spec"] == spec:
            self._pods[known].pod = pod
            return False
        self.remove(metadata["uid"])
        self._sequence += 1
        key = (-(spec.get("priority") or 0), metadata["creationTimestamp"], self._sequence)
        insort(self._order, key)
        self._keys[metadata["uid"]] = key
        self._pods[key] = PodInfo(pod, self._specs.of(spec))
        return True

    def remove(self, uid: str) -> bool:
        key = self._keys.pop(uid, None)
        if key is None:
            return False
        del self._pods[key]
        del self._order[bisect_left(self._order, key)]
        return True
