"""The context of a sync (syncJobCtx of the Job controller): what is the case with a Job when the sync starts.

Which pods have ended and are still to be counted, how many successes and failures that makes, which indexes are
through. A pod is *lost* when it failed or, unless only ended pods are to be replaced, when it is marked: it may never
get to its end.
"""

from __future__ import annotations

from ghostfleet.controllers.jobs.backoff import Failures, failure_count, finished_at
from ghostfleet.controllers.jobs.indexes import Intervals, contains, index_of, intervals, parse_intervals, total
from ghostfleet.controllers.jobs.policies import judge_failure
from ghostfleet.controllers.jobs.records import JobRecord
from ghostfleet.core.changes import Object

__all__ = ["SyncContext"]

_IGNORED = "batch.kubernetes.io/job-index-ignored-failure-count"


class SyncContext:
    """One Job and its pods when a sync starts. What happens to pods after that is the next sync's concern."""

    __slots__ = (
        "countable",
        "failed",
        "failed_indexes",
        "failed_pods",
        "failures",
        "job",
        "marked",
        "now",
        "record",
        "replaces",
        "spec",
        "status",
        "succeeded",
        "succeeded_indexes",
        "succeeded_pods",
        "terminating",
    )

    def __init__(self, job: Object, record: JobRecord, now: int) -> None:
        self.job = job
        self.spec: Object = job["spec"]
        self.status: Object = job.get("status") or {}
        self.record = record
        self.now = now
        self.marked = "deletionTimestamp" in job["metadata"]
        self.terminating = record.terminating
        self.countable = dict(record.countable) if record.countable else record.countable
        self.succeeded_pods: list[Object] = []
        self.failed_pods: list[Object] = []
        self.succeeded_indexes: Intervals = ()
        #: None unless each index has its own limit.
        self.failed_indexes: Intervals | None = None
        #: Failed pods that are kept until their index has a new one, which takes over their count of failures.
        self.replaces: dict[int, Object] = {}
        self.succeeded: int = self.status.get("succeeded", 0)
        self.failed: int = self.status.get("failed", 0)
        self.failures: Failures = record.failures
        if self.countable or self.status.get("uncountedTerminatedPods"):
            self._see_what_ended()
            self.failures = record.failures.after(self.succeeded_pods, self.failed_pods)
        if record.indexed:
            self._see_indexes()

    def is_lost(self, pod: Object) -> bool:
        phase = pod["status"].get("phase")
        if phase == "Failed":
            return True
        marked = "deletionTimestamp" in pod["metadata"] and phase != "Succeeded"
        return marked and self.spec.get("podReplacementPolicy") != "Failed"

    def has_valid_index(self, pod: Object) -> bool:
        if not self.record.indexed:
            return True
        index = index_of(pod)
        return index is not None and index < self.spec["completions"]

    def _see_what_ended(self) -> None:
        uncounted = self.status.get("uncountedTerminatedPods") or {}
        before, lost_before = uncounted.get("succeeded") or (), uncounted.get("failed") or ()
        for uid, pod in self.countable.items():
            if uid in before or uid in lost_before or not self.has_valid_index(pod):
                continue
            if pod["status"].get("phase") == "Succeeded":
                self.succeeded_pods.append(pod)
            elif self.is_lost(pod):
                self.failed_pods.append(pod)
        policy = self.spec.get("podFailurePolicy")
        counted = len(self.failed_pods)
        if policy is not None:
            counted = sum(judge_failure(policy, pod).counts for pod in self.failed_pods)
        self.succeeded += len(self.succeeded_pods) + len(before)
        self.failed += counted + len(lost_before)

    def _see_indexes(self) -> None:
        completions = self.spec["completions"]
        before = parse_intervals(self.status.get("completedIndexes", ""), completions)
        new = [(index, index) for pod in self.succeeded_pods if (index := index_of(pod)) is not None]
        self.succeeded_indexes = intervals(before, new) if new else before
        self.succeeded = total(self.succeeded_indexes)
        if self.spec.get("backoffLimitPerIndex") is not None:
            failed = [
                (index, index)
                for pod in self.failed_pods
                if (index := index_of(pod)) is not None and self._gives_index_up(pod)
            ]
            self.failed_indexes = intervals(parse_intervals(self.status.get("failedIndexes", ""), completions), failed)
            self._see_replaced()

    def _gives_index_up(self, pod: Object) -> bool:
        verdict = judge_failure(self.spec.get("podFailurePolicy"), pod)
        if verdict.action == "FailIndex":
            return True
        limit: int = self.spec["backoffLimitPerIndex"]
        return verdict.counts and failure_count(pod) >= limit

    def _see_replaced(self) -> None:
        assert self.failed_indexes is not None
        for pod in self.failed_pods:
            index = index_of(pod)
            assert index is not None
            if (
                index in self.record.active_indexes
                or contains(self.succeeded_indexes, index)
                or contains(self.failed_indexes, index)
            ):
                continue
            other = self.replaces.get(index)
            if other is None or _rank(other) <= _rank(pod):
                self.replaces[index] = pod


def _rank(pod: Object) -> tuple[int, int]:
    return failure_count(pod) + failure_count(pod, _IGNORED), finished_at(pod)
