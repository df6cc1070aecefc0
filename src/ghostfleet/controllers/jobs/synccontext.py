"""The context of a sync (syncJobCtx of the Job controller): what is the case with a Job when the sync starts, and
whether that ends it.

Which pods have ended and are still to be counted, how many successes and failures that makes, which indexes are
through. A pod is *lost* when it failed or, unless only ended pods are to be replaced, when it is marked: it may never
get to its end.

An *ending* is the interim condition with which a Job begins to end: FailureTarget or SuccessCriteriaMet, with its
reason. Reasons to fail are looked at in Kubernetes' order, and what was decided once stays decided.
"""

from __future__ import annotations

from typing import NamedTuple

from ghostfleet.controllers.jobs.indexes import Intervals, contains, index_of, intervals, parse_intervals, total
from ghostfleet.controllers.jobs.policies import judge_failure, met_success_rule
from ghostfleet.controllers.jobs.records import IGNORED_COUNT, Failures, JobRecord, failure_count, finished_at
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.timestamps import parse_rfc3339

__all__ = ["COMPLETED", "Ending", "SyncContext", "deadline_in", "decide_ending", "is_complete"]


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
    return failure_count(pod) + failure_count(pod, IGNORED_COUNT), finished_at(pod)


class Ending(NamedTuple):
    """An interim condition, and with it the final one."""

    type: str
    reason: str
    message: str

    @property
    def fails(self) -> bool:
        return self.type == "FailureTarget"

    @property
    def final(self) -> str:
        return "Failed" if self.type == "FailureTarget" else "Complete"


def _failure(reason: str, message: str) -> Ending:
    return Ending("FailureTarget", reason, message)


COMPLETED = Ending("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods")
_TOO_MANY_FAILURES = _failure("BackoffLimitExceeded", "Job has reached the specified backoff limit")
_TOO_LONG = _failure("DeadlineExceeded", "Job was active longer than specified deadline")
_TOO_MANY_INDEXES = _failure(
    "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
)
_FAILED_INDEXES = _failure("FailedIndexes", "Job has failed indexes")


def decide_ending(context: SyncContext) -> Ending | None:
    """The ending of a Job; None when it goes on, as far as its pods' number is not asked."""
    if (
        context.record.plain
        and not context.failed
        and not context.record.restarts
        and "conditions" not in context.status
    ):
        return None
    for condition in context.status.get("conditions") or ():
        if condition["type"] in ("SuccessCriteriaMet", "FailureTarget") and condition["status"] == "True":
            return Ending(condition["type"], condition.get("reason", ""), condition.get("message", ""))
    return _failure_by_policy(context) or _failure_by_count(context) or _ending_by_index(context)


def _failure_by_policy(context: SyncContext) -> Ending | None:
    policy = context.spec.get("podFailurePolicy")
    if policy is not None:
        for pod in context.failed_pods:
            message = judge_failure(policy, pod).message
            if message:
                return _failure("PodFailurePolicy", message)
    return None


def _failure_by_count(context: SyncContext) -> Ending | None:
    limit = context.spec["backoffLimit"]
    if context.failed > limit:
        return _TOO_MANY_FAILURES
    if context.record.restarts:
        restarts = sum(context.record.restarts.values())
        if restarts >= max(limit, 1):
            return _TOO_MANY_FAILURES
    left = deadline_in(context)
    return _TOO_LONG if left is not None and left <= 0 else None


def deadline_in(context: SyncContext) -> int | None:
    """Microseconds until the Job has been active for too long; None when it may be so forever."""
    deadline = context.spec.get("activeDeadlineSeconds")
    if deadline is None or context.spec.get("suspend"):
        return None
    started = context.status.get("startTime")
    left: int = deadline * SECOND + (parse_rfc3339(started) - context.now if started else 0)
    return left


def _ending_by_index(context: SyncContext) -> Ending | None:
    if not context.record.indexed:
        return None
    completions = context.spec["completions"]
    if context.failed_indexes is not None:
        lost, most = total(context.failed_indexes), context.spec.get("maxFailedIndexes")
        if most is not None and lost > most:
            return _TOO_MANY_INDEXES
        if lost and lost + context.succeeded >= completions:
            return _FAILED_INDEXES
    rule = met_success_rule(context.spec.get("successPolicy"), completions, context.succeeded_indexes)
    return None if rule is None else Ending("SuccessCriteriaMet", "SuccessPolicy", f"Matched rules at index {rule}")


def is_complete(context: SyncContext) -> bool:
    """Whether enough pods have succeeded, and none is left that could still."""
    if context.record.active:
        return False
    completions = context.spec.get("completions")
    return context.succeeded >= (1 if completions is None else int(completions))
