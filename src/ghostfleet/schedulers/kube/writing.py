"""Writing decisions: bindings, conditions, events and deletions.

A decision to bind is first *assumed* in the scheduler's picture, then written, at once or when the client's rate
limit lets it; a pod whose claims are still being bound waits in between. A pod that could not be placed gets its
PodScheduled condition and an event, each only if it says something new. Victims of preemption get their own condition
and event, and are deleted with their grace period.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ghostfleet.api.subresources import scheduled
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import ApiError
from ghostfleet.core.ratelimit import TokenBucket
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.schedulers.kube.counting import Resident
from ghostfleet.schedulers.kube.cycle import Decision
from ghostfleet.schedulers.kube.facts import Facts
from ghostfleet.schedulers.kube.recorder import Recorder
from ghostfleet.schedulers.kube.state import ClusterState

__all__ = ["Writer"]


class Writer:
    """Writes what one scheduler decided."""

    def __init__(
        self,
        store: Store,
        state: ClusterState,
        recorders: Mapping[str, Recorder],
        limiter: TokenBucket | None,
        failed: Callable[[Object], None],
    ) -> None:
        self._store = store
        self._state = state
        self._recorders = recorders
        self._limiter = limiter
        #: Told of pods that could not be bound after all.
        self._failed = failed
        #: Pods that wait for their claims, with the node they will get.
        self._waiting: dict[str, tuple[Object, Facts, str]] = {}

    def _recorder(self, pod: Object) -> Recorder:
        return self._recorders[pod["spec"].get("schedulerName", "default-scheduler")]

    # -- bindings ----------------------------------------------------------------------------------------------------

    def assume(self, pod: Object, facts: Facts, node: str) -> None:
        """A pod is going to be on a node: from now on it counts as being there."""
        state = self._state
        if state.nominated:
            state.renominate(pod, "")
        state.settle(pod, node, facts, assumed=True)

    def bind(self, placements: Sequence[tuple[Object, Facts, str]]) -> None:
        """Write that pods, which have been assumed there, get their nodes."""
        ready = []
        for pod, facts, node in placements:
            if (facts.claims or facts.ephemeral) and not self._state.volumes.reserve(pod, facts, node):
                self._waiting[pod["metadata"]["uid"]] = (pod, facts, node)
            else:
                ready.append((pod, node))
        if self._limiter is None:
            self._write_all(ready)
            return
        for pod, node in ready:
            self._write_soon(pod, node)

    def _write_soon(self, pod: Object, node: str) -> None:
        clock = self._store.clock
        delay = self._limiter.reserve(clock.now()) if self._limiter is not None else 0
        if delay:
            clock.call_later(delay, self._write, pod, node)
        else:
            self._write(pod, node)

    def _write(self, decided: Object, node: str) -> None:
        """Write a binding that was decided on a while ago."""
        metadata = decided["metadata"]
        pod = self._store.find("pods", metadata["namespace"], metadata["name"])
        if pod is None or not _is_free(pod, metadata["uid"]):
            self._give_up(decided)
        else:
            self._write_all([(pod, node)])

    def _write_all(self, placements: Sequence[tuple[Object, str]]) -> None:
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

    def _give_up(self, pod: Object) -> None:
        resident = self._state.census.residents.get(pod["metadata"]["uid"])
        if resident is not None and resident.assumed:
            self._state.leave(resident)
        self._failed(pod)

    def look_at_volumes(self) -> None:
        """Claims changed: bind the pods whose claims are all bound now."""
        for uid, (pod, facts, node) in list(self._waiting.items()):
            done = self._state.volumes.bound(pod, facts, node)
            if done is not False:
                del self._waiting[uid]
                if done:
                    self._write_soon(pod, node)
                else:
                    self._give_up(pod)

    def forget(self, uid: str) -> None:
        """A pod is gone; nothing is to be written for it."""
        self._waiting.pop(uid, None)

    # -- failures ----------------------------------------------------------------------------------------------------

    def skipped(self, pod: Object) -> None:
        """A pod is not scheduled since it is being deleted."""
        metadata = pod["metadata"]
        note = f"skip schedule deleting pod: {metadata['namespace']}/{metadata['name']}"
        self._recorder(pod).record(pod, "Warning", "FailedScheduling", "Scheduling", note)

    def refuse(self, pod: Object, decision: Decision) -> None:
        """A pod gets no node now."""
        if decision.victims and decision.nominate:
            self._take_back_promises(pod, decision.nominate)
            for victim in decision.victims:
                self._evict(victim, pod, decision.nominate)
        self._recorder(pod).record(pod, "Warning", "FailedScheduling", "Scheduling", decision.message)
        status = pod.get("status") or {}
        condition: Object = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": rfc3339(self._store.clock.now()),
            "reason": "Unschedulable",
            "message": decision.message,
        }
        if "generation" in pod["metadata"]:
            condition["observedGeneration"] = pod["metadata"]["generation"]
        changed = _with_condition(status, condition)
        if decision.nominate is not None:
            changed = {key: value for key, value in changed.items() if key != "nominatedNodeName"}
            if decision.nominate:
                changed["nominatedNodeName"] = decision.nominate
        self._set_status(pod, changed)

    def _set_status(self, pod: Object, status: Object) -> None:
        metadata = pod["metadata"]
        found = self._store.find("pods", metadata["namespace"], metadata["name"])
        if found is not None and found["metadata"]["uid"] == metadata["uid"]:
            self._store.patch_status("pods", metadata["namespace"], metadata["name"], status)

    # -- preemption --------------------------------------------------------------------------------------------------

    def _take_back_promises(self, pod: Object, node: str) -> None:
        """Less important pods that were promised the node have to look for another one."""
        slot = self._state.table.slots[node]
        priority = pod["spec"].get("priority") or 0
        for other in list(self._state.nominated.get(slot, {}).values()):
            if other.facts.priority < priority:
                status = {key: value for key, value in other.pod["status"].items() if key != "nominatedNodeName"}
                self._set_status(other.pod, status)

    def _evict(self, victim: Resident, pod: Object, node: str) -> None:
        metadata = victim.pod["metadata"]
        if "deletionTimestamp" in metadata:
            return
        name = pod["spec"].get("schedulerName", "default-scheduler")
        condition: Object = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": rfc3339(self._store.clock.now()),
            "reason": "PreemptionByScheduler",
            "message": f"{name}: preempting to accommodate a higher priority pod",
        }
        if "generation" in metadata:
            condition["observedGeneration"] = metadata["generation"]
        self._set_status(victim.pod, _with_condition(victim.pod.get("status") or {}, condition))
        grace = victim.pod["spec"].get("terminationGracePeriodSeconds", 30)
        try:
            self._store.delete("pods", metadata["namespace"], metadata["name"], uid=metadata["uid"], grace=grace)
        except ApiError:
            # It went by itself in the meantime.
            return
        note = f"Preempted by pod {pod['metadata']['uid']} on node {node}"
        self._recorder(pod).record(victim.pod, "Normal", "Preempted", "Preempting", note, related=pod)


def _is_free(pod: Object, uid: str) -> bool:
    """Whether it is still the same pod, and without a node."""
    metadata = pod["metadata"]
    return metadata["uid"] == uid and "nodeName" not in pod["spec"] and "deletionTimestamp" not in metadata


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
