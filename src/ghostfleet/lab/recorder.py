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
from collections.abc import Callable, Iterator

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.drive.interface import PERSISTENT_VOLUME_CLAIMS, PODS, Cluster, Kind
from ghostfleet.lab.directory import Timeline
from ghostfleet.lab.judging import outcome, pods_at_once
from ghostfleet.lab.plan import RUN_LABEL
from ghostfleet.lab.records import MARKS
from ghostfleet.lab.types import JOIN_LABELS, WorkloadType

__all__ = ["Recorder"]

# What has been seen of a pod.
_CREATED, _BOUND, _RUNNING, _ENDED, _EVICTED = 1, 2, 4, 8, 16
_ENDS = ("Succeeded", "Failed")
_LINES = 1000


class Recorder:
    """See the module's words."""

    def __init__(
        self,
        cluster: Cluster,
        run: str,
        namespace: str,
        kind: WorkloadType,
        pods: int,
        timeline: Timeline | None = None,
    ) -> None:
        self._cluster = cluster
        self._run = run
        self._namespace = namespace
        self._kind = kind
        self._expected = pods
        self._timeline = timeline
        self._since = rfc3339(cluster.now())
        #: How long after the end of a workload what went before may still be told: watches are not in step.
        self._late = 0 if cluster.facts.clock == "virtual" else SECOND
        self._rows: dict[str, int] = {}
        self._names: list[str] = []
        self._marks = {mark: array("q") for mark in MARKS}
        #: How many pods of each workload it wants at once, and were created, bound and running, once each.
        self._wanted, self._made, self._bound, self._up = (array("l") for _ in range(4))
        self._pods: dict[str, int] = {}
        self._owners: dict[str, int] = {}
        self._ours: set[int] = set()
        self._over: set[int] = set()
        self._unwritten: list[int] = []
        self._stops: list[Callable[[], None]] = []
        #: Workloads of the run that were seen, that have all their pods running or past that, that have ended.
        self.seen = self.running = self.finished = 0
        #: When something was last marked.
        self.changed = cluster.now()

    # -- watching ----------------------------------------------------------------------------------------------------

    async def start(self, *, claims: bool = False) -> None:
        """Watch all kinds that belong to the run's workloads."""
        kind, watch = self._kind, self._watch
        workload = await self._cluster.resolve(*kind.workload)
        if workload is not None and workload != PODS:
            watch(workload, f"{RUN_LABEL}={self._run}", self._see_workload)
        job = await self._cluster.resolve(*kind.job) if kind.job is not None else None
        if job is not None:
            watch(job, "", self._see_job)
        groups = await self._cluster.resolve(*kind.pod_group) if kind.pod_group is not None else None
        if groups is not None:
            watch(groups, "", self._see_group)
        watch(PODS, "", self._see_bare_pod if workload == PODS else self._see_pod)
        if claims:
            watch(PERSISTENT_VOLUME_CLAIMS, "", self._see_claim)

    def _watch(self, kind: Kind, labels: str, seen: Callable[[int, str, Object], None]) -> None:
        self._stops.append(self._cluster.watch(kind, self._namespace, labels, seen))

    def stop(self) -> None:
        """End all watches and write down what is left."""
        while self._stops:
            self._stops.pop()()
        self._unwritten += [row for row in sorted(self._ours) if row not in self._over]
        self.write()

    def done(self, count: int) -> bool:
        """Whether so many workloads are where they stay: ended, or running where they do not end."""
        return (self.finished if self._kind.ends else self.running + self.finished) >= count

    def owns(self, pod: Object) -> bool:
        """Whether a pod is of a workload of the run, as far as that is known."""
        metadata = pod["metadata"]
        if metadata["namespace"] != self._namespace:
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
            self._wanted.append(self._expected)
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
            self._claim(row)
        self._see_job_of(row, now, event, obj, "workload")
        if event == "ADDED" and self._kind.job is None:
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

    def _claim(self, row: int) -> None:
        """The row is of this run; what was counted of it before counts from now on."""
        self._ours.add(row)
        self.seen += 1
        if row in self._over:
            self.finished += 1
        elif self._up[row] >= self._wanted[row]:
            self.running += 1

    def _see_group(self, now: int, event: str, obj: Object) -> None:
        if event == "ADDED":
            labels = obj["metadata"].get("labels") or {}
            name = labels.get("release") or labels.get("workloadName")
            if name is not None:
                self._created("podGroup", self._row(name), now, obj)

    def _see_bare_pod(self, now: int, event: str, obj: Object) -> None:
        labels = obj["metadata"].get("labels") or {}
        if labels.get(RUN_LABEL) == self._run:
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
            self.running += 1

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
        if self._up[row] >= self._wanted[row]:
            self.running -= 1
        self._unwritten.append(row)
        if len(self._unwritten) >= _LINES:
            self.write()


def _disrupted(status: Object) -> bool:
    return any(
        each["type"] == "DisruptionTarget" and each["status"] == "True" for each in status.get("conditions") or ()
    )
