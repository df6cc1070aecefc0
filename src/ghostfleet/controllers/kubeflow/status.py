"""The status of a PyTorchJob: conditions, counts by role, when it began and ended.

Conditions tell the job's story in order: Created, Running (or Restarting, which takes its place), Suspended, and
Succeeded or Failed, after which Running is no longer true and nothing changes a failed job any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ghostfleet.controllers.kubeflow.records import ReplicaStatus
from ghostfleet.controllers.kubeflow.replicas import Role
from ghostfleet.core.changes import Object

__all__ = ["JobStatus", "is_finished"]

_KIND = "PyTorchJob"
_EXCLUSIVE = {"Restarting": "Running", "Running": "Restarting"}


def _is(conditions: list[Object], kind: str) -> bool:
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)


def is_finished(job: Object) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or []
    return _is(conditions, "Succeeded") or _is(conditions, "Failed")


class JobStatus:
    """A job's status, being rewritten."""

    __slots__ = ("_conditions", "_now", "_old", "_rest")

    def __init__(self, job: Object, now: str) -> None:
        self._old: Object = job.get("status") or {}
        self._now = now
        self._conditions: list[Object] = list(self._old.get("conditions") or ())
        self._rest = {field: value for field, value in self._old.items() if field != "conditions"}

    def has(self, kind: str) -> bool:
        return _is(self._conditions, kind)

    def put(self, kind: str, message: str, *, value: bool = True, reason: str = "") -> None:
        """Set a condition; one that is the same already stays as it is."""
        if self.has("Failed"):
            return
        text, reason = "True" if value else "False", f"{_KIND}{reason or kind}"
        known = next((each for each in self._conditions if each["type"] == kind), None)
        since = self._now
        if known is not None and known["status"] == text:
            if known["reason"] == reason:
                return
            since = known["lastTransitionTime"]
        replaced = (kind, _EXCLUSIVE.get(kind))
        kept = [each for each in self._conditions if each["type"] not in replaced]
        if kind in ("Succeeded", "Failed"):
            kept = [{**each, "status": "False"} if each["type"] == "Running" else each for each in kept]
        fresh = {
            "type": kind,
            "status": text,
            "reason": reason,
            "message": message,
            "lastUpdateTime": self._now,
            "lastTransitionTime": since,
        }
        self._conditions = [*kept, fresh]

    def begin(self, *, anew: bool = False) -> None:
        """The job starts now, unless it has."""
        if anew or "startTime" not in self._rest:
            self._rest["startTime"] = self._now

    def end(self) -> None:
        """The job ends now, unless it has."""
        self._rest.setdefault("completionTime", self._now)

    def count(self, job: str, roles: Iterable[Role], tallies: Mapping[str, ReplicaStatus]) -> None:
        """Write down how many replicas of each role are in which state."""
        self._rest["replicaStatuses"] = {
            role.type: {
                **{state: number for state, number in tallies[role.type]._asdict().items() if number},
                "selector": role.selector(job),
            }
            for role in roles
        }

    def settle(self) -> None:
        """No replica of a finished job is active: those of one that succeeded have succeeded with it."""
        statuses = {}
        for kind, status in (self._rest.get("replicaStatuses") or {}).items():
            rest = {state: number for state, number in status.items() if state != "active"}
            if status.get("active") and self.has("Succeeded"):
                rest["succeeded"] = status.get("succeeded", 0) + status["active"]
            statuses[kind] = rest if self.has("Succeeded") else status
        if statuses:
            self._rest["replicaStatuses"] = statuses

    def stop(self) -> None:
        """No replica of a suspended job is active."""
        statuses = self._rest.get("replicaStatuses") or {}
        self._rest["replicaStatuses"] = {
            kind: {state: number for state, number in status.items() if state != "active"}
            for kind, status in statuses.items()
        }

    def failures(self) -> int:
        """How many replicas had failed when the status was last written."""
        return sum(status.get("failed", 0) for status in (self._old.get("replicaStatuses") or {}).values())

    @property
    def start_time(self) -> str | None:
        found: str | None = self._rest.get("startTime")
        return found

    @property
    def completion_time(self) -> str | None:
        found: str | None = self._rest.get("completionTime")
        return found

    def to_object(self) -> Object | None:
        """The status as it is now; None when nothing has changed."""
        new = {"conditions": self._conditions, **self._rest}
        new.setdefault("replicaStatuses", {})
        return new if new != self._old else None
