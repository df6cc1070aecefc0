"""Writing decisions: bindings, conditions, events and evictions, through a client with a rate limit and a latency.

A pod that gets a node is *assumed* there in the snapshot first, then its binding is written, at once or when the cycle
is over, the client's rate limit lets it and the request has taken its time; a pod that plugins have something to do for
waits in between. A rejected pod gets its PodScheduled condition and an event, each only if it says something new.
Evicted pods get their own condition and event, and are deleted with their grace period. A group is written as a whole
or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ghostfleet.api.defaults.pods import scheduled
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import Handle
from ghostfleet.core.errors import ApiError
from ghostfleet.core.latency import Client
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.schedulers.framework.cyclestate import CycleState
from ghostfleet.schedulers.framework.plugin import Aborted
from ghostfleet.schedulers.framework.podinfo import DEFAULT_SCHEDULER, PodInfo
from ghostfleet.schedulers.framework.recorder import EventRecorder
from ghostfleet.schedulers.framework.snapshot import Snapshot

__all__ = ["Placement", "Reserved", "Writer"]

_CLAIM_STATUS = "resourceclaims.resource.k8s.io/status"
#: A pod, and the node that it gets.
Placement = tuple[Object, str]
#: The same before plugins have done their part, and whether it can be bound at once; None when it cannot have the node.
Reserved = tuple[Object, CycleState, str, bool | None]


class _Held(NamedTuple):
    pod: Object
    cycle: CycleState
    node: str
    #: Whether what plugins write for it is on its way.
    writing: bool


class Writer:
    """Writes what one scheduler decided."""

    def __init__(
        self,
        snapshot: Snapshot,
        recorders: Mapping[str, EventRecorder],
        failed: Callable[[Object], None],
        client: Client | None = None,
    ) -> None:
        self._store = snapshot.store
        self._snapshot = snapshot
        self._recorders = recorders
        #: Told of pods that could not be bound after all.
        self._failed = failed
        self._client = client
        #: Pods that plugins have something to do for, with the node they will get.
        self._held: dict[str, _Held] = {}
        #: When pods among them are looked at again.
        self._looks: dict[str, Handle] = {}

    def _recorder(self, pod: Object) -> EventRecorder:
        return self._recorders[pod["spec"].get("schedulerName", DEFAULT_SCHEDULER)]

    # -- bindings ----------------------------------------------------------------------------------------------------

    def bind(self, placements: Sequence[Reserved], cost: int = 0) -> None:
        """Write that pods get their nodes, as soon as the cycle is over and plugins have done their part."""
        ready: list[Placement] = []
        for pod, cycle, node, answer in placements:
            if answer is None:
                self._give_up(pod, cycle, node)
            elif answer:
                ready.append((pod, node))
            elif self._hold(pod, cycle, node, cost):
                # Plugins may have written something to it.
                ready.append((self.current(pod) or pod, node))
        if self._client is None and not cost:
            self._write_all(ready)
            return
        for placement in ready:
            self.bind_together([placement], cost)

    def _hold(self, pod: Object, cycle: CycleState, node: str, cost: int) -> bool:
        """A pod waits for plugins; answers whether they were done with it at once."""
        uid = pod["metadata"]["uid"]
        delay = 0
        if cycle.requests:
            # One after the other.
            delay = cost + self._turn(cycle.requests) + sum(self._latencies("update", _CLAIM_STATUS, cycle.requests))
        self._held[uid] = _Held(pod, cycle, node, delay > 0)
        if delay:
            self._store.clock.call_later(delay, self._write_held, uid)
        return bool(cycle.requests and not delay and self._ask(uid))

    def _write_held(self, uid: str) -> None:
        held = self._held.get(uid)
        if held is not None:
            self._held[uid] = held._replace(writing=False)
            if self._ask(uid):
                self.bind_together([(held.pod, held.node)])

    def _ask(self, uid: str) -> bool:
        """Ask plugins once more whether a pod that is held can be bound; it is held no longer when they decided."""
        pod, cycle, node, _ = self._held[uid]
        why = ""
        try:
            answer = cycle.framework.may_bind(cycle, pod, node)
        except Aborted as aborted:
            answer, why = None, str(aborted)
        if (look := self._looks.pop(uid, None)) is not None:
            look.cancel()
        if answer is False:
            when = cycle.framework.next_look(cycle, pod)
            if when is not None:
                self._looks[uid] = self._store.clock.call_at(when, self._write_held, uid)
            return False
        del self._held[uid]
        if answer is None:
            self._give_up(pod, cycle, node, why)
        return bool(answer)

    def _turn(self, requests: int) -> int:
        """How long the client has to wait until it may make so many requests."""
        if self._client is None:
            return 0
        now = self._store.clock.now()
        return max(self._client.reserve(now) for _ in range(requests))

    def _latencies(self, verb: str, resource: str, requests: int) -> list[int]:
        """How long so many requests take, each by itself."""
        return [self._client.latency(verb, resource) if self._client is not None else 0 for _ in range(requests)]

    def bind_together(self, placements: Sequence[Placement], cost: int = 0) -> None:
        """Write that pods, which have been assumed there, get their nodes: all of them, or none."""
        clock, count = self._store.clock, len(placements)
        delay = cost + self._turn(count) + max(self._latencies("create", "pods/binding", count))
        if delay:
            clock.call_later(delay, self._write_together, placements)
        else:
            self._write_together(placements)

    def _write_together(self, decided: Sequence[Placement]) -> None:
        """Write bindings that were decided on a while ago."""
        current = [(self.current(pod), node) for pod, node in decided]
        ready = [(pod, node) for pod, node in current if pod is not None]
        if len(ready) == len(decided):
            self._write_all(ready)
            return
        for pod, _ in decided:
            self._give_up(pod)

    def current(self, pod: Object) -> Object | None:
        """A pod as it is stored, if it is still the same pod, stays, and has no node."""
        metadata = pod["metadata"]
        found = self._store.find("pods", metadata["namespace"], metadata["name"])
        if found is None or found["metadata"]["uid"] != metadata["uid"]:
            return None
        return None if "nodeName" in found["spec"] or "deletionTimestamp" in found["metadata"] else found

    def _write_all(self, placements: Sequence[Placement]) -> None:
        """Write bindings of pods, which are as they are stored, then the events about them."""
        store = self._store
        now = rfc3339(store.clock.now())
        # Pods that were made alike have one status between them, and go on so.
        statuses: dict[int, Object] = {}
        for pod, node in placements:
            before = pod["status"]
            status = statuses.get(id(before))
            if status is None:
                status = statuses[id(before)] = scheduled(before, now)
                status.pop("nominatedNodeName", None)
            new = {**pod, "metadata": {**pod["metadata"]}, "spec": {**pod["spec"], "nodeName": node}, "status": status}
            store.replace("pods", pod, new)
        if len(self._recorders) == 1:
            next(iter(self._recorders.values())).record_bindings(placements)
        else:
            for pod, node in placements:
                self._recorder(pod).record_bindings([(pod, node)])

    def _give_up(self, pod: Object, cycle: CycleState | None = None, node: str = "", why: str = "") -> None:
        """A pod does not get its node after all."""
        if cycle is not None:
            cycle.framework.unreserve(cycle, pod, node)
        if why:
            self.reject(self.current(pod) or pod, why, reason="SchedulerError")
        known = self._snapshot.pods.by_uid.get(pod["metadata"]["uid"])
        if known is not None and known.assumed:
            self._snapshot.remove(known)
        self._failed(pod)

    def look_at_held(self) -> None:
        """Something changed that plugins look at: bind the pods that they have done their part for."""
        for uid, held in list(self._held.items()):
            if not held.writing and self._ask(uid):
                self.bind_together([(held.pod, held.node)])

    def forget(self, uid: str) -> None:
        """A pod is gone; nothing is to be written for it."""
        held = self._held.pop(uid, None)
        if (look := self._looks.pop(uid, None)) is not None:
            look.cancel()
        if held is not None:
            held.cycle.framework.unreserve(held.cycle, held.pod, held.node)

    # -- rejections --------------------------------------------------------------------------------------------------

    def skip(self, pod: Object) -> None:
        """A pod is not scheduled since it is being deleted."""
        metadata = pod["metadata"]
        note = f"skip schedule deleting pod: {metadata['namespace']}/{metadata['name']}"
        self._recorder(pod).record(pod, "Warning", "FailedScheduling", "Scheduling", note)

    def reject(self, pod: Object, message: str, nominate: str | None = None, *, reason: str = "Unschedulable") -> None:
        """A pod gets no node now; it is nominated to one, or no longer ("")."""
        self._recorder(pod).record(pod, "Warning", "FailedScheduling", "Scheduling", message)
        condition = self._condition(pod, "PodScheduled", "False", reason, message)
        changed = _with_condition(pod.get("status") or {}, condition)
        self._set_status(pod, changed if nominate is None else _nominated(changed, nominate))

    def nominate(self, pod: Object, node: str) -> None:
        """Write that room is made for a pod on a node."""
        self._set_status(pod, _nominated(pod.get("status") or {}, node))

    def _condition(self, pod: Object, kind: str, status: str, reason: str, message: str) -> Object:
        condition: Object = {
            "type": kind,
            "status": status,
            "lastProbeTime": None,
            "lastTransitionTime": rfc3339(self._store.clock.now()),
            "reason": reason,
            "message": message,
        }
        if "generation" in pod["metadata"]:
            condition["observedGeneration"] = pod["metadata"]["generation"]
        return condition

    def _set_status(self, pod: Object, status: Object) -> None:
        metadata = pod["metadata"]
        found = self._store.find("pods", metadata["namespace"], metadata["name"])
        if found is not None and found["metadata"]["uid"] == metadata["uid"]:
            self._store.patch_status("pods", metadata["namespace"], metadata["name"], status)

    # -- evictions ---------------------------------------------------------------------------------------------------

    def take_nominations_back(self, pod: Object, node: str) -> None:
        """Less important pods that were nominated to the node have to look for another one."""
        slot = self._snapshot.nodes.slots[node]
        priority = pod["spec"].get("priority") or 0
        for other in list(self._snapshot.nominated.get(slot, {}).values()):
            if other.priority < priority:
                self._set_status(other.pod, _nominated(other.pod["status"], ""))

    def preempt(self, victim: PodInfo, pod: Object, node: str) -> None:
        """Evict a pod that is in the way of a more important one."""
        name = pod["spec"].get("schedulerName", DEFAULT_SCHEDULER)
        message = f"{name}: preempting to accommodate a higher priority pod"
        note = f"Preempted by pod {pod['metadata']['uid']} on node {node}"
        self.evict(victim, message, note, self._recorder(pod), pod)

    def evict(
        self, victim: PodInfo, message: str, note: str, recorder: EventRecorder, related: Object | None = None
    ) -> None:
        """Delete a pod, which is told why by a condition and an event."""
        metadata = victim.pod["metadata"]
        if "deletionTimestamp" in metadata:
            return
        condition = self._condition(victim.pod, "DisruptionTarget", "True", "PreemptionByScheduler", message)
        self._set_status(victim.pod, _with_condition(victim.pod.get("status") or {}, condition))
        grace = victim.pod["spec"].get("terminationGracePeriodSeconds", 30)
        try:
            self._store.delete("pods", metadata["namespace"], metadata["name"], uid=metadata["uid"], grace=grace)
        except ApiError:
            # It went by itself in the meantime.
            return
        recorder.record(victim.pod, "Normal", "Preempted", "Preempting", note, related=related)


def _nominated(status: Object, node: str) -> Object:
    changed = {key: value for key, value in status.items() if key != "nominatedNodeName"}
    if node:
        changed["nominatedNodeName"] = node
    return changed


def _with_condition(status: Object, condition: Object) -> Object:
    """A status with a condition; its time stays when only the words change."""
    conditions = list(status.get("conditions") or ())
    for index, each in enumerate(conditions):
        if each.get("type") == condition["type"]:
            if each.get("status") == condition["status"]:
                condition["lastTransitionTime"] = each.get("lastTransitionTime")
            conditions[index] = condition
            break
    else:
        conditions.append(condition)
    return {**status, "conditions": conditions}
