"""Conditions and states of AppWrappers, written as MCAD writes them.

A *status* goes through states by pure functions here, each of which answers a new status. Names, reasons and messages
are MCAD's own, be they consistent or not (`Succeeded` is the one count with a capital letter); times are in
microseconds. Conditions are only ever added or stamped anew, never taken away, and their status is always True. The
*sender* says where in the controller a status was written.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.timestamps import parse_rfc3339, rfc3339_micro
from ghostfleet.dispatchers.mcad.amounts import Amounts

__all__ = [
    "COMPLETED",
    "DELETED",
    "FAILED",
    "HOLD",
    "NO_QUOTA",
    "NO_ROOM",
    "PENDING",
    "RUNNING",
    "PodCounts",
    "backed_off",
    "completed",
    "counted",
    "dispatched",
    "failed",
    "first_seen",
    "has_condition",
    "head_of_line",
    "held",
    "last_condition",
    "may_run",
    "micro_time",
    "preempted",
    "queued",
    "running",
    "sent",
    "without_counts",
]

PENDING, RUNNING, DELETED = "Pending", "Running", "Deleted"
FAILED, COMPLETED, HOLD = "Failed", "Completed", "RunningHoldCompletion"

NO_ROOM = "Insufficient resources to dispatch AppWrapper."
NO_QUOTA = "Insufficient quota to dispatch AppWrapper."
#: Fields that are left out when they are zero, false or empty, as Go leaves them out.
_OMITTED = frozenset(
    (
        "systempriority",
        "pending",
        "running",
        "Succeeded",
        "failed",
        "canrun",
        "local",
        "totalcpu",
        "totalmemory",
        "totalgpu",
    )
)
_LARGEST_INT32 = 2**31


class PodCounts:
    """The pods of a wrapper, counted by phase, and what the running ones ask for."""

    __slots__ = ("failed", "pending", "running", "succeeded", "used")

    def __init__(self) -> None:
        self.pending = self.running = self.succeeded = self.failed = 0
        self.used = Amounts()


def micro_time(status: Object, field: str) -> int | None:
    """A time in the status, in microseconds; None when it is not set."""
    text = status.get(field)
    return parse_rfc3339(text) if text else None


def _condition(kind: str, now: int, reason: str = "", message: str = "") -> Object:
    stamp = rfc3339_micro(now)
    made: Object = {"type": kind, "status": "True", "lastUpdateMicroTime": stamp, "lastTransitionMicroTime": stamp}
    if reason:
        made["reason"] = reason
    if message:
        made["message"] = message
    return made


def _changed(status: Object, **fields: Any) -> Object:
    changed = {**status, **fields}
    return {key: value for key, value in changed.items() if value or key not in _OMITTED}


def _with(status: Object, condition: Object, **fields: Any) -> Object:
    return _changed(status, conditions=[*(status.get("conditions") or ()), condition], **fields)


def _stamped(status: Object, condition: Object, **fields: Any) -> Object:
    """With the condition in the place of the one of its type and reason, or at the end."""
    conditions = list(status.get("conditions") or ())
    for index, each in enumerate(conditions):
        if each["type"] == condition["type"] and each.get("reason") == condition.get("reason"):
            conditions[index] = condition
            return _changed(status, conditions=conditions, **fields)
    return _with(status, condition, **fields)


def _once(status: Object, condition: Object, **fields: Any) -> Object:
    """With the condition, unless there is the very same already, whatever its time."""
    known = any(
        all(each.get(field) == condition.get(field) for field in ("type", "reason", "message"))
        for each in status.get("conditions") or ()
    )
    return _changed(status, **fields) if known else _with(status, condition, **fields)


def has_condition(status: Object, kind: str, reason: str = "") -> bool:
    return any(
        each["type"] == kind and (not reason or each.get("reason") == reason) for each in status.get("conditions") or ()
    )


def last_condition(status: Object, kind: str = "") -> int | None:
    """When the last condition, of this type or of any, came about."""
    for each in reversed(status.get("conditions") or ()):
        if not kind or each["type"] == kind:
            return parse_rfc3339(each["lastTransitionMicroTime"])
    return None


def sent(status: Object, place: str) -> Object:
    """The status with the place in the controller that sends it."""
    return {**status, "sender": f"before {place}"}


def first_seen(status: Object, priority: float, now: int) -> Object:
    first = _with(status, _condition("Init", now), queuejobstate="Init", systempriority=priority)
    return {**first, "controllerfirsttimestamp": rfc3339_micro(now)}


def queued(status: Object, now: int) -> Object:
    fields: Object = {"state": PENDING, "filterignore": True}
    if not has_condition(status, "Queueing", "AwaitingHeadOfLine"):
        fields["queuejobstate"] = "Queueing"
    return _stamped(status, _condition("Queueing", now, "AwaitingHeadOfLine"), **fields)


def head_of_line(status: Object, now: int) -> Object:
    condition = _condition("HeadOfLine", now, "FrontOfQueue.")
    return _once(status, condition, queuejobstate="HeadOfLine", filterignore=True)


def backed_off(status: Object, now: int, reason: str, message: str) -> Object:
    condition = _condition("Backoff", now, reason, message)
    return _once(status, condition, queuejobstate="Backoff", filterignore=True)


def may_run(status: Object) -> Object:
    return _changed(status, canrun=True, filterignore=True)


def dispatched(status: Object, now: int) -> Object:
    rest = {key: value for key, value in status.items() if key != "pendingpodconditions"}
    condition = _condition("Dispatched", now, "AppWrapperRunnable")
    return _stamped(rest, condition, state=RUNNING, queuejobstate="Dispatched", filterignore=True)


def failed(status: Object, now: int, message: str, *, may_run: bool) -> Object:
    """Failed by an item that could not be created; the same failure twice in a row is told once."""
    conditions = status.get("conditions") or ()
    condition = _condition("Failed", now, "ItemCreationFailure.", message)
    fields: Object = {"state": FAILED, "queuejobstate": "Failed", "canrun": may_run, "filterignore": True}
    last = conditions[-1] if conditions else {}
    if last.get("type") == "Failed" and last.get("message") == message:
        return _changed(status, **fields)
    return _with(status, condition, **fields)


def running(status: Object, now: int) -> Object:
    return _with(status, _condition("Running", now, "PodsRunning"), queuejobstate="Running", filterignore=True)


def held(status: Object, now: int) -> Object:
    fields: Object = {"state": HOLD}
    if not has_condition(status, "RunningHoldCompletion", "SomeItemsCompleted"):
        fields |= {"queuejobstate": "RunningHoldCompletion", "filterignore": True}
    return _stamped(status, _condition("RunningHoldCompletion", now, "SomeItemsCompleted"), **fields)


def completed(status: Object, now: int) -> Object:
    fields: Object = {"state": COMPLETED, "canrun": False}
    if not has_condition(status, "Completed", "PodsCompleted"):
        fields |= {"queuejobstate": "Completed", "filterignore": True}
    return _stamped(status, _condition("Completed", now, "PodsCompleted"), **fields)


def preempted(status: Object, now: int, reason: str, message: str, **fields: Any) -> Object:
    """May run no longer, for this reason; a reason that is not new loses its message."""
    if has_condition(status, "PreemptCandidate", reason) and reason != "PodsFailedScheduling":
        message = ""
    condition = _condition("PreemptCandidate", now, reason, message)
    return _stamped(status, condition, canrun=False, **fields)


def counted(status: Object, counts: PodCounts, unscheduled: list[Object], *, overflows: bool) -> Object:
    """With the counts of the wrapper's pods, and the conditions of those that found no node."""
    memory = counts.used.memory
    if overflows:
        # A 32-bit number holds it.
        memory = (memory + _LARGEST_INT32) % (2 * _LARGEST_INT32) - _LARGEST_INT32
    fields: Object = {
        "pending": counts.pending,
        "running": counts.running,
        "Succeeded": counts.succeeded,
        "failed": counts.failed,
        "totalcpu": counts.used.cpu,
        "totalmemory": memory,
        "totalgpu": counts.used.gpu,
    }
    if unscheduled:
        fields["pendingpodconditions"] = unscheduled
        return _changed(status, **fields)
    rest = {key: value for key, value in status.items() if key != "pendingpodconditions"}
    return _changed(rest, **fields)


def without_counts(status: Object) -> Object:
    """Without the counts of pods, as after the items were deleted."""
    return _changed(status, pending=0, running=0, Succeeded=0, failed=0)
