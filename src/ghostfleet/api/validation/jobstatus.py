"""A Job's status: since a Job may be managed by others than its controller, its parts must agree.

What is said about a part is only judged when the part changes, so that a status that was wrong before does not stand
in the way of other changes. *Finished* is a Job with the condition Complete or Failed.
"""

from __future__ import annotations

from ghostfleet.api.validation.checks import Errors, Object, WithoutValue, non_negative
from ghostfleet.api.validation.structs import Layout, Shown, shown
from ghostfleet.core.errors import FieldError

__all__ = ["job_status"]

_UNCOUNTED: Layout = (("Succeeded", "succeeded", None), ("Failed", "failed", None))
_COUNTERS = ("active", "succeeded", "failed", "ready", "terminating")


class _Status:
    """A Job's status, with what its conditions say."""

    def __init__(self, job: Object) -> None:
        self.fields: Object = job.get("status") or {}
        listed = self.fields.get("conditions") or ()
        self.true = {one.get("type", "") for one in listed if one.get("status") == "True"}
        self.false = {one.get("type", "") for one in listed if one.get("status") == "False"}
        self.finished = bool(self.true & {"Complete", "Failed"})

    def count(self, name: str) -> int:
        found: int = self.fields.get(name) or 0
        return found

    @property
    def uncounted(self) -> Object:
        pods: Object = self.fields.get("uncountedTerminatedPods") or {}
        return pods


def job_status(errors: Errors, new: Object, old: Object) -> None:
    """What is wrong with a status that is to take the place of another."""
    status, before, spec = _Status(new), _Status(old), new.get("spec") or {}
    changed = {
        name for name in status.fields.keys() | before.fields if status.fields.get(name) != before.fields.get(name)
    }
    turned = status.true ^ before.true
    for counter in _COUNTERS:
        non_negative(errors, f"status.{counter}", status.fields.get(counter))
    _uncounted(errors, status.uncounted)
    _exclusions(errors, status, turned)
    _times(errors, status, changed, turned)
    _announcements(errors, status, turned)
    _finished(errors, spec, status, changed, before)
    _indexes(errors, spec, status, changed)
    if changed & {"ready", "active"} and status.count("ready") > status.count("active"):
        errors.append(
            FieldError.invalid("status.ready", status.count("ready"), "cannot set more ready pods than active")
        )
    _criteria(errors, status)
    _past(errors, spec, status, before)


def _uncounted(errors: Errors, pods: Object) -> None:
    seen = set()
    for sort in ("succeeded", "failed"):
        for number, uid in enumerate(pods.get(sort) or ()):
            place = f"status.uncountedTerminatedPods.{sort}[{number}]"
            if not uid:
                errors.append(FieldError.invalid(place, uid, "must not be empty"))
            elif uid in seen:
                errors.append(FieldError.duplicate(place, uid))
            seen.add(uid)


def _exclusions(errors: Errors, status: _Status, turned: set[str]) -> None:
    if "Complete" not in status.true:
        return
    if turned & {"Complete", "Failed"} and "Failed" in status.true:
        _condition(errors, "cannot set Complete=True and Failed=true conditions")
    if turned & {"Complete", "FailureTarget"} and "FailureTarget" in status.true:
        _condition(errors, "cannot set Complete=True and FailureTarget=true conditions")


def _announcements(errors: Errors, status: _Status, turned: set[str]) -> None:
    """A Job's end is announced before all its pods are gone, and stays announced."""
    if "Failed" in turned & status.true and "FailureTarget" not in status.true:
        _condition(errors, "cannot set Failed=True condition without the FailureTarget=true condition")
    complete = "Complete" in status.true and bool(turned & {"Complete", "SuccessCriteriaMet"})
    if complete and "SuccessCriteriaMet" not in status.true:
        _condition(errors, "cannot set Complete=True condition without the SuccessCriteriaMet=true condition")


def _criteria(errors: Errors, status: _Status) -> None:
    if "SuccessCriteriaMet" in status.true:
        for other in ("Failed", "FailureTarget"):
            if other in status.true:
                _condition(errors, f"cannot set SuccessCriteriaMet=True and {other}=true conditions")


