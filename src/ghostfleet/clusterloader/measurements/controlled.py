"""WaitForControlledPodsRunning: that the objects of a kind have all their pods running (`wait_for_controlled_pods.go`).

Each *controlled* object has a deadline, which begins anew whenever its spec changes. It is *settled* when as many of
its pods run and are ready as it wants, and no others are on their way; pods that were made from an older template do
not count. One that is deleted is settled when its pods are gone. A Job's pods may end while others start: those that
have succeeded count as well, so short ones are not missed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ghostfleet.clusterloader.measurements.derivation import Derivation
from ghostfleet.clusterloader.measurements.measurement import (
    DONE,
    Context,
    MeasurementError,
    Outcome,
    unknown_action,
)
from ghostfleet.clusterloader.measurements.pending import explained
from ghostfleet.clusterloader.measurements.selecting import ObjectSelector
from ghostfleet.clusterloader.measurements.waiting import until
from ghostfleet.clusterloader.params import Params
from ghostfleet.clusterloader.summaries import Summary, pretty_json
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.drive.interface import PODS, Cluster, Kind

__all__ = ["WaitForControlledPodsRunning"]

_TIMEOUT = 600 * SECOND
_REPLICA_SETS = Kind("apps", "v1", "replicasets")
_SHOWN = 20
#: What a pod is to its owner.
_READY, _OUTDATED, _COMING, _SUCCEEDED, _GONE = range(5)


@dataclass(slots=True)
class _Controlled:
    """One object, and what its pods are."""

    obj: Object
    deadline: int
    wanted: int
    derivation: Derivation
    #: Pods by uid.
    pods: dict[str, tuple[int, Object]] = field(default_factory=dict)
    counts: list[int] = field(default_factory=lambda: [0] * 5)
    deleted: bool = False

    @property
    def name(self) -> str:
        metadata = self.obj["metadata"]
        return f"{metadata['namespace']}/{metadata['name']}"

    def put(self, uid: str, pod: Object | None) -> None:
        """A pod has changed; None when it is there no more."""
        before = self.pods.pop(uid, None)
        if before is not None:
            self.counts[before[0]] -= 1
        if pod is not None:
            state = self._state(pod)
            self.pods[uid] = (state, pod)
            self.counts[state] += 1

    def _state(self, pod: Object) -> int:
        status = pod.get("status") or {}
        phase = status.get("phase")
        if phase == "Succeeded":
            return _SUCCEEDED
        if phase == "Failed" or "deletionTimestamp" in pod["metadata"]:
            return _GONE
        if not self.derivation.holds(pod["spec"]):
            return _OUTDATED
        ready = phase == "Running" and any(
            each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions") or ()
        )
        return _READY if ready else _COMING


class WaitForControlledPodsRunning:
    """See the module."""

    def __init__(self) -> None:
        #: By uid: all, and those that are not settled.
        self._objects: dict[str, _Controlled] = {}
        self._unsettled: dict[str, _Controlled] = {}
        #: Owners of replica sets, by the uid of the replica set.
        self._owners: dict[str, str] = {}
        #: Pods whose owner is not known yet, by its uid.
        self._strays: dict[str, dict[str, Object]] = {}
        self._stops: list[Callable[[], None]] = []
        self._selector = ObjectSelector()
        self._kind = Kind("", "", "")
        self._kind_name = ""
        self._timeout = _TIMEOUT
        self._checks_template = True
        self._margin = 0

    async def execute(self, context: Context, params: Params) -> Outcome:
        action = params.text("action")
        if action == "start":
            if not self._stops:
                await self._start(context.cluster, params)
            return DONE
        if action == "gather":
            if not self._stops:
                raise MeasurementError("the measurement was not started")
            return await self._gather(context, params)
        if action == "stop":
            self.dispose()
            return DONE
        raise unknown_action(action, "start", "gather", "stop")

    def dispose(self) -> None:
        for stop in self._stops:
            stop()
        self._stops = []

    async def _start(self, cluster: Cluster, params: Params) -> None:
        version, self._kind_name = params.text("apiVersion"), params.text("kind")
        kind = await cluster.resolve(version, self._kind_name)
        if kind is None:
            raise MeasurementError(f"the cluster does not serve {self._kind_name} ({version})")
        self._kind = kind
        self._timeout = params.duration("operationTimeout", _TIMEOUT)
        self._checks_template = params.boolean("checkIfPodsAreUpdated", True)
        self._margin = params.integer("countErrorMargin", 0)
        self._selector = ObjectSelector.read(params)
        namespace = self._selector.namespace
        if self._kind_name == "Deployment":
            self._stops.append(cluster.watch(_REPLICA_SETS, namespace, "", self._replica_set_seen))
        self._stops.append(self._selector.watch(cluster, kind, self._object_seen))
        self._stops.append(cluster.watch(PODS, namespace, "", self._pod_seen))

    # -- what watches tell -------------------------------------------------------------------------------------------

    def _object_seen(self, time: int, event: str, obj: Object) -> None:
        uid = obj["metadata"]["uid"]
        known = self._objects.get(uid)
        if event == "DELETED":
            if known is not None:
                known.obj, known.deleted, known.wanted = obj, True, 0
                known.deadline = time + self._timeout
                self._unsettled[uid] = known
                self._look(uid, known)
            return
        if known is not None and known.obj["spec"] == obj["spec"]:
            known.obj = obj
            self._look(uid, known)
            return
        if known is None:
            known = self._objects[uid] = _Controlled(obj, 0, 0, Derivation(None))
        known.obj = obj
        self._unsettled[uid] = known
        known.deadline = time + self._timeout
        known.wanted = self._wanted(obj)
        known.derivation = Derivation(obj["spec"].get("template") if self._checks_template else None)
        waiting = {**{each: pod for each, (_, pod) in known.pods.items()}, **self._strays.pop(uid, {})}
        for each, pod in waiting.items():
            known.put(each, pod)
        self._look(uid, known)

    def _replica_set_seen(self, time: int, event: str, obj: Object) -> None:
        uid = obj["metadata"]["uid"]
        owner = _controller(obj)
        if event == "DELETED" or owner is None or uid in self._owners:
            return
        self._owners[uid] = owner
        for pod in self._strays.pop(uid, {}).values():
            self._pod_seen(time, "MODIFIED", pod)

    def _pod_seen(self, _time: int, event: str, pod: Object) -> None:
        owner = _controller(pod)
        if owner is None:
            return
        owner = self._owners.get(owner, owner)
        known = self._objects.get(owner)
        uid = pod["metadata"]["uid"]
        if known is None:
            strays = self._strays.setdefault(owner, {})
            if event == "DELETED":
                strays.pop(uid, None)
            else:
                strays[uid] = pod
            return
        known.put(uid, None if event == "DELETED" else pod)
        self._look(owner, known)

    # -- what they come to -------------------------------------------------------------------------------------------

    def _wanted(self, obj: Object) -> int:
        spec = obj["spec"]
        if self._kind_name == "Job":
            parallelism = int(spec.get("parallelism", 1))
            return min(parallelism, int(spec["completions"])) if "completions" in spec else parallelism
        # As many as there are nodes for it, which its controller knows better than anyone.
        return -1 if self._kind_name == "DaemonSet" else int(spec.get("replicas", 1))

    def _look(self, uid: str, known: _Controlled) -> None:
        """See whether an object is settled. What has been, stays so until its spec changes."""
        if uid in self._unsettled and self._is_settled(known):
            del self._unsettled[uid]
            if known.deleted:
                del self._objects[uid]

    def _is_settled(self, known: _Controlled) -> bool:
        counts, wanted = known.counts, known.wanted
        if known.deleted:
            return not known.pods
        if self._kind_name == "Job":
            return counts[_READY] + counts[_SUCCEEDED] >= wanted and not counts[_OUTDATED]
        if wanted < 0:
            status = known.obj.get("status") or {}
            if status.get("observedGeneration", 0) < known.obj["metadata"].get("generation", 1):
                return False
            wanted = int(status.get("desiredNumberScheduled", 0))
        on_the_way = counts[_COMING] + counts[_OUTDATED]
        return on_the_way <= self._margin and abs(counts[_READY] - wanted) <= self._margin

    async def _gather(self, context: Context, params: Params) -> Outcome:
        params.duration("syncTimeout", 60 * SECOND)
        cluster, selector = context.cluster, self._selector
        for obj in await cluster.list(self._kind, selector.namespace, selector.labels):
            if selector.matches(self._kind, obj):
                self._object_seen(cluster.now(), "MODIFIED", obj)

        def done() -> bool:
            left, total = self._unsettled.values(), len(self._objects)
            context.advance(f"{self._kind_name}s with all pods running", total - len(left), total)
            return all(each.deadline <= cluster.now() for each in left)

        while not await until(cluster, done, max((each.deadline for each in self._unsettled.values()), default=0)):
            # An object has changed, and has its whole time again.
            continue
        late = list(self._unsettled.values())
        return await self._failed(context, late) if late else DONE

    async def _failed(self, context: Context, late: list[_Controlled]) -> Outcome:
        total = len(self._objects)
        shown = ", ".join(_described(each) for each in late[:_SHOWN])
        more = f" and {len(late) - _SHOWN} more" if len(late) > _SHOWN else ""
        plural = f"{self._kind_name}s" if len(late) > 1 else self._kind_name
        message = f"{len(late)} of {total} objects timed out: {plural}: {shown}{more}"
        uids = {uid for each in late for uid in each.pods}
        message = await explained(context, message, lambda pod: pod["metadata"]["uid"] in uids)
        now = context.cluster.now()
        name = f"WaitForControlledPodsRunning_{now // SECOND}_failedpods"
        rows = [_failed_pod(each, pod) for each in late for state, pod in each.pods.values() if state != _READY]
        return Outcome([Summary(name, "json", pretty_json(rows), now)], [message])


def _described(each: _Controlled) -> str:
    if each.deleted:
        return f"{each.name} (deleted, {len(each.pods)} pods left)"
    ready, wanted = each.counts[_READY], each.wanted if each.wanted >= 0 else "all"
    outdated = f", {each.counts[_OUTDATED]} outdated" if each.counts[_OUTDATED] else ""
    return f"{each.name} ({ready} of {wanted} pods running, {each.counts[_COMING]} pending{outdated})"


def _failed_pod(each: _Controlled, pod: Object) -> dict[str, Any]:
    metadata = pod["metadata"]
    return {
        "namespace": metadata["namespace"],
        "controlledBy": each.name,
        "name": metadata["name"],
        "host": pod["spec"].get("nodeName", ""),
        "status": (pod.get("status") or {}).get("phase", "Pending"),
    }


def _controller(obj: Object) -> str | None:
    """The uid of what controls an object."""
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return str(owner["uid"])
    return None
