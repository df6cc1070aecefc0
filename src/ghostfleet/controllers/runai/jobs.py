"""RunaiJobs: pods that run to their end, named `<job>-<index>-<try>`.

Each index must succeed once, and is tried again after a failure: after ten seconds first, then after ever longer
waits, as with a Job of Kubernetes, until the job has failed more often than its limit allows.
"""

from __future__ import annotations

from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.following import Followed, Key
from ghostfleet.controllers.jobs.records import remaining
from ghostfleet.controllers.pods import PodCreator, removal
from ghostfleet.controllers.requests import Request, Steps, delete, update_status
from ghostfleet.controllers.routing import PodRoutes
from ghostfleet.controllers.runai.children import GROUP_NAME, JOB_NAME, RELEASE, group_name
from ghostfleet.controllers.runai.definitions import RUNAI_JOBS
from ghostfleet.controllers.runai.records import RunaiJobRecord
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.errors import ApiError
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.timestamps import parse_rfc3339, rfc3339

__all__ = ["RunaiJobController"]

_ENDED = ("Succeeded", "Failed")


class RunaiJobController:
    """Runs the RunaiJobs of one store."""

    def __init__(self, store: Store, routes: PodRoutes, creator: PodCreator, profile: Profile) -> None:
        client = profile.api_client("runai-job-controller", "RunaiJob controller")
        self._store: Reader = store
        self._creator = creator
        self._templates = creator.templates
        self._recorder = EventRecorder(store, "runaijob-controller", profile, client)
        self._backoff = profile.duration("runaijob.pod-failure-backoff")
        self._longest_backoff = profile.duration("runaijob.pod-failure-backoff-limit")
        self._workers: Workers[Key] = Workers(
            store, self._sync, count=profile.number("runaijob.workers"), client=client
        )
        self._jobs = Followed(
            store,
            routes,
            RUNAI_JOBS,
            ("run.ai/v1", "RunaiJob"),
            lambda job: RunaiJobRecord(job, store.clock),
            self._workers.add,
        )

    def _sync(self, key: Key) -> Steps:
        found = self._jobs.find(key)
        if found is None:
            return
        job, record = found
        if (job.get("status") or {}).get("phase") in _ENDED:
            yield from self._expire(job, record)
            return
        if record.failed > record.backoff_limit:
            yield from self._remove(job, record)
            condition = ("Failed", "BackoffLimitExceeded", "RunaiJob has reached the specified backoff limit")
            yield from self._report(job, record, "Failed", condition)
        elif record.succeeded >= record.completions:
            condition = ("Complete", "CompletionsReached", "Reached expected number of succeeded pods")
            yield from self._report(job, record, "Succeeded", condition)
        elif record.suspended:
            yield from self._remove(job, record)
            yield from self._report(job, record, "Suspended")
        else:
            yield from self._manage_pods(job, record)
            yield from self._report(job, record, "Running" if record.running else "Pending")

    def _manage_pods(self, job: Object, record: RunaiJobRecord) -> Steps:
        indexes = record.free_indexes()
        if not indexes:
            return
        now = self._store.clock.now()
        wait = remaining(record.failed, record.last_failure, now, self._backoff, self._longest_backoff)
        if wait:
            self._workers.add_after(record.key, wait)
            return
        for index in indexes:
            yield Request("create", "pods", self._create, job, record, index)

    def _create(self, store: Store, job: Object, record: RunaiJobRecord, index: int) -> None:
        name = job["metadata"]["name"]
        record.own_write = True
        try:
            template = self._templates.read(job["spec"]["template"])
            given = template.get("metadata", {}).get("labels") or {}
            labels = {label: name for label in (RELEASE, JOB_NAME) if label not in given}
            self._creator.create(
                store,
                job,
                template,
                name=f"{name}-{index}-{record.next_try(index)}",
                labels=labels,
                annotations={GROUP_NAME: group_name(job)},
            )
        except ApiError as error:
            self._recorder.warning(job, "FailedCreate", f"Error creating: {error.message}")
            raise
        finally:
            record.own_write = False

    def _remove(self, job: Object, record: RunaiJobRecord) -> Steps:
        for name in record.active_pods():
            pod = self._store.find("pods", record.key[0], name)
            if pod is not None:
                yield removal(job, pod, self._recorder)

    def _report(
        self, job: Object, record: RunaiJobRecord, phase: str, condition: tuple[str, str, str] | None = None
    ) -> Steps:
        """Write the job's status, if it has changed."""
        before = job.get("status") or {}
        now = rfc3339(self._store.clock.now())
        status: Object = {"phase": phase, "startTime": before.get("startTime", now)}
        counts = {"active": record.active, "succeeded": record.succeeded, "failed": record.failed}
        status |= {field: number for field, number in counts.items() if number}
        if condition is not None:
            kind, reason, message = condition
            ended = {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now}
            status |= {"completionTime": now, "conditions": [ended]}
        if status == before:
            return
        if (yield update_status(RUNAI_JOBS, job, status)) is not None and condition is not None:
            if "ttlSecondsAfterFinished" in job["spec"]:
                self._workers.add(record.key)
            else:
                self._jobs.forget(job)

    def _expire(self, job: Object, record: RunaiJobRecord) -> Steps:
        """Remove a finished job when its time is over."""
        seconds = job["spec"].get("ttlSecondsAfterFinished")
        if seconds is None:
            return
        left = parse_rfc3339(job["status"]["completionTime"]) + seconds * SECOND - self._store.clock.now()
        if left > 0:
            self._workers.add_after(record.key, left)
            return
        yield delete(RUNAI_JOBS, *record.key)
