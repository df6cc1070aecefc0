"""The Job controller, which looks at Jobs when they or their pods change, and the one that removes them afterwards.

A new or changed Job is looked at at once; changes of its pods are gathered for a *batch period* first, so that many of
them make one status. Where the client's rate keeps Jobs waiting in line, any change of a Job's status or of its pods
gives it a place there, as in Kubernetes, though there may be nothing to do when its turn comes: for what happens until
then it need not wait again. Pods that carry the Jobs' finalizer but have no unfinished Job any more are *orphans*:
nobody will count them, so the finalizer just goes.

Finished Jobs with a time to live *expire* when it is over: they are deleted, and their pods with them.
"""

from __future__ import annotations

from ghostfleet.api.deleting import FOREGROUND_FINALIZER
from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.jobs.accounting import Accounting
from ghostfleet.controllers.jobs.limits import job_limits
from ghostfleet.controllers.jobs.podmanagement import PodManager, release
from ghostfleet.controllers.jobs.records import FINALIZER, JOBS, JobRecord, is_finished
from ghostfleet.controllers.jobs.shortcut import Shortcut
from ghostfleet.controllers.jobs.synccontext import COMPLETED, SyncContext, deadline_in, decide_ending, is_complete
from ghostfleet.controllers.pods import PodCreator, controller_of, removal
from ghostfleet.controllers.repairing import is_overwritten
from ghostfleet.controllers.requests import Request, Steps, delete
from ghostfleet.controllers.routing import PodRoutes
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.errors import ApiError
from ghostfleet.core.profile import Profile
from ghostfleet.core.ratelimit import ItemExponentialBackoff
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.timestamps import parse_rfc3339

__all__ = ["JobController", "JobExpiry"]

_NAME = "kubernetes.io/job-controller"

Key = tuple[str, str]


