"""Records: what the Job controller knows of a Job's pods without looking at them again, and of their failures.

A record keeps the pods of one unfinished Job that still matter, those that are active, on their way out, or ended but
not *counted* yet, with how many of each there are. It is brought up to date by every change of a pod, so that a Job
with thousands of pods costs no more per change than a Job with one.

Failed pods are replaced after a *back-off*: ten seconds after the first failure, twice as long after each further one,
ten minutes at most; a success starts the count anew. Where each index has its own limit it also has its own wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ghostfleet.controllers.jobs.indexes import index_of
from ghostfleet.controllers.pods import TERMINAL, is_ready
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.timestamps import parse_rfc3339

__all__ = [
    "FAILURE_COUNT",
    "FINALIZER",
    "IGNORED_COUNT",
    "JOBS",
    "Failures",
    "JobRecord",
    "condition_status",
    "failure_count",
    "finished_at",
    "is_finished",
    "remaining",
]

JOBS = "jobs.batch"
FINALIZER = "batch.kubernetes.io/job-tracking"
FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count"
IGNORED_COUNT = "batch.kubernetes.io/job-index-ignored-failure-count"

_ACTIVE, _READY, _TERMINATING, _COUNTABLE = 1, 2, 4, 8


def condition_status(status: Object, kind: str) -> bool:
    """Whether a Job has a condition of this type that is true."""
    return any(each["type"] == kind and each["status"] == "True" for each in status.get("conditions") or ())


def is_finished(job: Object) -> bool:
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return True
    return False


def _state(pod: Object) -> int:
    status, metadata = pod["status"], pod["metadata"]
    if status.get("phase") in TERMINAL:
        return _COUNTABLE if FINALIZER in metadata.get("finalizers", ()) else 0
    if "deletionTimestamp" in metadata:
        return _TERMINATING | _COUNTABLE if FINALIZER in metadata.get("finalizers", ()) else _TERMINATING
    return _ACTIVE | _READY if is_ready(pod) else _ACTIVE


class Failures(NamedTuple):
    """Failures since the last success, and when the last one was."""

    number: int = 0
    last: int = 0

    def after(self, succeeded: Sequence[Object], failed: Sequence[Object]) -> Failures:
        """The failures once these pods have ended too."""
        if not failed:
            return _NONE if succeeded else self
        times = sorted(map(finished_at, failed))
        if not succeeded:
            return Failures(self.number + len(times), times[-1])
        success = max(map(finished_at, succeeded))
        times = [time for time in times if time > success]
        return Failures(len(times), times[-1]) if times else _NONE


_NONE = Failures()


def remaining(failures: int, last: int, now: int, base: int, limit: int) -> int:
    """Microseconds left to wait after a number of failures, the last of them at `last`."""
    if not failures:
        return 0
    wait = min(base << min(failures - 1, 40), limit)
    return max(wait - (now - last), 0)


def finished_at(pod: Object) -> int:
    """When a pod ended: its last container did, or it lost its readiness, or it was to go."""
    status, metadata = pod["status"], pod["metadata"]
    times: list[str] = [
        ((each.get("state") or {}).get("terminated") or {}).get("finishedAt") or ""
        for each in status.get("containerStatuses") or ()
    ]
    if times and all(times):
        return max(map(parse_rfc3339, times))
    for condition in status.get("conditions") or ():
        if condition["type"] == "Ready" and condition["status"] == "False" and condition.get("lastTransitionTime"):
            return parse_rfc3339(condition["lastTransitionTime"])
    if "deletionTimestamp" in metadata:
        grace = metadata.get("deletionGracePeriodSeconds") or 0
        return parse_rfc3339(metadata["deletionTimestamp"]) - grace * SECOND
    return parse_rfc3339(metadata["creationTimestamp"])


def failure_count(pod: Object, annotation: str = FAILURE_COUNT) -> int:
    """How often the index of a pod had failed before it."""
    text = (pod["metadata"].get("annotations") or {}).get(annotation, "")
    return int(text) if text.isascii() and text.isdigit() else 0


class JobRecord:
    """The pods of one Job."""

    __slots__ = (
        "_states",
        "active",
        "active_indexes",
        "countable",
        "failures",
        "finished",
        "indexed",
        "key",
        "own_write",
        "plain",
        "pods",
        "ready",
        "restarts",
        "single",
        "terminating",
        "watches_restarts",
    )

    def __init__(self, job: Object) -> None:
        metadata, spec = job["metadata"], job["spec"]
        self.key: tuple[str, str] = (metadata["namespace"], metadata["name"])
        self.indexed = spec.get("completionMode") == "Indexed"
        self.watches_restarts = spec["template"]["spec"].get("restartPolicy") == "OnFailure"
        self.plain = self.single = False
        self.look_at(spec)
        #: Pods that are active or terminating, or that are still to be counted, by uid.
        self.pods: dict[str, Object] = {}
        self._states: dict[str, int] = {}
        #: Of these, the pods that have ended or are marked, and have not been counted.
        self.countable: dict[str, Object] = {}
        self.active = 0
        self.ready = 0
        self.terminating = 0
        #: How many active pods there are of each index.
        self.active_indexes: dict[int, int] = {}
        #: Restarts of containers by pod, where the pods restart them in place.
        self.restarts: dict[str, int] = {}
        self.failures = Failures()
        self.finished = False
        #: The controller is writing a pod itself, and needs no reminder of it.
        self.own_write = False

    def look_at(self, spec: Object) -> None:
        """Take note of a Job's changed spec."""
        #: Nothing but the number of its failures can end the Job early.
        self.plain = not self.indexed and "podFailurePolicy" not in spec and "activeDeadlineSeconds" not in spec
        #: Beyond that, it is a Job of one pod, and not suspended.
        self.single = self.plain and spec["parallelism"] == 1 == spec.get("completions") and not spec.get("suspend")

    def note(self, uid: str, pod: Object | None) -> bool:
        """Take note of a pod's new state, None when it is gone; true when it makes a difference."""
        before = self._states.get(uid, 0)
        after = _state(pod) if pod is not None else 0
        differs = before != after
        if differs:
            self._count(before, after)
            if self.indexed:
                self._count_index(pod if pod is not None else self.pods[uid], before & _ACTIVE, after & _ACTIVE)
        if pod is None or not after:
            self.pods.pop(uid, None)
            self._states.pop(uid, None)
        else:
            self.pods[uid] = pod
            self._states[uid] = after
        if pod is not None and after & _COUNTABLE:
            differs = differs or self.countable.get(uid) is not pod
            self.countable[uid] = pod
        elif before & _COUNTABLE:
            del self.countable[uid]
        if self.watches_restarts:
            differs = self._note_restarts(uid, pod) or differs
        return differs

    def active_pods(self) -> list[Object]:
        return [pod for uid, pod in self.pods.items() if self._states[uid] & _ACTIVE]

    def terminating_pods(self) -> list[Object]:
        return [pod for uid, pod in self.pods.items() if self._states[uid] & _TERMINATING]

    def _count(self, before: int, after: int) -> None:
        self.active += (after & _ACTIVE) - (before & _ACTIVE)
        self.ready += ((after & _READY) - (before & _READY)) // _READY
        self.terminating += ((after & _TERMINATING) - (before & _TERMINATING)) // _TERMINATING

    def _count_index(self, pod: Object, before: int, after: int) -> None:
        index = index_of(pod)
        if index is None or before == after:
            return
        count = self.active_indexes.get(index, 0) + after - before
        if count:
            self.active_indexes[index] = count
        else:
            self.active_indexes.pop(index, None)

    def _note_restarts(self, uid: str, pod: Object | None) -> bool:
        count = 0
        if pod is not None and pod["status"].get("phase") in ("Running", "Pending"):
            status = pod["status"]
            statuses = (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ()))
            count = sum(each.get("restartCount", 0) for each in statuses)
        before = self.restarts.get(uid, 0)
        if count:
            self.restarts[uid] = count
        else:
            self.restarts.pop(uid, None)
        return before != count
