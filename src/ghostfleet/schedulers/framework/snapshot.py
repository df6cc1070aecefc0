"""The snapshot: one columnar picture of nodes and pods, as kube-scheduler's cache keeps it.

It is the only model of free room there is. Events keep it up to date: `put_node`, `put_pod` and so on say what
happened, and reading it costs nothing but what changed; a snapshot that was told everything equals one built from
scratch. A pod that is going to be bound is *assumed* to be on its node. A *nomination* says that room on a node is
being made for a pod; nobody of the same or lower priority may take it meanwhile. What else a plugin has to know about
the pods on nodes it keeps in an *index* of its own, which is told of every pod that comes and goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import numpy as np

from ghostfleet.core.changes import Object
from ghostfleet.core.store import Store
from ghostfleet.schedulers.framework.index import Index
from ghostfleet.schedulers.framework.nodematcher import NodeMatcher
from ghostfleet.schedulers.framework.nodetable import PODS_COLUMN, BoolArray, IntArray, NodeTable
from ghostfleet.schedulers.framework.podinfo import PodInfo, SpecCache, SpecInfo, is_over
from ghostfleet.schedulers.framework.podtable import PodTable

__all__ = ["Snapshot"]


_Index = TypeVar("_Index", bound=Index)


class Snapshot:
    """The nodes and pods of one store, as one scheduler sees them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.nodes = NodeTable()
        self.matcher = NodeMatcher(self.nodes)
        self.pods = PodTable(self.nodes, self._labels_of_namespace)
        self.specs = SpecCache()
        #: Counts everything that may change a decision.
        self.version = 0
        #: Pods with a nomination, by slot and uid.
        self.nominated: dict[int, dict[str, PodInfo]] = {}
        self._nominations: dict[str, int] = {}
        self._indices: dict[type[Index], Index] = {}
        self._of_every_pod: list[Index] = []
        #: How often objects of kinds that plugins watch have changed.
        self._revisions: dict[str, int] = {}

    @classmethod
    def from_store(cls, store: Store) -> Snapshot:
        """A snapshot of everything that is in a store now."""
        snapshot = cls(store)
        for node in store.list("nodes"):
            snapshot.put_node(node)
        for pod in store.list("pods"):
            snapshot.put_pod(pod)
        return snapshot

    def _labels_of_namespace(self, namespace: str) -> Mapping[str, str] | None:
        found = self.store.find("namespaces", "", namespace)
        return None if found is None else found["metadata"].get("labels") or {}

    # -- indices of plugins ------------------------------------------------------------------------------------------

    def index(self, kind: type[_Index], make: Callable[[], _Index] | None = None) -> _Index:
        """The index of a class, made when it is first asked for."""
        found = self._indices.get(kind)
        if found is None:
            found = self._indices[kind] = make() if make is not None else kind()
            if found.every_pod:
                self._of_every_pod.append(found)
            for pod in self.pods.by_uid.values():
                if found.every_pod or pod.info.is_special:
                    found.add(pod)
        assert isinstance(found, kind)
        return found

    def touch(self, kind: str) -> None:
        """An object changed of a kind that plugins look at in the store."""
        self.version += 1
        self._revisions[kind] = self._revisions.get(kind, 0) + 1

    def revision(self, kinds: Iterable[str]) -> int:
        """A number that grows when an object of these kinds changes."""
        return sum(self._revisions.get(kind, 0) for kind in kinds)

    # -- nodes -------------------------------------------------------------------------------------------------------

    def put_node(self, node: Object) -> int:
        """A node came or changed; its slot."""
        self.version += 1
        return self.nodes.put(node)

    def drop_node(self, name: str) -> None:
        """A node went."""
        self.version += 1
        self.nodes.remove(name)

    # -- pods on nodes -----------------------------------------------------------------------------------------------

    def assume(self, pod: Object, node: str, info: SpecInfo | None = None) -> PodInfo:
        """A pod is going to be on a node: from now on it counts as being there."""
        if self.nominated:
            self.nominate(pod, "")
        return self._settle(pod, node, info, assumed=True)

    def _settle(self, pod: Object, node: str, info: SpecInfo | None = None, *, assumed: bool = False) -> PodInfo:
        known = PodInfo(pod, info or self.specs.of(pod["spec"]), self.nodes.slot(node), assumed=assumed)
        self.add(known)
        return known

    def add(self, pod: PodInfo) -> None:
        """A pod is on the node of its slot."""
        self.version += 1
        info = pod.info
        self.nodes.charge(pod.slot, info)
        if info.is_special or self._of_every_pod:
            self._tell(pod, 1)
        self.pods.add(pod)

    def remove(self, pod: PodInfo) -> None:
        """A pod is on its node no longer."""
        self.version += 1
        self.pods.remove(pod)
        if pod.info.is_special or self._of_every_pod:
            self._tell(pod, -1)
        self.nodes.discharge(pod.slot, pod.info)

    def _tell(self, pod: PodInfo, change: int) -> None:
        for index in self._indices.values() if pod.info.is_special else self._of_every_pod:
            if change > 0:
                index.add(pod)
            else:
                index.remove(pod)

    def put_pod(self, pod: Object) -> None:
        """A pod is as it is now, wherever that is."""
        known = self.pods.by_uid.get(pod["metadata"]["uid"])
        node = pod["spec"].get("nodeName")
        if not node or is_over(pod):
            if known is not None and (node or not known.assumed):
                self.remove(known)
            self.nominate(pod, "" if node or is_over(pod) else None)
        elif known is None:
            self.nominate(pod, "")
            self._settle(pod, node)
        else:
            self._refresh(known, pod, node)

    def confirm(self, known: PodInfo, pod: Object) -> bool:
        """Whether a pod is where it was assumed to be, unchanged; then it is assumed no longer."""
        if self.nodes.names[known.slot] != pod["spec"]["nodeName"] or is_over(pod):
            return False
        if known.pod["metadata"].get("labels") is not pod["metadata"].get("labels"):
            return False
        known.pod, known.assumed = pod, False
        return True

    def _refresh(self, known: PodInfo, pod: Object, node: str) -> None:
        """A pod on a node was written again."""
        known.assumed = False
        if self.nodes.names[known.slot] != node or self._resized(known, pod):
            self.remove(known)
            self._settle(pod, node)
        elif self.pods.update(known, pod):
            self.version += 1

    def _resized(self, known: PodInfo, pod: Object) -> bool:
        """Whether the requests of a pod on a node changed."""
        old, new = known.pod["spec"], pod["spec"]
        if old is new or old.get("containers") is new.get("containers"):
            return False
        return self.specs.of(new).requests != known.info.requests

    def drop_pod(self, pod: Object) -> None:
        """A pod is gone."""
        known = self.pods.by_uid.get(pod["metadata"]["uid"])
        if known is not None:
            self.remove(known)
        self.nominate(pod, "")

    def nominate(self, pod: Object, node: str | None = None) -> None:
        """Room is made for a pod on this node ("" for none), or on the one that its status names."""
        uid = pod["metadata"]["uid"]
        if node is None:
            node = (pod.get("status") or {}).get("nominatedNodeName") or ""
        known = self._nominations.get(uid)
        slot = self.nodes.slots.get(node) if node else None
        if known == slot:
            if slot is not None:
                self.nominated[slot][uid].pod = pod
            return
        self.version += 1
        if known is not None:
            del self._nominations[uid]
            del self.nominated[known][uid]
            if not self.nominated[known]:
                del self.nominated[known]
        if slot is not None:
            self._nominations[uid] = slot
            self.nominated.setdefault(slot, {})[uid] = PodInfo(pod, self.specs.of(pod["spec"]), slot)

    def namespaces_changed(self) -> None:
        """Labels of namespaces changed, and so which pods the terms of others mean."""
        self.version += 1
        self.pods.forget_counters()

    # -- free room ---------------------------------------------------------------------------------------------------

    def free(self, resource: str) -> IntArray:
        """What is left of a resource, by slot."""
        column = self.nodes.column(resource)
        allocatable, used = self.nodes.flush()
        answer: IntArray = allocatable[column] - used[column]
        return answer

    def room(self, requests: Mapping[str, int]) -> IntArray:
        """How many pods with these requests each node has room for, by slot."""
        columns = [(self.nodes.column(name), amount) for name, amount in requests.items() if amount > 0]
        allocatable, used = self.nodes.flush()
        room: IntArray = np.maximum(allocatable[PODS_COLUMN] - used[PODS_COLUMN], 0)
        for column, amount in columns:
            room = np.minimum(room, np.maximum(allocatable[column] - used[column], 0) // amount)
        room[~self.nodes.present] = 0
        return room

    def fits(self, pod: PodInfo) -> BoolArray:
        """Nodes with room for a pod, by slot; what is nominated to others of its priority or above is taken."""
        room = self.room(pod.requests)
        for slot, others in self.nominated.items():
            there = [each for each in others.values() if each.uid != pod.uid and each.priority >= pod.priority]
            if there and room[slot]:
                room[slot] = self._has_room_beside(slot, pod, there)
        return room > 0

    def _has_room_beside(self, slot: int, pod: PodInfo, others: list[PodInfo]) -> bool:
        left = [has - used for has, used in zip(self.nodes.allocatable[slot], self.nodes.used[slot], strict=True)]
        for each in others:
            for column, amount in self.nodes.delta(each.info):
                left[column] -= amount
        asked = [(self.nodes.column(name), amount) for name, amount in pod.requests.items() if amount > 0]
        return left[PODS_COLUMN] > 0 and all(left[column] >= amount for column, amount in asked)
