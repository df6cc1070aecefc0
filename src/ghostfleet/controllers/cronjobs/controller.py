"""The CronJob controller: makes a Job whenever its schedule says so.

Of several times that were missed only the latest is made up for, and that only within the *starting deadline*. When
the Job before still runs, the *concurrency policy* says whether the new one runs beside it, instead of it, or not at
all. Ended Jobs beyond the limits of the history go.
"""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from ghostfleet.api.quotas import charge_quotas
from ghostfleet.api.strategy import apply_defaults, finish_create, prepare_for_create
from ghostfleet.controllers.cronjobs.schedule import CronSchedule, parse_schedule
from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.jobs.records import JOBS, condition_status, is_finished
from ghostfleet.controllers.pods import controller_of, owner_reference
from ghostfleet.controllers.repairing import wake_when_overwritten
from ghostfleet.controllers.requests import Request, Steps, update_status
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.errors import ApiError
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.subscription import Subscription
from ghostfleet.core.timestamps import parse_rfc3339, rfc3339

__all__ = ["CRONJOBS", "CronJobController"]

CRONJOBS = "cronjobs.batch"
_SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_MANY = 100

Key = tuple[str, str]


class CronJobController:
    """Runs the CronJobs of one store."""

    def __init__(self, store: Store, profile: Profile) -> None:
        client = profile.api_client("kube-controller-manager", "CronJob controller")
        self._store: Reader = store
        self._delay = profile.duration("cronjob.delay")
        self._recorder = EventRecorder(store, "cronjob-controller", profile, client)
        self._workers: Workers[Key] = Workers(store, self._sync, count=profile.number("cronjob.workers"), client=client)
        self._subscription = Subscription(lambda: store.listen(JOBS, self._notice_job))
        self._subscription.subscribe_if(store.count(CRONJOBS))
        for cron in store.list(CRONJOBS):
            self._workers.add((cron["metadata"]["namespace"], cron["metadata"]["name"]))
        store.listen(CRONJOBS, self._notice)
        wake_when_overwritten(store, CRONJOBS, self._workers.add)

    def _notice(self, change: Change) -> None:
        self._subscription.subscribe_if(self._store.count(CRONJOBS))
        new, old = change.new, change.old
        if new is not None and (old is None or new["metadata"].get("generation") != old["metadata"].get("generation")):
            self._workers.add((change.namespace, change.name))

    def _notice_job(self, change: Change) -> None:
        job = change.new if change.new is not None else change.old
        assert job is not None
        if job["metadata"].get("ownerReferences"):
            owner = controller_of(job)
            if owner is not None and owner["kind"] == "CronJob" and (change.new is None or is_finished(job)):
                self._workers.add((change.namespace, owner["name"]))

    # -- acting ------------------------------------------------------------------------------------------------------

    def _sync(self, key: Key) -> Steps:
        cron = self._store.find(CRONJOBS, *key)
        if cron is None:
            return
        status = self._seen(cron)
        failure: ApiError | None = None
        schedule = self._schedule(cron) if "deletionTimestamp" not in cron["metadata"] else None
        if schedule is not None:
            try:
                yield from self._start_due(cron, status, schedule)
            except ApiError as error:
                failure = error
        yield from self._trim(cron, status)
        if status != (cron.get("status") or {}):
            yield update_status(CRONJOBS, cron, status)
        if failure is not None:
            raise failure
        if schedule is not None:
            # Looked up again from now on: what is due by now has been seen to.
            due = schedule.next(self._store.clock.now())
            if due is not None:
                self._workers.add_after(key, due + self._delay - self._store.clock.now())

    def _jobs(self, cron: Object) -> list[Object]:
        uid = cron["metadata"]["uid"]
        jobs = (job for _, job in self._store.owned_by(uid, JOBS))
        return [job for job in jobs if (owner := controller_of(job)) is not None and owner["uid"] == uid]

    def _seen(self, cron: Object) -> Object:
        """The status, less Jobs that have ended or gone."""
        status = dict(cron.get("status") or {})
        jobs = {job["metadata"]["uid"]: job for job in self._jobs(cron)}
        active = []
        for each in status.get("active") or ():
            job = jobs.get(each.get("uid", ""))
            if job is None:
                self._recorder.normal(cron, "MissingJob", f"Active job went missing: {each.get('name', '')}")
            elif is_finished(job):
                ended = "Complete" if condition_status(job["status"], "Complete") else "Failed"
                message = f"Saw completed job: {each['name']}, condition: {ended}"
                self._recorder.normal(cron, "SawCompletedJob", message)
            else:
                active.append(each)
        _put(status, "active", active)
        times = [job["status"]["completionTime"] for job in jobs.values() if "completionTime" in job.get("status", {})]
        if times:
            status["lastSuccessfulTime"] = max([*times, status.get("lastSuccessfulTime", "")])
        return status

    def _schedule(self, cron: Object) -> CronSchedule | None:
        spec = cron["spec"]
        if spec.get("suspend"):
            return None
        try:
            return parse_schedule(spec["schedule"], spec.get("timeZone") or "")
        except KeyError as error:
            message = f'invalid timeZone: "{spec.get("timeZone")}": unknown time zone {error.args[0]}'
            self._recorder.warning(cron, "UnknownTimeZone", message)
        except ValueError as error:
            message = f'unparseable schedule: "{spec["schedule"]}" : {error}'
            self._recorder.warning(cron, "UnparseableSchedule", message)
        return None

    def _start_due(self, cron: Object, status: Object, schedule: CronSchedule) -> Steps:
        due = self._due(cron, status, schedule)
        if due is None or status.get("lastScheduleTime") == rfc3339(due):
            return
        policy = cron["spec"].get("concurrencyPolicy")
        if status.get("active") and policy == "Forbid":
            message = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._recorder.normal(cron, "JobAlreadyActive", message)
            return
        if policy == "Replace":
            for each in status.get("active") or ():
                yield Request("delete", JOBS, self._delete, cron, each["name"])
            _put(status, "active", [])
        job = yield Request("create", JOBS, self._create, cron, due)
        if job is not None:
            reference = {
                "kind": "Job",
                "apiVersion": "batch/v1",
                "namespace": job["metadata"]["namespace"],
                "name": job["metadata"]["name"],
                "uid": job["metadata"]["uid"],
                "resourceVersion": job["metadata"]["resourceVersion"],
            }
            status["active"] = [*(status.get("active") or ()), reference]
        status["lastScheduleTime"] = rfc3339(due)

    def _due(self, cron: Object, status: Object, schedule: CronSchedule) -> int | None:
        """The latest time that has come and was not seen to; None when there is none, or when it is too late for it."""
        now = self._store.clock.now()
        earliest = parse_rfc3339(status.get("lastScheduleTime") or cron["metadata"]["creationTimestamp"])
        deadline = cron["spec"].get("startingDeadlineSeconds")
        if deadline is not None:
            earliest = max(earliest, now - deadline * SECOND)
        first = schedule.next(earliest)
        if first is None or first > now:
            return None
        second = schedule.next(first)
        latest, missed = first, 1
        if second is not None and second <= now:
            period = second - first
            missed = (now - first) // period + 1
            latest = first + max(missed - 2, 0) * period
            following = schedule.next(latest - 1 if missed <= 2 else latest)
            while following is not None and following <= now:
                latest, following = following, schedule.next(following)
        if missed > _MANY:
            message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
            self._recorder.warning(cron, "TooManyMissedTimes", message)
        if deadline is not None and latest + deadline * SECOND < now:
            text = datetime.fromtimestamp(latest // SECOND, UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
            self._recorder.warning(cron, "MissSchedule", f"Missed scheduled time to start a job: {text}")
            return None
        return latest

    def _create(self, store: Store, cron: Object, due: int) -> Object | None:
        own, template = cron["metadata"], cron["spec"]["jobTemplate"]
        given = template.get("metadata") or {}
        name = f"{own['name']}-{due // SECOND // 60}"
        zone = ZoneInfo(cron["spec"]["timeZone"]) if cron["spec"].get("timeZone") else UTC
        moment = datetime.fromtimestamp(due // SECOND, UTC).astimezone(zone).isoformat()
        metadata = {
            "name": name,
            "namespace": own["namespace"],
            "uid": store.new_uid(),
            "annotations": {**(given.get("annotations") or {}), _SCHEDULED: moment.replace("+00:00", "Z")},
            "ownerReferences": [owner_reference(cron)],
        }
        if given.get("labels"):
            metadata["labels"] = given["labels"]
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"]}
        job = finish_create(JOBS, prepare_for_create(JOBS, apply_defaults(JOBS, job)))
        try:
            charge_quotas(store, JOBS, job)
            created = store.create(JOBS, job)
        except ApiError as error:
            if error.reason == "AlreadyExists":
                return None
            self._recorder.warning(cron, "FailedCreate", f"Error creating job: {error.message}")
            raise
        self._recorder.normal(cron, "SuccessfulCreate", f"Created job {name}")
        return created

    def _trim(self, cron: Object, status: Object) -> Steps:
        ended = [job for job in self._jobs(cron) if is_finished(job)]
        ended.sort(key=lambda job: (job["status"].get("startTime", "~"), job["metadata"]["name"]))
        for field, kind in (("successfulJobsHistoryLimit", "Complete"), ("failedJobsHistoryLimit", "Failed")):
            limit = cron["spec"].get(field)
            jobs = [job for job in ended if condition_status(job["status"], kind)]
            if limit is not None:
                for job in jobs[: max(len(jobs) - limit, 0)]:
                    yield Request("delete", JOBS, self._delete, cron, job["metadata"]["name"])
        _put(status, "active", status.get("active") or [])

    def _delete(self, store: Store, cron: Object, name: str) -> None:
        """Delete a Job and, in the background, its pods."""
        namespace = cron["metadata"]["namespace"]
        job = store.find(JOBS, namespace, name)
        if job is not None and "deletionTimestamp" not in job["metadata"]:
            store.delete(JOBS, namespace, name)
            self._recorder.normal(cron, "SuccessfulDelete", f"Deleted job {name}")


def _put(status: Object, field: str, value: list[Object]) -> None:
    if value:
        status[field] = value
    else:
        status.pop(field, None)
