"""Endings of a PyTorchJob that its run policy asks for: limits, what is cleaned up, and how long it is kept.

A *limit* is the number of restarts that a job may have, or the time for which it may be active. What is *cleaned up*
when a job ends are its pods, with their services: all, those that have not ended, or none.
"""

from __future__ import annotations

from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.kubeflow.records import TrainingJobRecord
from ghostfleet.controllers.kubeflow.status import JobStatus
from ghostfleet.controllers.pods import delete_pod, is_active
from ghostfleet.controllers.requests import Request, Steps, delete
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.store import Reader
from ghostfleet.core.timestamps import parse_rfc3339

__all__ = ["clean_up", "decide_limit", "time_to_deadline", "time_to_live"]


def decide_limit(job: Object, record: TrainingJobRecord, status: JobStatus, now: int) -> str:
    """Why the job must end now; empty when it need not."""
    name = job["metadata"]["name"]
    limit = (job["spec"].get("runPolicy") or {}).get("backoffLimit")
    if limit is not None and _is_past(limit, record, status):
        return f"Job {name} has failed because it has reached the specified backoff limit"
    left = time_to_deadline(job, status, now)
    if left is not None and left <= 0:
        return f"Job {name} has failed because it was active longer than specified deadline"
    return ""


def _is_past(limit: int, record: TrainingJobRecord, status: JobStatus) -> bool:
    restarts = record.restarts()
    if restarts and restarts >= limit:
        return True
    if limit:
        return False
    failed = sum(len(record.failed_pods(role)) for role in record.roles)
    active = sum(map(is_active, record.pods.values()))
    return failed > status.failures() and active != sum(role.size for role in record.roles)


def time_to_deadline(job: Object, status: JobStatus, now: int) -> int | None:
    """Microseconds until the job has been active for too long; None when it may be for ever."""
    seconds = (job["spec"].get("runPolicy") or {}).get("activeDeadlineSeconds")
    if seconds is None or status.start_time is None:
        return None
    return parse_rfc3339(status.start_time) + int(seconds) * SECOND - now


def time_to_live(job: Object, status: JobStatus, now: int) -> int | None:
    """Microseconds until a finished job is to go; None when it stays."""
    seconds = (job["spec"].get("runPolicy") or {}).get("ttlSecondsAfterFinished")
    if seconds is None or status.completion_time is None:
        return None
    return parse_rfc3339(status.completion_time) + int(seconds) * SECOND - now


def clean_up(store: Reader, recorder: EventRecorder, job: Object, record: TrainingJobRecord, which: str) -> Steps:
    """Delete the job's pods, those that have not ended or all of them, and their services."""
    if which not in ("All", "Running"):
        return
    for pod in list(record.pods.values()):
        metadata = pod["metadata"]
        if which == "Running" and pod["status"].get("phase") not in ("Running", "Pending"):
            continue
        if (yield Request("delete", "pods", delete_pod, pod)):
            recorder.normal(job, "SuccessfulDeletePod", f"Deleted pod: {metadata['name']}")
        if store.find("services", metadata["namespace"], metadata["name"]) is not None:
            yield delete("services", metadata["namespace"], metadata["name"])
            recorder.normal(job, "SuccessfulDeleteService", f"Deleted service: {metadata['name']}")
