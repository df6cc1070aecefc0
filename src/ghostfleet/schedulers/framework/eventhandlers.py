"""Event handlers: how what happens in the store gets into a snapshot and to the pods that wait.

Handlers only take note: they bring the snapshot up to date, tell the scheduler's queue of pods that wait or wait no
longer, and write down which events may help pods that wait. Acting is left to the scheduler, which is woken when there
may be something to do.

*Cluster events* are what happened since the scheduler's last look; queueing hints say whom it may help. A pod that
single nodes were too small for is helped by a node that fits now; one that a plugin ruled nodes out for is helped by
the events which that plugin registers for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sized
from typing import Protocol

import numpy as np

from ghostfleet.core.changes import Change, Object
from ghostfleet.core.store import Store
from ghostfleet.schedulers.framework.cyclestate import CycleState
from ghostfleet.schedulers.framework.plugin import Plugin
from ghostfleet.schedulers.framework.podinfo import DEFAULT_SCHEDULER, is_over
from ghostfleet.schedulers.framework.profile import REGISTRY
from ghostfleet.schedulers.framework.snapshot import Snapshot

__all__ = ["EventHandlers", "Queue"]

#: Nodes came, went or changed; pods on nodes did. Other events are named by the kinds of objects that changed.
_NODES, _PODS = "nodes", "pods"
_ONE_BY_ONE = 8


class ClusterEvents:
    """What happened since the last look."""

    __slots__ = ("freed", "seen")

    def __init__(self) -> None:
        #: Slots of nodes that came, changed, or that something left.
        self.freed: dict[int, None] = {}
        #: Events by name.
        self.seen: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self.freed or self.seen)

    def note(self, event: str) -> None:
        self.seen[event] = None

    @property
    def only_pods_came(self) -> bool:
        """Whether nothing happened but that pods came to nodes, which helps few."""
        return not self.freed and all(event == _PODS for event in self.seen)

    def help(self, plugins: frozenset[str], cycle: CycleState | None) -> bool:
        """Whether any of it may help pods that these plugins ruled nodes out for."""
        if not plugins:
            return _NODES in self.seen
        for name in plugins:
            plugin = REGISTRY.get(name)
            events = plugin.events if plugin is not None else frozenset()
            if (self.freed and _NODES in events) or any(event in events for event in self.seen):
                return True
        return bool(self.freed) and self._fits_now(cycle)

    def _fits_now(self, cycle: CycleState | None) -> bool:
        if cycle is None or cycle.may_preempt:
            return True
        if len(self.freed) <= _ONE_BY_ONE:
            fits = any(cycle.value(slot) >= 0 for slot in self.freed)
        else:
            fits = bool(cycle.possible(np.fromiter(self.freed, np.int64, len(self.freed))).any())
        # What is wrong with a pod is told when it is tried.
        return fits or cycle.error is not None


class Queue(Protocol):
    """The pods that wait for one scheduler."""

    @property
    def unschedulable(self) -> Sized:
        """Those that something must change for."""

    @property
    def waiting_for_pods(self) -> Sized:
        """Those among them that pods on nodes may help."""

    def put(self, old: Object | None, pod: Object, now: int) -> bool:
        """A pod waits, or has changed while it waits; answers whether there may be something to do."""

    def remove(self, uid: str) -> object:
        """A pod waits no longer."""

    def waiting(self) -> bool:
        """Whether some pod is to be tried."""


class EventHandlers:
    """Listens to one store for one scheduler."""

    def __init__(
        self,
        store: Store,
        snapshot: Snapshot,
        queue: Queue,
        schedulers: Collection[str],
        wake: Callable[[], None],
        lost: Callable[[str], None],
        plugins: Collection[Plugin] = (),
    ) -> None:
        self._store = store
        self._snapshot = snapshot
        self._queue = queue
        #: What pods that are to be scheduled here name by spec.schedulerName.
        self._schedulers = schedulers
        self._wake = wake
        #: Told the uids of pods that are gone.
        self._lost = lost
        self.events = ClusterEvents()
        kinds = sorted({event for plugin in plugins for event in plugin.events} - {_NODES, _PODS})
        self._stops = [
            store.listen("nodes", self._node_changed),
            store.listen("pods", self._pod_changed),
            store.listen("namespaces", self._namespace_changed),
            *(store.listen(kind, plugin.notice) for plugin in plugins for kind in plugin.kinds),
            *(store.listen(kind, self._noting(kind, plugins)) for kind in kinds),
        ]
        for node in store.list("nodes"):
            snapshot.put_node(node)
        for pod in store.list("pods"):
            self.see(None, pod)

    def stop(self) -> None:
        """Take no more notice of the store."""
        for stop in self._stops:
            stop()

    def taken(self) -> ClusterEvents:
        """What happened since the last time."""
        events, self.events = self.events, ClusterEvents()
        return events

    # -- nodes -------------------------------------------------------------------------------------------------------

    def _node_changed(self, change: Change) -> None:
        nodes = self._snapshot.nodes
        if change.new is None:
            self._snapshot.drop_node(change.name)
            self.events.note(_NODES)
        else:
            before, log = nodes.version, nodes.log_end()
            slot = self._snapshot.put_node(change.new)
            if nodes.version == before and nodes.log_end() == log:
                return
            self.events.note(_NODES)
            self.events.freed[slot] = None
        self._wake()

    # -- pods --------------------------------------------------------------------------------------------------------

    def _pod_changed(self, change: Change) -> None:
        if change.new is None:
            self._lose(change.old or {})
        else:
            self.see(change.old, change.new)

    def see(self, old: Object | None, pod: Object) -> None:
        """A pod is there, or has changed."""
        if pod["spec"].get("nodeName"):
            self._see_on_node(old, pod)
        elif is_over(pod):
            self._lose(pod)
        elif pod["spec"].get("schedulerName", DEFAULT_SCHEDULER) in self._schedulers:
            self._see_waiting(old, pod)

    def _see_on_node(self, old: Object | None, pod: Object) -> None:
        snapshot = self._snapshot
        metadata = pod["metadata"]
        uid = metadata["uid"]
        known = snapshot.pods.by_uid.get(uid)
        over = is_over(pod)
        if known is None and over:
            return
        if known is not None and known.assumed and snapshot.confirm(known, pod):
            if self._queue.waiting_for_pods:
                self.events.note(_PODS)
            return
        if known is not None and over:
            self.events.freed[known.slot] = None
            snapshot.remove(known)
        elif known is not None and old is known.pod and _differs_in_status(old, pod):
            known.pod = pod
            return
        elif known is not None:
            version, amounts, slot = snapshot.version, snapshot.nodes.log_end(), known.slot
            labels = known.pod["metadata"].get("labels")
            snapshot.put_pod(pod)
            freed = snapshot.nodes.log_end() != amounts
            # A pod that is asked to go wakes nobody; that it goes will.
            if snapshot.version == version or not (freed or labels != metadata.get("labels")):
                return
            self.events.note(_PODS)
            if freed:
                self.events.freed[slot] = None
        else:
            self._queue.remove(uid)
            snapshot.put_pod(pod)
            self.events.note(_PODS)
        if self._queue.unschedulable:
            self._wake()

    def _see_waiting(self, old: Object | None, pod: Object) -> None:
        known = self._snapshot.pods.by_uid.get(pod["metadata"]["uid"])
        if known is not None:
            # Its binding is on its way; it will be seen there.
            known.pod = pod
            return
        self._snapshot.nominate(pod)
        if self._queue.put(old, pod, self._store.clock.now()):
            self._wake()

    def _lose(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        snapshot = self._snapshot
        known = snapshot.pods.by_uid.get(uid)
        nominated = snapshot.nodes.slots.get((pod.get("status") or {}).get("nominatedNodeName") or "")
        for slot in (nominated, known.slot if known is not None else None):
            if slot is not None:
                self.events.freed[slot] = None
        snapshot.drop_pod(pod)
        self._queue.remove(uid)
        self._lost(uid)
        if self.events or self._queue.waiting():
            self._wake()

    # -- the rest ----------------------------------------------------------------------------------------------------

    def _namespace_changed(self, change: Change) -> None:
        old, new = change.old, change.new
        if (old or {}).get("metadata", {}).get("labels") != (new or {}).get("metadata", {}).get("labels"):
            self._snapshot.namespaces_changed()
            self.events.note(_PODS)
            self._wake()

    def _noting(self, kind: str, plugins: Collection[Plugin]) -> Callable[[Change], None]:
        told = [plugin for plugin in plugins if kind in plugin.events]

        def note(change: Change) -> None:
            if not any(plugin.helps(change) for plugin in told):
                return
            self._snapshot.touch(kind)
            self.events.note(kind)
            self._wake()

        return note


def _differs_in_status(old: Object, new: Object) -> bool:
    """Whether a pod on a node was changed in nothing that counts there."""
    before, after = old["metadata"], new["metadata"]
    return (
        old["spec"] is new["spec"]
        and before.get("labels") is after.get("labels")
        and ("deletionTimestamp" in before) == ("deletionTimestamp" in after)
    )
