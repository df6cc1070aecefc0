"""Following: the jobs of one kind, each with a record that is kept as the job and its pods change.

A *record* is what a controller knows of a job's pods without looking at them again. It is made when the job comes,
told when the job's spec or one of its pods changes, and dropped when the job goes; whenever that makes a difference,
the job's key is added to the controller's work. Pods that the controller makes itself are no news to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from ghostfleet.controllers.repairing import is_overwritten
from ghostfleet.controllers.routing import PodRoutes
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.store import Reader

__all__ = ["Followed", "FollowedRecord", "Key"]

Key = tuple[str, str]


class FollowedRecord(Protocol):
    """What a controller knows of one job."""

    key: Key
    #: The controller is creating a pod itself, and needs no reminder of it.
    own_write: bool

    def look_at(self, job: Object) -> None:
        """Take note of a changed spec."""

    def note(self, pod: Object, *, gone: bool) -> bool:
        """Take note of a pod's new state; true when the job is to be looked at again."""


R = TypeVar("R", bound=FollowedRecord)


class Followed(Generic[R]):
    """The jobs of one store that are stored as `resource`, and that pods know as `owner`: their version and kind."""

    def __init__(
        self,
        store: Reader,
        routes: PodRoutes,
        resource: str,
        owner: tuple[str, str],
        make: Callable[[Object], R | None],
        add: Callable[[Key], None],
    ) -> None:
        self._store = store
        self._resource = resource
        self._make = make
        self._add = add
        self._records: dict[str, R] = {}
        for job in store.list(resource):
            self._begin(job)
        store.listen(resource, self._notice, status=False)
        routes.to(*owner, self._take)

    def find(self, key: Key) -> tuple[Object, R] | None:
        """A job and its record; None when it is gone or on its way out, or has no record."""
        job = self._store.find(self._resource, *key)
        record = self._records.get(job["metadata"]["uid"]) if job is not None else None
        if job is None or record is None or "deletionTimestamp" in job["metadata"]:
            return None
        return job, record

    def forget(self, job: Object) -> None:
        """Drop the record of a job that has ended."""
        self._records.pop(job["metadata"]["uid"], None)

    def _begin(self, job: Object) -> None:
        record = self._make(job)
        if record is not None:
            self._records[job["metadata"]["uid"]] = record
            self._add(record.key)

    def _notice(self, change: Change) -> None:
        new, old = change.new, change.old
        if old is None:
            assert new is not None
            self._begin(new)
        elif new is None:
            self.forget(old)
        elif new["spec"] is not old["spec"] or is_overwritten(change):
            record = self._records.get(new["metadata"]["uid"])
            if record is not None:
                record.look_at(new)
                self._add(record.key)

    def _take(self, owner: Object, old: Object | None, new: Object | None) -> None:
        record = self._records.get(owner["uid"])
        pod = new if new is not None else old
        if record is not None and pod is not None and record.note(pod, gone=new is None) and not record.own_write:
            self._add(record.key)
