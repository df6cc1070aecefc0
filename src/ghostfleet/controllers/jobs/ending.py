"""Endings: whether a Job fails, is done, or goes on.

An *ending* is the interim condition with which a Job begins to end: FailureTarget or SuccessCriteriaMet, with its
reason. Reasons to fail are looked at in Kubernetes' order, and what was decided once stays decided.
"""

from __future__ import annotations

from typing import NamedTuple

from ghostfleet.controllers.jobs.indexes import total
from ghostfleet.controllers.jobs.policies import judge_failure, met_success_rule
from ghostfleet.controllers.jobs.synccontext import SyncContext
from ghostfleet.core.clock import SECOND
from ghostfleet.core.timestamps import parse_rfc3339

__all__ = ["COMPLETED", "Ending", "deadline_in", "decide_ending", "is_complete"]


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
