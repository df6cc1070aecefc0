"""Requeuing: when a dispatched wrapper has to give its place back.

A wrapper that asks for a minimum of pods and has fewer of them running or succeeded for too long is *requeued*: its
items are deleted and it waits again, longer each time by its rule of growth. One that has been requeued too often is
given up (`Deleted`), one that runs past its deadline has failed. The versions differ in where they keep count: in the
*spec* itself, in the *status* from zero on, so that the first wait comes twice, or *counted* right.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.profile import Profile
from ghostfleet.dispatchers.mcad.conditions import (
    COMPLETED,
    DELETED,
    FAILED,
    PENDING,
    RUNNING,
    last_condition,
    micro_time,
    preempted,
)
from ghostfleet.dispatchers.mcad.wrapper import Requeuing, Wrapper

__all__ = ["Ruling", "judge", "waits"]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What becomes of a wrapper: its new status, and why."""

    status: Object
    reason: str
    message: str
    #: The requeuing stanza to be written to the spec, where counts are kept there.
    requeuing: Requeuing | None = None

    @property
    def ends(self) -> bool:
        """Whether it is not tried again."""
        return self.status["state"] in (FAILED, DELETED)


def judge(wrapper: Wrapper, status: Object, now: int, profile: Profile) -> Ruling | None:
    """The ruling on a wrapper, if there is one to make now. The status must have the counts of its pods."""
    state = status.get("state")
    if state in (None, "", PENDING, COMPLETED, DELETED, FAILED):
        return None
    if state == RUNNING and wrapper.limit and _is_over(wrapper, status, now, profile):
        message = f"Dispatch deadline exceeded. allowed to run for {wrapper.limit} seconds"
        ended = preempted(
            status, now, "DispatchDeadlineExceeded", message, state=FAILED, queuejobstate="Failed", running=0
        )
        return Ruling(ended, "DispatchDeadlineExceeded", message)
    running, succeeded = status.get("running", 0), status.get("Succeeded", 0)
    if running + succeeded >= wrapper.min_available:
        return _unscheduled(status, now)
    if state != RUNNING or now < _since(status) + waits(wrapper, status, profile) * SECOND:
        return None
    message = (
        f"Insufficient number of Running and Completed pods, minimum={wrapper.min_available}, "
        f"running={running}, completed={succeeded}."
    )
    fields, requeuing = _grown(wrapper.requeuing, status, profile)
    return Ruling(
        preempted(status, now, "MinPodsNotRunning", message, **fields), "MinPodsNotRunning", message, requeuing
    )


def _is_over(wrapper: Wrapper, status: Object, now: int, profile: Profile) -> bool:
    first = micro_time(status, "controllerfirstdispatchtimestamp")
    if first is None or profile.switch("defect.deadline-at-once"):
        # A time that was never set is long past.
        return profile.figure("machine") != "events"
    return now >= first + wrapper.limit * SECOND


def _unscheduled(status: Object, now: int) -> Ruling | None:
    waiting = status.get("pendingpodconditions")
    if not waiting:
        return None
    message = f"Pods failed scheduling failed={len(waiting)}, running={status.get('running', 0)}."
    return Ruling(preempted(status, now, "PodsFailedScheduling", message), "PodsFailedScheduling", message)


def _since(status: Object) -> int:
    return max(last_condition(status, "Dispatched") or 0, last_condition(status) or 0)


def waits(wrapper: Wrapper, status: Object, profile: Profile) -> int:
    """Seconds that a wrapper may be short of pods."""
    rule, kept = wrapper.requeuing, profile.figure("requeue.growth")
    if kept == "spec":
        return rule.time
    if kept == "status":
        return int(status.get("requeueingTimeInSeconds") or rule.initial or rule.time)
    number = int(status.get("numberOfRequeueings") or 0)
    grown = rule.time
    if rule.growth == "exponential":
        grown = rule.time << min(number, 32)
    elif rule.growth == "linear":
        grown = rule.time * (number + 1)
    return min(grown, rule.longest) if rule.longest else grown


def _grown(rule: Requeuing, status: Object, profile: Profile) -> tuple[dict[str, Any], Requeuing | None]:
    """Fields of the status, and the stanza of the spec if it keeps count, after one more requeuing."""
    kept = profile.figure("requeue.growth")
    number = rule.number if kept == "spec" else int(status.get("numberOfRequeueings") or 0)
    given_up = rule.most > 0 and number == rule.most
    if profile.switch("defect.requeuings-never-end"):
        given_up = rule.most > 0 and rule.number == rule.most
    if kept == "spec":
        initial = rule.initial or rule.time
        time = rule.time + _growth(rule, rule.time, initial)
        time = min(time, rule.longest) if rule.longest else time
        if given_up:
            return {"state": DELETED}, replace(rule, time=time, initial=initial)
        return {}, replace(rule, time=time, initial=initial, number=rule.number + 1)
    fields: dict[str, Any] = {"state": DELETED} if given_up else {"numberOfRequeueings": number + 1}
    if kept == "status":
        before = int(status.get("requeueingTimeInSeconds") or 0)
        time = before + _growth(rule, before or rule.time, rule.initial or rule.time)
        fields["requeueingTimeInSeconds"] = min(time, rule.longest) if rule.longest else time
    return fields, None


def _growth(rule: Requeuing, doubled: int, added: int) -> int:
    if rule.growth == "exponential":
        return doubled
    return added if rule.growth == "linear" else 0
