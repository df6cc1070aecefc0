"""Taking note: how what happens in the store gets into the scheduler's picture and its queue.

Listeners of the store only take note: they bring the state of the cluster up to date, put pods into the queue or take
them out, and write down in the notes what may help pods that wait. Acting is left to the scheduler, which is told
(`soon`) when there may be something to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ghostfleet.core.changes import Change, Object
from ghostfleet.core.store import Store
from ghostfleet.schedulers.kube.hints import Notes
from ghostfleet.schedulers.kube.profile import Profile
from ghostfleet.schedulers.kube.queue import SchedulingQueue
from ghostfleet.schedulers.kube.state import ClusterState, is_over

__all__ = ["Noticer"]

_VOLUME_KINDS = ("persistentvolumeclaims", "persistentvolumes", "storageclasses.storage.k8s.io")


class Noticer:
    """Listens to one store for one scheduler."""

    def __init__(
        self,
        store: Store,
        state: ClusterState,
        queue: SchedulingQueue,
        profiles: Mapping[str, Profile],
        soon: Callable[[], None],
        lost: Callable[[str], None],
    ) -> None:
        self._store = store
        self._state = state
        self._queue = queue
        self._profiles = profiles
        self._soon = soon
        #: Told the uids of pods that are gone.
        self._lost = lost
        self.notes = Notes()
        self._stops = [
            store.listen("nodes", self._node_changed),
            store.listen("pods", self._pod_changed),
            store.listen("namespaces", self._namespace_changed),
            store.listen("services", self._service_changed),
            *(store.listen(kind, self._volume_changed) for kind in _VOLUME_KINDS),
        ]
        for service in store.list("services"):
            state.put_service(service["metadata"]["namespace"], service["metadata"]["name"], service)
        for node in store.list("nodes"):
            state.put_node(node)
        for pod in store.list("pods"):
            self.see(None, pod)

    def stop(self) -> None:
        """Take no more notice of the store."""
        for stop in self._stops:
            stop()

    def taken(self) -> Notes:
        """What was noted since the last time."""
        notes, self.notes = self.notes, Notes()
        return notes

    # -- nodes -------------------------------------------------------------------------------------------------------

    def _node_changed(self, change: Change) -> None:
        notes, table = self.notes, self._state.table
        if change.new is None:
            self._state.drop_node(change.name)
            notes.nodes = True
        else:
            before, log = table.version, table.log_end()
            slot = self._state.put_node(change.new)
            if table.version == before and table.log_end() == log:
                return
            notes.nodes = True
            notes.freed[slot] = None
        self._soon()

    # -- pods --------------------------------------------------------------------------------------------------------

    def _pod_changed(self, change: Change) -> None:
        if change.new is None:
            self._lose(change.old or {})
        else:
            self.see(change.old, change.new)

    def see(self, old: Object | None, pod: Object) -> None:
        """A pod is there, or has changed."""
        if pod["spec"].get("nodeName"):
            self._see_resident(old, pod)
        elif is_over(pod):
            self._lose(pod)
        elif pod["spec"].get("schedulerName", "default-scheduler") in self._profiles:
            self._see_waiting(old, pod)

    def _see_resident(self, old: Object | None, pod: Object) -> None:
        state = self._state
        metadata = pod["metadata"]
        uid = metadata["uid"]
        resident = state.census.residents.get(uid)
        over = is_over(pod)
        if resident is None and over:
            return
        if resident is not None and resident.assumed and state.confirm(resident, pod):
            if self._queue.wide_kinds:
                self.notes.pods = True
            return
        if resident is not None and over:
            self.notes.freed[resident.slot] = None
            state.leave(resident)
        elif resident is not None and old is resident.pod and _differs_in_status(old, pod):
            resident.pod = pod
            return
        elif resident is not None:
            known, amounts, slot = state.version, state.table.log_end(), resident.slot
            labels = resident.pod["metadata"].get("labels")
            state.put_pod(pod)
            freed = state.table.log_end() != amounts
            # A pod that is asked to go wakes nobody; that it goes will.
            if state.version == known or not (freed or labels != metadata.get("labels")):
                return
            self.notes.pods = True
            if freed:
                self.notes.freed[slot] = None
        else:
            self._queue.remove(uid)
            state.put_pod(pod)
            self.notes.pods = True
        if self._queue.kinds:
            self._soon()

    def _see_waiting(self, old: Object | None, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        resident = self._state.census.residents.get(uid)
        if resident is not None:
            # Its binding is on its way; it will be seen there.
            resident.pod = pod
            return
        queued, now = self._queue.pods.get(uid), self._store.clock.now()
        self._state.renominate(pod)
        if queued is None:
            profile = self._profiles[pod["spec"].get("schedulerName", "default-scheduler")]
            self._queue.add(pod, now, gated=profile.gates and bool(pod["spec"].get("schedulingGates")))
            self._soon()
            return
        queued.pod = pod
        if queued.place == "gated":
            if not pod["spec"].get("schedulingGates"):
                self._queue.ungate(queued)
                self._soon()
        elif old is not None and _asks_differently(old, pod):
            self._queue.wake_pod(queued, now)
            self._soon()

    def _lose(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        state = self._state
        resident = state.census.residents.get(uid)
        promised = state.table.slots.get((pod.get("status") or {}).get("nominatedNodeName") or "")
        for slot in (promised, resident.slot if resident is not None else None):
            if slot is not None:
                self.notes.freed[slot] = None
        state.drop_pod(pod)
        self._queue.remove(uid)
        self._lost(uid)
        if self.notes or self._queue.waiting():
            self._soon()

    # -- the rest ----------------------------------------------------------------------------------------------------

    def _namespace_changed(self, change: Change) -> None:
        old, new = change.old, change.new
        if (old or {}).get("metadata", {}).get("labels") != (new or {}).get("metadata", {}).get("labels"):
            self._state.forget_counters()
            self.notes.pods = True
            self._soon()

    def _service_changed(self, change: Change) -> None:
        self._state.put_service(change.namespace, change.name, change.new)

    def _volume_changed(self, _change: Change) -> None:
        self._state.touch_volumes()
        self.notes.volumes = True
        self._soon()


def _differs_in_status(old: Object, new: Object) -> bool:
    """Whether a pod on a node was changed in nothing that counts there."""
    before, after = old["metadata"], new["metadata"]
    return (
        old["spec"] is new["spec"]
        and before.get("labels") is after.get("labels")
        and ("deletionTimestamp" in before) == ("deletionTimestamp" in after)
    )


def _asks_differently(old: Object, new: Object) -> bool:
    """Whether a waiting pod was changed in a way that may matter."""
    return old["metadata"].get("labels") != new["metadata"].get("labels") or (
        old["spec"] is not new["spec"] and old["spec"] != new["spec"]
    )
