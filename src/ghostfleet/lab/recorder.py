"""The recorder: watches a run and marks when each step of each workload was seen, to the microsecond.

Marks are kept in *columns*, one for each step, with a *row* for each workload; a row is found by the workload's name,
which objects carry as their own name or in a join label. Rows are made for any name that is seen, since a pod may be
told before its workload, but only those whose workload carries the run's label count. An object that was there before
the recorder began gives no marks for what had happened by then: when it happened is not known. What is known of each
pod is a few bits, so an event costs a look at the pod and little more.

A mark never moves: a workload is decided on when the first of its pods gets a node, and its last pod is the last of as
many as it wants at once; those that replace failed ones come after it. What pods do after the workload has ended is no
part of its life.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.drive.interface import PERSISTENT_VOLUME_CLAIMS, PODS, Cluster, Kind, Seen
from ghostfleet.lab.directory import Timeline
from ghostfleet.lab.mix import Workload
from ghostfleet.lab.plan import INDEX_ANNOTATION, RUN_LABEL
from ghostfleet.lab.records import MARKS
from ghostfleet.lab.types import JOIN_LABELS, KindName, outcome, pods_at_once

__all__ = ["TimelineRecorder"]

# What has been seen of a pod.
_CREATED, _BOUND, _RUNNING, _ENDED, _EVICTED = 1, 2, 4, 8, 16
_ENDS = ("Succeeded", "Failed")
_LINES = 1000
_POD = KindName("v1", "Pod")


class TimelineRecorder:
    """Marks the steps of a run's workloads as its watches show them."""

    def __init__(
        self,
        cluster: Cluster,
        run: str,
        workloads: Sequence[Workload],
        timeline: Timeline | None = None,
    ) -> None:
        self._cluster = cluster
        self._run = run
        self._workloads = workloads
        self._namespaces = {each.namespace for each in workloads}
        self._timeline = timeline
        self._since = rfc3339(cluster.now())
        #: How long after the end of a workload what went before may still be told: watches are not in step.
        self._late = 0 if cluster.info.clock == "virtual" else SECOND
        self._rows: dict[str, int] = {}
        self._names: list[str] = []
        self._marks = {mark: array("q") for mark in MARKS}
        #: How many pods of each workload it wants at once, and were created, bound and running, once each.
        self._wanted, self._made, self._bound, self._up = (array("l") for _ in range(4))
        self._stays = bytearray()
        self._pods: dict[str, int] = {}
        self._owners: dict[str, int] = {}
        self._ours: set[int] = set()
        self._over: set[int] = set()
        self._unwritten: list[int] = []
        self._stops: list[Callable[[], None]] = []
        #: Workloads of the run that were seen, that have all their pods running or past that, that have ended.
        self.seen = self.running = self.finished = 0
        #: Those that are where they stay: ended, or running where they do not end.
        self.settled = 0
        #: When something was last marked.
        self.changed = cluster.now()

    # -- watching ----------------------------------------------------------------------------------------------------

    async def start(self, *, claims: bool = False) -> None:
        """Watch all kinds that belong to the run's workloads, where they are."""
        # In the order of the workloads, so that the same run watches in the same order.
        for namespace, kind in dict.fromkeys((each.namespace, each.of.kind.workload) for each in self._workloads):
            workload = await self._cluster.resolve(*kind)
            if workload is not None and workload != PODS:
                self._watch(workload, namespace, f"{RUN_LABEL}={self._run}", self._see_workload)
        await self._watch_parts("job", self._see_job)
        await self._watch_parts("pod_group", self._see_group)
        bare = {each.namespace for each in self._workloads if each.of.kind.workload == _POD}
        for namespace in dict.fromkeys(each.namespace for each in self._workloads):
            self._watch(PODS, namespace, "", self._see_any_pod if namespace in bare else self._see_pod)
            if claims:
                self._watch(PERSISTENT_VOLUME_CLAIMS, namespace, "", self._see_claim)

    async def _watch_parts(self, part: str, seen: Seen) -> None:
        """Watch the jobs or the pod groups of the workloads."""
        for namespace, kind in dict.fromkeys((each.namespace, getattr(each.of.kind, part)) for each in self._workloads):
            found = await self._cluster.resolve(*kind) if kind is not None else None
            if found is not None:
                self._watch(found, namespace, "", seen)

    def _watch(self, kind: Kind, namespace: str, labels: str, seen: Seen) -> None:
        self._stops.append(self._cluster.watch(kind, namespace, labels, seen))

    def stop(self) -> None:
        """End all watches and write down what is left."""
        while self._stops:
            self._stops.pop()()
        self._unwritten += [row for row in sorted(self._ours) if row not in self._over]
        self.write()

    def done(self, count: int) -> bool:
        """Whether so many workloads are where they stay: ended, or running where they do not end."""
        return self.settled >= count

    def owns(self, pod: Object) -> bool:
        """Whether a pod is of a workload of the run, as far as that is known."""
        metadata = pod["metadata"]
        if metadata["namespace"] not in self._namespaces:
            return False
        labels = metadata.get("labels") or {}
        name = next((labels[label] for label in JOIN_LABELS if label in labels), None)
        return self._rows.get(name or "") in self._ours

    # -- what was seen -----------------------------------------------------------------------------------------------

    def marks(self) -> Iterator[tuple[str, dict[str, int]]]:
        """The marks of each workload of the run."""
        for row in sorted(self._ours):
            yield self._names[row], self._of(row)

    def write(self) -> None:
        """Add to the timeline what came to its end since the last time."""
        if self._timeline is not None and self._unwritten:
            self._timeline.add((self._names[row], self._of(row)) for row in self._unwritten)
        self._unwritten.clear()

    def _of(self, row: int) -> dict[str, int]:
        return {mark: column[row] for mark, column in self._marks.items() if column[row]}

    # -- seeing ------------------------------------------------------------------------------------------------------

    def _row(self, name: str) -> int:
        row = self._rows.get(name)
        if row is None:
            row = self._rows[name] = len(self._names)
            self._names.append(name)
            for column in self._marks.values():
                column.append(0)
            for count in (self._made, self._bound, self._up):
                count.append(0)
            self._wanted.append(self._workloads[0].pods)
            self._stays.append(0)
        return row

    def _known(self, obj: Object) -> bool:
        """Whether the object came while the recorder watched."""
        return bool(obj["metadata"]["creationTimestamp"] >= self._since)

    def _created(self, mark: str, row: int, now: int, obj: Object) -> None:
        column = self._marks[mark]
        if now and not column[row] and self._known(obj):
            column[row] = now
            self.changed = now

    def _see_workload(self, now: int, event: str, obj: Object) -> None:
        row = self._row(obj["metadata"]["name"])
        if row not in self._ours:
            self._claim(row, self._workload(obj))
        self._see_job_of(row, now, event, obj, "workload")
        if event == "ADDED" and self._workload(obj).of.kind.job is None:
            self._created("job", row, now, obj)

    def _see_job(self, now: int, event: str, obj: Object) -> None:
        self._see_job_of(self._row(obj["metadata"]["name"]), now, event, obj, "job")

    def _see_job_of(self, row: int, now: int, event: str, obj: Object, mark: str) -> None:
        if event == "ADDED":
            self._created(mark, row, now, obj)
            self._wanted[row] = pods_at_once(obj) or self._wanted[row]
        if row in self._over:
            return
        if event == "DELETED":
            self._end(row, 0)
        elif outcome(obj):
            self._end(row, now if event == "MODIFIED" or self._known(obj) else 0)

    def _workload(self, obj: Object) -> Workload:
        """What is known of a workload since before it was submitted; all are alike where they have no number."""
        index = (obj["metadata"].get("annotations") or {}).get(INDEX_ANNOTATION, "0")
        return self._workloads[int(index) if index.isdigit() and int(index) < len(self._workloads) else 0]

    def _claim(self, row: int, workload: Workload) -> None:
        """The row is of this run; what was counted of it before counts from now on."""
        self._ours.add(row)
        self._wanted[row], self._stays[row] = workload.pods, not workload.of.ends
        self.seen += 1
        if row in self._over:
            self.finished += 1
            self.settled += 1
        elif self._up[row] >= self._wanted[row]:
            self._runs(row)

    def _runs(self, row: int) -> None:
        """All pods of a workload of this run are up."""
        self.running += 1
        self.settled += self._stays[row]

    def _see_group(self, now: int, event: str, obj: Object) -> None:
        if event == "ADDED":
            labels = obj["metadata"].get("labels") or {}
            name = labels.get("release") or labels.get("workloadName")
            if name is not None:
                self._created("podGroup", self._row(name), now, obj)

    def _see_any_pod(self, now: int, event: str, obj: Object) -> None:
        """A pod where pods are among the workloads: those that nobody owns."""
        metadata = obj["metadata"]
        if (metadata.get("labels") or {}).get(RUN_LABEL) == self._run and "ownerReferences" not in metadata:
            self._see_workload(now, event, obj)
        self._see_pod(now, event, obj)

    def _see_pod(self, now: int, event: str, obj: Object) -> None:
        metadata = obj["metadata"]
        uid = metadata["uid"]
        before = self._pods.get(uid, 0)
        if event == "DELETED":
            self._pods.pop(uid, None)
            return
        labels = metadata.get("labels") or {}
        for label in JOIN_LABELS:
            if label in labels:
                name = labels[label]
                break
        else:
            return
        row = self._row(name)
        known = (before or metadata["creationTimestamp"] >= self._since) and not self._is_over(row, now)
        time = now if known else 0
        state = before or self._begin(uid, row, time, obj)
        status = obj.get("status") or {}
        if not state & _BOUND:
            state |= self._bind(row, time, obj)
        phase = status.get("phase")
        if phase == "Running" and not state & _RUNNING:
            state |= _RUNNING
            self._run_pod(row, time)
        elif phase in _ENDS and not state & _ENDED:
            if not state & _RUNNING and phase == "Succeeded":
                self._run_pod(row, time)
            state |= _ENDED | _RUNNING
            if time:
                self._set("ended", row, time)
        if "deletionTimestamp" in metadata and not state & _EVICTED and _disrupted(status):
            state |= _EVICTED
            if time:
                self._set("evicted", row, time, first=True)
        if state != before:
            self._pods[uid] = state

    def _is_over(self, row: int, now: int) -> bool:
        """Whether the workload had ended before: what its pods do then is no part of its life."""
        return row in self._over and now > self._marks["finished"][row] + self._late

    def _begin(self, uid: str, row: int, now: int, obj: Object) -> int:
        self._created("firstPod", row, now, obj)
        self._made[row] += 1
        if self._made[row] == self._wanted[row]:
            self._created("lastPod", row, now, obj)
        self._owners[uid] = row
        return _CREATED

    def _bind(self, row: int, now: int, obj: Object) -> int:
        """A pod has a node now, or none yet; the workload is decided on with the first, and placed with the last."""
        if not obj["spec"].get("nodeName"):
            return 0
        self._bound[row] += 1
        if now and self._bound[row] == 1:
            self._set("decided", row, now)
        if now and self._bound[row] == self._wanted[row]:
            self._set("bound", row, now)
        return _BOUND

    def _run_pod(self, row: int, now: int) -> None:
        self._up[row] += 1
        if self._up[row] != self._wanted[row]:
            return
        if now:
            self._set("running", row, now)
        if row in self._ours and row not in self._over:
            self._runs(row)

    def _see_claim(self, now: int, event: str, obj: Object) -> None:
        row = self._row_of_claim(obj["metadata"])
        if row is None:
            return
        if event == "ADDED":
            self._created("claimRequested", row, now, obj)
        elif event == "MODIFIED" and (obj.get("status") or {}).get("phase") == "Bound":
            self._set("claimBound", row, now, first=True)

    def _row_of_claim(self, metadata: Object) -> int | None:
        """A claim is its workload's, by label, or a pod's."""
        labels = metadata.get("labels") or {}
        if "release" in labels:
            return self._row(labels["release"])
        owners = (self._owners.get(owner["uid"]) for owner in metadata.get("ownerReferences") or ())
        return next((row for row in owners if row is not None), None)

    def _set(self, mark: str, row: int, now: int, *, first: bool = False) -> None:
        column = self._marks[mark]
        if not first or not column[row]:
            column[row] = now
            self.changed = now

    def _end(self, row: int, now: int) -> None:
        """A workload has ended, or is gone; `now` is 0 where the time is not known."""
        if now:
            self._set("finished", row, now)
        self._over.add(row)
        if row not in self._ours:
            return
        self.finished += 1
        up = self._up[row] >= self._wanted[row]
        self.running -= up
        self.settled += not (up and self._stays[row])
        self._unwritten.append(row)
        if len(self._unwritten) >= _LINES:
            self.write()


def _disrupted(status: Object) -> bool:
    return any(
        each["type"] == "DisruptionTarget" and each["status"] == "True" for each in status.get("conditions") or ()
    )
