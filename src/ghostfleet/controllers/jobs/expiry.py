"""Expiry: finished Jobs with a time to live go when it is over, and their pods with them."""

from __future__ import annotations

from ghostfleet.api.deleting import FOREGROUND_FINALIZER
from ghostfleet.controllers.jobs.records import JOBS, is_finished
from ghostfleet.controllers.requests import Steps, delete
from ghostfleet.controllers.workers import Workers
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Reader, Store
from ghostfleet.core.timestamps import parse_rfc3339

__all__ = ["JobExpiry"]


class JobExpiry:
    """Deletes the expired Jobs of one store."""

    def __init__(self, store: Store, profile: Profile) -> None:
        self._store: Reader = store
        self._workers: Workers[tuple[str, str]] = Workers(
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

    def _sync(self, key: tuple[str, str]) -> Steps:
        job = self._store.find(JOBS, *key)
        if job is None or not is_finished(job) or job["spec"].get("ttlSecondsAfterFinished") is None:
            return
        left = self._left(job)
        if left > 0:
            self._workers.add_after(key, left)
            return
        if "deletionTimestamp" not in job["metadata"]:
            yield delete(JOBS, *key, uid=job["metadata"]["uid"], finalizer=FOREGROUND_FINALIZER)