def _condition(errors: Errors, why: str) -> None:
    errors.append(WithoutValue("Invalid value", "status.conditions", None, why))


def _times(errors: Errors, status: _Status, changed: set[str], turned: set[str]) -> None:
    start, completion = status.fields.get("startTime"), status.fields.get("completionTime")
    if "Complete" in turned or "completionTime" in changed:
        if completion and "Complete" not in status.true:
            why = "cannot set completionTime when there is no Complete=True condition"
            errors.append(FieldError.invalid("status.completionTime", completion, why))
        if not completion and "Complete" in status.true:
            errors.append(FieldError.required("status.completionTime", "completionTime is required for Complete jobs"))
    # Both are written in the same form, so that the order of the texts is that of the times.
    if changed & {"startTime", "completionTime"} and start and completion and completion < start:
        errors.append(FieldError.invalid("status.completionTime", completion, "must be equal to or after `startTime`"))


def _finished(errors: Errors, spec: Object, status: _Status, changed: set[str], before: _Status) -> None:
    """What a finished Job has no more, and what it must have."""
    if not status.finished:
        return
    ended = not before.finished
    if (ended or "active" in changed) and status.count("active") > 0:
        why = "active>0 is invalid for finished job"
        errors.append(FieldError.invalid("status.active", status.count("active"), why))
    never_began = spec.get("suspend") is True and spec.get("completions") == 0
    if (ended or "startTime" in changed) and not never_began and not status.fields.get("startTime"):
        errors.append(FieldError.required("status.startTime", "startTime is required for finished job"))
    if (ended or "uncountedTerminatedPods" in changed) and any(status.uncounted.values()):
        pods = shown(status.uncounted, _UNCOUNTED)
        errors.append(Shown("Invalid value", "status.uncountedTerminatedPods", pods, "must be empty for finished job"))
    if (ended or "terminating" in changed) and status.count("terminating") > 0:
        why = "terminating>0 is invalid for finished job"
        errors.append(FieldError.invalid("status.terminating", status.count("terminating"), why))


def _indexes(errors: Errors, spec: Object, status: _Status, changed: set[str]) -> None:
    completed, failed = status.fields.get("completedIndexes") or "", status.fields.get("failedIndexes")
    if "completedIndexes" in changed and completed and spec.get("completionMode") != "Indexed":
        why = "cannot set non-empty completedIndexes when non-indexed completion mode"
        errors.append(FieldError.invalid("status.completedIndexes", completed, why))
    if "failedIndexes" in changed and failed is not None and spec.get("backoffLimitPerIndex") is None:
        why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        errors.append(FieldError.invalid("status.failedIndexes", failed, why))


def _past(errors: Errors, spec: Object, status: _Status, before: _Status) -> None:
    """What may not be taken back."""
    for lost in ("Failed", "Complete", "FailureTarget"):
        if lost in before.true and lost not in status.true:
            _condition(errors, f"cannot disable the terminal {lost}=True condition")
    may_shrink = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    for counter in ("failed",) if may_shrink else ("failed", "succeeded"):
        if status.count(counter) < before.count(counter):
            why = f"cannot decrease the {counter} counter"
            errors.append(FieldError.invalid(f"status.{counter}", status.count(counter), why))
    completion, completed = status.fields.get("completionTime"), before.fields.get("completionTime")
    if completion and completed and completion != completed:
        errors.append(FieldError.invalid("status.completionTime", completion, "field is immutable"))
    start, started = status.fields.get("startTime"), before.fields.get("startTime")
    resumed = "Suspended" in before.true and "Suspended" in status.false
    if started and start != started and not spec.get("suspend") and not resumed:
        errors.append(FieldError.invalid("status.startTime", start, "field is immutable for unsuspended job once set"))
    if "SuccessCriteriaMet" in before.true and "SuccessCriteriaMet" not in status.true:
        _condition(errors, "cannot disable the SuccessCriteriaMet=True condition")
    if "Complete" in before.true and "SuccessCriteriaMet" in status.true - before.true:
        _condition(errors, "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
