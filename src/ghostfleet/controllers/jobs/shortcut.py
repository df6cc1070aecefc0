"""The shortcut: what most Jobs are, done in as few steps as can be.

A Job of one pod that nothing but its pod's end can end goes the same way every time: its pod is made, gets ready,
succeeds, and the Job is complete. Where requests take no time, nothing can come in between, and the outcome of a sync
is known beforehand. What is written is exactly what the long way would write; whatever does not look like this goes
the long way. Jobs that begin, or that end, in the same second have one status between them.
"""

from __future__ import annotations

from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.jobs.podmanagement import finalizers_of, release
from ghostfleet.controllers.jobs.records import JOBS, JobRecord
from ghostfleet.controllers.jobs.synccontext import COMPLETED
from ghostfleet.controllers.pods import PodCreator
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import ApiError
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339

__all__ = ["Shortcut"]

_NONE: Object = {}
#: So many statuses are remembered, to be shared.
_REMEMBERED = 1024


class Shortcut:
    """Takes the short way with the Jobs of one store."""

    def __init__(self, store: Store, creator: PodCreator, recorder: EventRecorder, *, criteria: bool) -> None:
        self._store = store
        self._creator = creator
        self._recorder = recorder
        self._ending = (COMPLETED.type, COMPLETED.final) if criteria else (COMPLETED.final,)
        #: By the times of beginning and end.
        self._statuses: dict[tuple[str, str], Object] = {}

    def take(self, job: Object, record: JobRecord) -> bool:
        """Do all that a sync has to do; false, and nothing done, when it must go the long way."""
        status = job.get("status")
        if "deletionTimestamp" in job["metadata"] or record.terminating:
            return False
        if not status:
            return not record.pods and self._begin(job, record)
        if (
            "conditions" in status
            or record.restarts
            or status.get("failed")
            or status.get("uncountedTerminatedPods") != _NONE
        ):
            return False
        if record.countable:
            return self._complete(job, record, status)
        if record.active == 1 == status.get("active") and record.ready != status.get("ready"):
            self._store.set_status(JOBS, job, {**status, "ready": record.ready})
            return True
        return False

    def _begin(self, job: Object, record: JobRecord) -> bool:
        template = job["spec"]["template"]
        record.own_write = True
        try:
            pod = self._creator.create(self._store, job, template, finalizers=finalizers_of(template))
        except ApiError:
            # The long way tells what is wrong.
            return False
        finally:
            record.own_write = False
        if pod is None:
            return False
        self._recorder.normal(job, "SuccessfulCreate", f"Created pod: {pod['metadata']['name']}")
        self._store.set_status(JOBS, job, self._status(rfc3339(self._store.clock.now())))
        return True

    def _complete(self, job: Object, record: JobRecord, status: Object) -> bool:
        if record.active or len(record.countable) != 1 or "startTime" not in status:
            return False
        (pod,) = record.countable.values()
        if pod["status"].get("phase") != "Succeeded":
            return False
        record.own_write = True
        self._release(pod)
        record.own_write = False
        complete = self._status(status["startTime"], rfc3339(self._store.clock.now()))
        self._store.set_status(JOBS, job, complete)
        self._recorder.normal(job, "Completed", "Job completed")
        record.finished = True
        return True

    def _status(self, start: str, end: str = "") -> Object:
        """The status of a Job that has begun and, with an `end`, is complete."""
        known = self._statuses.get((start, end))
        if known is None:
            if len(self._statuses) >= _REMEMBERED:
                self._statuses.clear()
            known = self._statuses[start, end] = _complete(start, end, self._ending) if end else _begun(start)
        return known

    def _release(self, pod: Object) -> None:
        """Let go of a pod, which is as it is stored."""
        metadata = pod["metadata"]
        if "deletionTimestamp" in metadata or len(metadata["finalizers"]) > 1:
            release(self._store, pod)
        else:
            free = {key: value for key, value in metadata.items() if key != "finalizers"}
            self._store.replace("pods", pod, {**pod, "metadata": free})


def _begun(start: str) -> Object:
    return {"startTime": start, "active": 1, "ready": 0, "terminating": 0, "uncountedTerminatedPods": _NONE}


def _complete(start: str, end: str, conditions: tuple[str, ...]) -> Object:
    same = {"status": "True", "lastProbeTime": end, "lastTransitionTime": end}
    same |= {"reason": COMPLETED.reason, "message": COMPLETED.message}
    return {
        "startTime": start,
        "completionTime": end,
        "ready": 0,
        "terminating": 0,
        "succeeded": 1,
        "uncountedTerminatedPods": _NONE,
        "conditions": [{"type": each, **same} for each in conditions],
    }