class JobController:
    """Runs the Jobs of one store."""

    def __init__(self, store: Store, routes: PodRoutes, creator: PodCreator, profile: Profile) -> None:
        client = profile.api_client("kube-controller-manager", "Job controller")
        self._store: Reader = store
        self._creator = creator
        self._limits = job_limits(profile)
        self._recorder = EventRecorder(store, "job-controller", profile, client)
        #: Only where nothing can happen between two requests.
        self._shortcut = None
        if client is None and not self._limits.interim_status:
            self._shortcut = Shortcut(store, creator, self._recorder, criteria=self._limits.success_criteria)
        #: Places in the line count.
        self._waits = client is not None
        self._records: dict[str, JobRecord] = {}
        workers = profile.number("job.workers")
        base, limit = profile.duration("job.api-backoff"), profile.duration("job.api-backoff-limit")
        self._workers: Workers[Key] = Workers(
            store, self._sync, count=workers, client=client, retry=ItemExponentialBackoff(base, limit)
        )
        self._orphans: Workers[Key] = Workers(
            store, self._free_orphan, count=workers, client=client, retry=ItemExponentialBackoff(base, limit)
        )
        for job in store.list(JOBS):
            self._begin(job)
        store.listen(JOBS, self._notice, status=self._waits)
        routes.to("batch/v1", "Job", self._take)
        routes.adopters(self._take_orphan)

    # -- taking note -------------------------------------------------------------------------------------------------

    def _begin(self, job: Object) -> None:
        if not is_finished(job) and job["spec"].get("managedBy", _NAME) == _NAME:
            record = JobRecord(job)
            self._records[job["metadata"]["uid"]] = record
            self._workers.add(record.key)

    def _notice(self, change: Change) -> None:
        new, old = change.new, change.old
        if old is None:
            assert new is not None
            self._begin(new)
        elif new is None:
            self._end(old["metadata"]["uid"])
        else:
            record = self._records.get(new["metadata"]["uid"])
            if record is None:
                return
            if new["metadata"].get("generation") != old["metadata"].get("generation"):
                record.look_at(new["spec"])
                self._workers.add(record.key)
            elif not is_finished(new) if self._waits else is_overwritten(change):
                self._workers.add_after(record.key, self._limits.batch_period)

    def _end(self, uid: str) -> None:
        """Forget a Job that is finished or gone; what pods it still holds are orphans."""
        record = self._records.pop(uid, None)
        if record is not None:
            for pod in record.countable.values():
                self._take_orphan(pod)
            for pod in record.active_pods():
                self._take_orphan(pod)

    def _take(self, owner: Object, old: Object | None, new: Object | None) -> None:
        record = self._records.get(owner["uid"])
        if record is None:
            if new is not None:
                self._take_orphan(new)
            return
        pod = new if new is not None else old
        assert pod is not None
        differs = record.note(pod["metadata"]["uid"], new)
        if self._waits or (differs and not record.own_write):
            self._workers.add_after(record.key, self._limits.batch_period)

    def _take_orphan(self, pod: Object) -> None:
        metadata = pod["metadata"]
        if FINALIZER in metadata.get("finalizers", ()):
            self._orphans.add((metadata["namespace"], metadata["name"]))

    # -- acting ------------------------------------------------------------------------------------------------------

    def _free_orphan(self, key: Key) -> Steps:
        pod = self._store.find("pods", *key)
        if pod is None or FINALIZER not in pod["metadata"].get("finalizers", ()):
            return
        owner = controller_of(pod)
        if owner is not None:
            if (owner["apiVersion"], owner["kind"]) != ("batch/v1", "Job") or owner["uid"] in self._records:
                return
            job = self._store.find(JOBS, key[0], owner["name"])
            if job is not None and job["metadata"]["uid"] == owner["uid"] and not is_finished(job):
                return
        yield Request("patch", "pods", release, pod)

    def _sync(self, key: Key) -> Steps | None:
        job = self._store.find(JOBS, *key)
        record = self._records.get(job["metadata"]["uid"]) if job is not None else None
        if job is None or record is None:
            return None
        if record.single and self._shortcut is not None and self._shortcut.take(job, record):
            if record.finished:
                self._end(job["metadata"]["uid"])
            return None
        return self._sync_fully(key, job, record)

    def _sync_fully(self, key: Key, job: Object, record: JobRecord) -> Steps:
        context = SyncContext(job, record, self._store.clock.now())
        accounting = Accounting(self._recorder, self._limits, context)
        accounting.start()
        ending = decide_ending(context)
        countable = context.countable
        failure: ApiError | None = None
        if ending is not None:
            active = record.active_pods()
            yield [removal(job, pod, self._recorder) for pod in active]
            accounting.note_numbers(0, 0, context.terminating + len(active))
            if active:
                countable = {**countable, **{pod["metadata"]["uid"]: pod for pod in active}}
        else:
            pod_manager = PodManager(self._creator, self._recorder, self._limits, context)
            if not context.marked:
                try:
                    yield from pod_manager.manage()
                except ApiError as error:
                    failure = error
                if pod_manager.wait is not None:
                    self._workers.add_after(key, max(pod_manager.wait, self._limits.batch_period))
            if is_complete(context):
                ending = COMPLETED
            elif not context.marked:
                accounting.note_suspension()
            accounting.note_numbers(record.active, record.ready, context.terminating + pod_manager.removed)
            left = deadline_in(context)
            if left is not None:
                self._workers.add_after(key, left)
        yield from accounting.close(ending, countable)
        if accounting.finished:
            self._end(job["metadata"]["uid"])
        elif accounting.unfinished:
            self._workers.add_after(key, self._limits.batch_period)
        if failure is not None:
            raise failure


class JobExpiry:
    """Deletes the expired Jobs of one store."""

    def __init__(self, store: Store, profile: Profile) -> None:
        self._store: Reader = store
        self._workers: Workers[Key] = Workers(
            store,
            self._sync,
            count=profile.number("job-expiry.workers"),
            client=profile.api_client("kube-controller-manager", "Job expiry controller"),
        )
        for job in store.list(JOBS):
            self._consider(job)
        store.listen(JOBS, self._notice)

    def _notice(self, change: Change) -> None:
        if change.new is not None:
            self._consider(change.new)

    def _consider(self, job: Object) -> None:
        if "ttlSecondsAfterFinished" in job["spec"] and "deletionTimestamp" not in job["metadata"] and is_finished(job):
            metadata = job["metadata"]
            self._workers.add_after((metadata["namespace"], metadata["name"]), self._left(job))

    def _left(self, job: Object) -> int:
        """Microseconds until the Job expires."""
        ended = max(
            parse_rfc3339(each["lastTransitionTime"])
            for each in job["status"]["conditions"]
            if each["type"] in ("Complete", "Failed") and each["status"] == "True"
        )
        life: int = job["spec"]["ttlSecondsAfterFinished"] * SECOND
        return ended + life - self._store.clock.now()

    def _sync(self, key: Key) -> Steps:
        job = self._store.find(JOBS, *key)
        if job is None or not is_finished(job) or job["spec"].get("ttlSecondsAfterFinished") is None:
            return
        left = self._left(job)
        if left > 0:
            self._workers.add_after(key, left)
            return
        if "deletionTimestamp" not in job["metadata"]:
            yield delete(JOBS, *key, uid=job["metadata"]["uid"], finalizer=FOREGROUND_FINALIZER)
