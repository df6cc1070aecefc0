"""Endings: whether a Job fails, is done, or goes on.

An *ending* is the interim condition with which a Job begins to end: FailureTarget or SuccessCriteriaMet, with its
reason. Reasons to fail are looked at in Kubernetes' order, and what was decided once stays decided.
"""

from __future__ import annotations

from typing import NamedTuple

from ghostfleet.controllers.jobs.facts import JobFacts
from ghostfleet.controllers.jobs.indexes import total
from ghostfleet.controllers.jobs.policies import judge_failure, met_success_rule
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


def decide_ending(facts: JobFacts) -> Ending | None:
    """The ending of a Job; None when it goes on, as far as its pods' number is not asked."""
    if facts.record.plain and not facts.failed and not facts.record.restarts and "conditions" not in facts.status:
        return None
    for condition in facts.status.get("conditions") or ():
        if condition["type"] in ("SuccessCriteriaMet", "FailureTarget") and condition["status"] == "True":
            return Ending(condition["type"], condition.get("reason", ""), condition.get("message", ""))
    return _failure_by_policy(facts) or _failure_by_count(facts) or _ending_by_index(facts)


def _failure_by_policy(facts: JobFacts) -> Ending | None:
    policy = facts.spec.get("podFailurePolicy")
    if policy is not None:
        for pod in facts.failed_pods:
            message = judge_failure(policy, pod).message
            if message:
                return _failure("PodFailurePolicy", message)
    return None


def _failure_by_count(facts: JobFacts) -> Ending | None:
    limit = facts.spec["backoffLimit"]
    if facts.failed > limit:
        return _TOO_MANY_FAILURES
    if facts.record.restarts:
        restarts = sum(facts.record.restarts.values())
        if restarts >= max(limit, 1):
            return _TOO_MANY_FAILURES
    left = deadline_in(facts)
    return _TOO_LONG if left is not None and left <= 0 else None


def deadline_in(facts: JobFacts) -> int | None:
    """Microseconds until the Job has been active for too long; None when it may be so forever."""
    deadline = facts.spec.get("activeDeadlineSeconds")
    if deadline is None or facts.spec.get("suspend"):
        return None
    started = facts.status.get("startTime")
    left: int = deadline * SECOND + (parse_rfc3339(started) - facts.now if started else 0)
    return left


def _ending_by_index(facts: JobFacts) -> Ending | None:
    if not facts.record.indexed:
        return None
    completions = facts.spec["completions"]
    if facts.failed_indexes is not None:
        lost, most = total(facts.failed_indexes), facts.spec.get("maxFailedIndexes")
        if most is not None and lost > most:
            return _TOO_MANY_INDEXES
        if lost and lost + facts.succeeded >= completions:
            return _FAILED_INDEXES
    rule = met_success_rule(facts.spec.get("successPolicy"), completions, facts.succeeded_indexes)
    return None if rule is None else Ending("SuccessCriteriaMet", "SuccessPolicy", f"Matched rules at index {rule}")


def is_complete(facts: JobFacts) -> bool:
    """Whether enough pods have succeeded, and none is left that could still."""
    if facts.record.active:
        return False
    completions = facts.spec.get("completions")
    return facts.succeeded >= (1 if completions is None else int(completions))
