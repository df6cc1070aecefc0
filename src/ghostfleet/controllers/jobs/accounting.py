"""Accounting: every ended pod is counted once, and the Job's status says so.

Ended pods are written down as *uncounted* first; then their finalizers go, and with them the hold on the pods; then
they are counted. Whatever happens in between, no pod is lost from the count and none is counted twice. Where nothing
can happen in between, the first of the two writes is left out.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.jobs.indexes import index_of, intervals, intervals_text, parse_intervals, total
from ghostfleet.controllers.jobs.limits import JobLimits
from ghostfleet.controllers.jobs.podmanagement import release
from ghostfleet.controllers.jobs.policies import judge_failure
from ghostfleet.controllers.jobs.records import JOBS, condition_status
from ghostfleet.controllers.jobs.synccontext import COMPLETED, Ending, SyncContext
from ghostfleet.controllers.pods import is_terminal, with_condition
from ghostfleet.controllers.requests import Request, Steps, update_status
from ghostfleet.core.changes import Object
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339

__all__ = ["Accounting"]


class Accounting:
    """Writes the status of one Job in one sync."""

    __slots__ = ("_changed", "_context", "_limits", "_recorder", "_status", "_time", "finished", "unfinished")

    def __init__(self, recorder: EventRecorder, limits: JobLimits, context: SyncContext) -> None:
        self._recorder = recorder
        self._limits = limits
        self._context = context
        self._status: Object = dict(context.status)
        self._time = rfc3339(context.now)
        self._changed = False
        #: The Job has ended by this sync.
        self.finished = False
        #: There was more to count than one sync may.
        self.unfinished = False

    def start(self) -> None:
        """The Job begins now, unless it has or is suspended."""
        if "startTime" not in self._status and not self._context.spec.get("suspend"):
            self._status["startTime"] = self._time

    def note_suspension(self) -> None:
        """Keep the Suspended condition."""
        suspended = bool(self._context.spec.get("suspend"))
        if suspended == condition_status(self._status, "Suspended"):
            return
        self._changed = True
        if suspended:
            self._put_condition("Suspended", "JobSuspended", "Job suspended")
            self._recorder.normal(self._context.job, "Suspended", "Job suspended")
            self._status.pop("startTime", None)
        else:
            self._put_condition("Suspended", "JobResumed", "Job resumed", "False")
            self._recorder.normal(self._context.job, "Resumed", "Job resumed")
            self._status["startTime"] = self._time

    def note_numbers(self, active: int, ready: int, terminating: int) -> None:
        self._set("active", active)
        self._set("ready", ready, keep_zero=True)
        self._set("terminating", terminating, keep_zero=True)

    def close(self, ending: Ending | None, countable: dict[str, Object]) -> Steps:
        """Count what has ended, and end the Job if that is its ending."""
        uncounted = self._status.get("uncountedTerminatedPods") or {}
        succeeded: list[str] = list(uncounted.get("succeeded") or ())
        failed: list[str] = list(uncounted.get("failed") or ())
        released, indexes = self._sort_out(ending, countable, succeeded, failed)
        if self._context.record.indexed:
            self._note_indexes(indexes)
        reported = ending != COMPLETED or self._limits.success_criteria
        if ending is not None and reported and not condition_status(self._status, ending.type):
            self._put_condition(*ending)
            self._changed = True
        pending = {key: uids for key, uids in (("succeeded", succeeded), ("failed", failed)) if uids}
        self._set("uncountedTerminatedPods", pending, keep_zero=True)
        if self._changed and self._limits.interim_status:
            yield self._writing()
        self._context.record.failures = self._context.failures
        if released:
            yield [Request("patch", "pods", self._release, pod) for pod in released]
        if pending:
            self._status["uncountedTerminatedPods"] = {}
            self._set("succeeded", self._status.get("succeeded", 0) + len(succeeded))
            self._set("failed", self._status.get("failed", 0) + len(failed))
        if ending is not None and not self.unfinished and not self._status["terminating"]:
            self._finish(ending)
        if self._changed:
            yield self._writing()
        if self.finished and ending is not None:
            self._tell(ending)

    def _sort_out(
        self, ending: Ending | None, countable: dict[str, Object], succeeded: list[str], failed: list[str]
    ) -> tuple[list[Object], list[int]]:
        """Pods whose finalizers can go, and completed indexes; uids to count are added to the lists."""
        context = self._context
        policy = context.spec.get("podFailurePolicy")
        held = {pod["metadata"]["uid"] for pod in context.replaces.values()} if context.replaces else ()
        known = {*succeeded, *failed}
        released: list[Object] = []
        indexes: list[int] = []
        for uid, pod in countable.items():
            done = pod["status"].get("phase") == "Succeeded"
            lost = not done and context.is_lost(pod)
            if not (done or ending is not None or context.marked or (lost and uid not in held)):
                continue
            if len(indexes) + len(succeeded) + len(failed) >= self._limits.uncounted:
                self.unfinished = True
                break
            released.append(pod)
            if uid in known or not context.has_valid_index(pod):
                continue
            index = index_of(pod) if context.record.indexed else None
            if done and index is not None:
                indexes.append(index)
            elif done:
                succeeded.append(uid)
            elif (lost or (ending is not None and ending.fails)) and judge_failure(policy, pod).counts:
                failed.append(uid)
        return released, indexes

    def _note_indexes(self, new: list[int]) -> None:
        context = self._context
        before = parse_intervals(self._status.get("completedIndexes", ""), context.spec["completions"])
        completed = intervals(before, ((index, index) for index in new)) if new else before
        self._set("completedIndexes", intervals_text(completed))
        self._set("succeeded", total(completed))
        if context.failed_indexes is not None:
            self._set("failedIndexes", intervals_text(context.failed_indexes), keep_zero=True)

    def _release(self, store: Store, pod: Object) -> None:
        record = self._context.record
        # That an ended pod loses its finalizer needs no second look; that a marked one goes may let the Job end.
        record.own_write = is_terminal(pod)
        release(store, pod)
        record.own_write = False

    def _finish(self, ending: Ending) -> None:
        self._put_condition(ending.final, ending.reason, ending.message)
        if not ending.fails:
            self._status["completionTime"] = self._time
        self._changed = True
        self.finished = True

    def _put_condition(self, kind: str, reason: str, message: str, value: str = "True") -> None:
        condition = {
            "type": kind,
            "status": value,
            "lastProbeTime": self._time,
            "lastTransitionTime": self._time,
            "reason": reason,
            "message": message,
        }
        self._status["conditions"] = with_condition(self._status.get("conditions") or (), condition)

    def _set(self, field: str, value: Any, *, keep_zero: bool = False) -> None:
        """Set a field of the status, or take it away when it is empty."""
        if not value and not keep_zero:
            self._changed = self._status.pop(field, None) is not None or self._changed
        elif field not in self._status or self._status[field] != value:
            self._status[field] = value
            self._changed = True

    def _writing(self) -> Request:
        self._changed = False
        return update_status(JOBS, self._context.job, dict(self._status))

    def _tell(self, ending: Ending) -> None:
        job = self._context.job
        if ending.fails:
            self._recorder.warning(job, ending.reason, ending.message)
            return
        completions = self._context.spec.get("completions")
        if completions is not None and self._status.get("succeeded", 0) > completions:
            message = "Too many succeeded pods running after completion count reached"
            self._recorder.warning(job, "TooManySucceededPods", message)
        self._recorder.normal(job, "Completed", "Job completed")
