"""Cron jobs: jobs made by the clock, from a template that has no selector yet."""

from __future__ import annotations

from ghostfleet.api.validation.checks import Errors, Object, non_negative, one_of
from ghostfleet.api.validation.cron import schedule_problem
from ghostfleet.api.validation.jobs import job_spec
from ghostfleet.api.validation.rules import Rules
from ghostfleet.core.errors import FieldError

__all__ = ["RULES"]

_POLICIES = ("Allow", "Forbid", "Replace")


def _cron_job(errors: Errors, cron_job: Object) -> None:
    spec = cron_job.get("spec") or {}
    _cron_spec(errors, spec)
    name = (cron_job.get("metadata") or {}).get("name", "")
    if len(name) > 52:
        errors.append(FieldError.invalid("metadata.name", name, "must be no more than 52 characters"))


def _cron_update(errors: Errors, new: Object, _old: Object) -> None:
    _cron_spec(errors, new.get("spec") or {})


def _cron_spec(errors: Errors, spec: Object) -> None:
    schedule = spec.get("schedule", "")
    if not schedule:
        errors.append(FieldError.required("spec.schedule"))
    else:
        if problem := schedule_problem(schedule):
            errors.append(FieldError.invalid("spec.schedule", schedule, problem))
        if "TZ" in schedule:
            why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            errors.append(FieldError.invalid("spec.schedule", schedule, why))
    non_negative(errors, "spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    if "timeZone" in spec:
        _time_zone(errors, spec["timeZone"])
    one_of(errors, "spec.concurrencyPolicy", spec.get("concurrencyPolicy", ""), _POLICIES)
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    job_spec(errors, "spec.jobTemplate.spec", job)
    if "selector" in job:
        why = "`selector` will be auto-generated"
        errors.append(FieldError.invalid("spec.jobTemplate.spec.selector", job["selector"], why))
    if job.get("manualSelector"):
        errors.append(FieldError.unsupported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false")))
    for field in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        non_negative(errors, f"spec.{field}", spec.get(field))


def _time_zone(errors: Errors, zone: str) -> None:
    if not zone:
        why = "timeZone must be nil or non-empty string"
    elif zone.lower() == "local":
        why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
    elif not all(_zone_part(part) for part in zone.split("/")):
        why = f"unknown time zone {zone}"
    else:
        return
    errors.append(FieldError.invalid("spec.timeZone", zone, why))


def _zone_part(part: str) -> bool:
    letters = all(character.isascii() and (character.isalnum() or character in ".-_+") for character in part)
    return 1 <= len(part) <= 14 and letters and part not in (".", "..") and not part.startswith("-")


RULES: dict[str, Rules] = {
    "cronjobs.batch": Rules(_cron_job, update=_cron_update, again_on_update=False),
}
