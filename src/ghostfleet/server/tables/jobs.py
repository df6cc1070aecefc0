"""Jobs and cron jobs in one line.

A job's status word is the first of its conditions that says how it ends; without any, it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.timestamps import age
from ghostfleet.server.tables.cells import (
    age_of,
    container_images,
    container_names,
    created,
    is_true,
    items,
    moment,
    name_of,
    part,
    selector_text,
)
from ghostfleet.server.tables.printers import (
    AGE,
    CONTAINERS,
    IMAGES,
    NAME,
    SELECTOR,
    Cell,
    Printers,
    boolean,
    integer,
    text,
)

__all__ = ["JOBS"]

JOBS = Printers()

#: What a job says of itself, most telling first.
_JOB_WORDS = ("Complete", "Failed", "Terminating", "Suspended", "FailureTarget", "SuccessCriteriaMet")


def _job_word(job: Object) -> str:
    deleted = bool(part(job, "metadata").get("deletionTimestamp"))
    for word in _JOB_WORDS:
        if deleted if word == "Terminating" else is_true(job, word):
            return word
    return "Running"


def _completions(job: Object) -> str:
    spec, succeeded = part(job, "spec"), part(job, "status").get("succeeded") or 0
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(job: Object, now: int) -> str:
    status = part(job, "status")
    started, completed = moment(status.get("startTime")), moment(status.get("completionTime"))
    if started is None:
        return ""
    return age((now if completed is None else completed) - started)


@JOBS.of(
    "jobs.batch",
    NAME,
    text("Status", "Whether the job runs, is complete or failed."),
    text("Completions", "Pods that succeeded, of those needed."),
    text("Duration", "Time the job took, or has run so far."),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
)
def job(obj: Object, now: int) -> list[Cell]:
    spec = part(obj, "spec")
    template = part(spec, "template")
    return [
        name_of(obj),
        _job_word(obj),
        _completions(obj),
        _duration(obj, now),
        created(obj, now),
        container_names(template),
        container_images(template),
        selector_text(spec.get("selector")),
    ]


def _last_schedule(status: Mapping[str, Any], now: int) -> str:
    last = status.get("lastScheduleTime")
    return age_of(last, now) if last else "<none>"


@JOBS.of(
    "cronjobs.batch",
    NAME,
    text("Schedule", "When jobs are made, in cron format."),
    text("Timezone", "Time zone of the schedule."),
    boolean("Suspend", "Whether no new jobs are made."),
    integer("Active", "Jobs that run now."),
    text("Last Schedule", "Time since the last job was made."),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
)
def cron_job(obj: Object, now: int) -> list[Cell]:
    spec, status = part(obj, "spec"), part(obj, "status")
    job_spec = part(spec, "jobTemplate", "spec")
    template = part(job_spec, "template")
    suspend = spec.get("suspend")
    return [
        name_of(obj),
        spec.get("schedule") or "",
        "<none>" if spec.get("timeZone") is None else spec["timeZone"],
        "<unset>" if suspend is None else str(suspend),
        len(items(status, "active")),
        _last_schedule(status, now),
        created(obj, now),
        container_names(template),
        container_images(template),
        selector_text(job_spec.get("selector")),
    ]
