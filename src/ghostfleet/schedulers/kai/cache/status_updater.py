"""The status updater: what KAI's scheduler tells about jobs that wait, and about pods that must go.

Pods that wait have a PodScheduled condition that is false, their pod group a scheduling condition, and both have
events (NVIDIA/KAI-Scheduler pkg/scheduler/cache/status_updater). What was said already is not said again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.kai.conditions import with_scheduling_condition
from ghostfleet.controllers.kai.constants import POD_GROUPS
from ghostfleet.controllers.pods import with_condition
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.schedulers.kai.cache.podgroups import LAST_START, STALE
from ghostfleet.schedulers.kai.cache.queues import QUEUE_DOES_NOT_EXIST, queue_problem
from ghostfleet.schedulers.kai.fit_errors import (
    DEFAULT_POD_ERROR,
    DEFAULT_POD_GROUP_ERROR,
    JobFitError,
    detailed_message,
)
from ghostfleet.schedulers.kai.pod_status import GATED, PENDING
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.queue_info import QueueInfo
from ghostfleet.schedulers.kai.resources import go_float
from ghostfleet.schedulers.kai.subgroup_info import DEFAULT_SUB_GROUP

__all__ = ["JobStatus", "StatusUpdater", "job_statuses"]

Key = tuple[str, str]
#: Does a write when the client's rate limit lets it.
Client = Callable[[Callable[[], None]], None]


class JobStatus(NamedTuple):
    """What is to be told about a job after a cycle."""

    key: Key
    #: By uid of the pods that wait.
    pods: Mapping[str, str]
    #: Why it is not looked at yet; "" when it was.
    not_ready: str
    message: str
    reasons: tuple[JobFitError, ...]
    has_pods: bool
    stale: str
    annotations: Mapping[str, str | None]


def job_statuses(jobs: Iterable[PodGroupInfo], queues: Mapping[str, QueueInfo]) -> list[JobStatus]:
    """What is to be told about jobs, as the last action of a cycle leaves them."""
    told = []
    for job in jobs:
        waits = PENDING in job.status_index or GATED in job.status_index
        if waits or job.stale_since is not None or job.last_start is not None:
            told.append(_job_status(job, queues, waits))
    return told


def _job_status(job: PodGroupInfo, queues: Mapping[str, QueueInfo], waits: bool) -> JobStatus:
    errors = job.fit_errors
    problem = queue_problem(queues, job.queue) if waits else ""
    if problem:
        errors = [JobFitError(QUEUE_DOES_NOT_EXIST, (problem,))]
    usual = problem or (detailed_message(errors) if errors else "")
    pods = {uid: usual if problem else job.task_errors.get(uid) or usual or DEFAULT_POD_ERROR for uid in job.pending}
    stale = ""
    if job.stale:
        least = sum(pod_set.min_available for pod_set in job.pod_sets.values())
        stale = f"Job is stale. {job.num_active_used} pods are active, minMember is {least}"
    return JobStatus(
        (job.namespace, job.name),
        pods if waits else {},
        _not_ready(job) if waits and not problem and not job.is_ready else "",
        (usual or DEFAULT_POD_GROUP_ERROR) if waits else "",
        tuple(errors),
        job.active_allocated_count > 0,
        stale,
        {LAST_START: _stamp(job.last_start), STALE: _stamp(job.stale_since)},
    )


def _not_ready(job: PodGroupInfo) -> str:
    told = ["Job is not ready for scheduling."]
    for pod_set in job.pod_sets.values():
        where = "" if pod_set.name == DEFAULT_SUB_GROUP else f" for SubGroup {pod_set.name}"
        if not pod_set.is_ready:
            there = f"currently {pod_set.alive} exist, {pod_set.waiting[GATED]} are gated"
            told.append(f"Waiting for {pod_set.min_available} pods{where}, {there}{'.' if where else ''}")
    return " ".join(told)


def _stamp(seconds: float | None) -> str | None:
    return None if seconds is None else rfc3339(int(seconds * SECOND))


class StatusUpdater:
    """Writes it; a write that waits for the client says what is true when its turn comes."""

    def __init__(
        self, store: Store, recorder: EventRecorder, pods: Client, groups: Client, pool: str = "default"
    ) -> None:
        self._store = store
        self._pool = pool
        self._recorder = recorder
        self._pods = pods
        self._groups = groups
        self._waiting_pods: dict[str, tuple[Key, str]] = {}
        self._waiting_groups: dict[Key, JobStatus] = {}
        self._told: dict[Key, str] = {}

    def update(self, statuses: Iterable[JobStatus], pods: Callable[[str], Object | None]) -> None:
        """Tell what became of jobs; `pods` finds a pod by its uid."""
        self._told = {key: said for key, said in self._told.items() if self._store.find(POD_GROUPS, *key) is not None}
        for each in statuses:
            group = self._store.find(POD_GROUPS, *each.key)
            if group is None:
                continue
            if each.stale:
                self._tell(group, "StaleJob", each.stale)
            if each.not_ready:
                self._tell(group, "NotReady", each.not_ready)
            else:
                for uid, message in each.pods.items():
                    pod = pods(uid)
                    if pod is not None:
                        self.mark_pod(pod, message)
                if each.message:
                    self._tell(group, "Unschedulable", each.message)
            if each.key in self._waiting_groups:
                self._waiting_groups[each.key] = each
            elif self._changed(group, each) is not None:
                self._waiting_groups[each.key] = each
                self._groups(partial(self._write_group, each.key))

    def _tell(self, group: Object, reason: str, message: str) -> None:
        key = (group["metadata"]["namespace"], group["metadata"]["name"])
        if self._told.get(key) != message:
            self._told[key] = message
            self._recorder.normal(group, reason, message)

    # -- pods --------------------------------------------------------------------------------------------------------

    def mark_pod(self, pod: Object, message: str) -> None:
        """A pod gets no node now."""
        metadata = pod["metadata"]
        uid = metadata["uid"]
        is_queued = uid in self._waiting_pods
        if not is_queued and _said(pod) == message:
            return
        self._waiting_pods[uid] = ((metadata["namespace"], metadata["name"]), message)
        if not is_queued:
            self._pods(partial(self._write_pod, uid))

    def forget_pod(self, uid: str) -> None:
        """A pod gets a node: what was to be said of it is no longer true."""
        self._waiting_pods.pop(uid, None)

    def _write_pod(self, uid: str) -> None:
        key, message = self._waiting_pods.pop(uid, (("", ""), ""))
        pod = self._store.find("pods", *key) if message else None
        if pod is None or pod["metadata"]["uid"] != uid or pod["spec"].get("nodeName") or _said(pod) == message:
            return
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": rfc3339(self._store.clock.now()),
            "reason": "Unschedulable",
            "message": message,
        }
        status = pod["status"]
        conditions = with_condition(status.get("conditions") or (), condition)
        self._store.set_status("pods", pod, {**status, "conditions": conditions})
        self._recorder.warning(pod, "Unschedulable", message)

    # -- pod groups --------------------------------------------------------------------------------------------------

    def _write_group(self, key: Key) -> None:
        told = self._waiting_groups.pop(key)
        group = self._store.find(POD_GROUPS, *key)
        changed = self._changed(group, told) if group is not None else None
        if changed is not None:
            self._store.update(POD_GROUPS, changed)

    def _changed(self, group: Object, told: JobStatus) -> Object | None:
        """A group with what is to be told; None when it says so already."""
        before = group["metadata"].get("annotations") or {}
        notes = {name: value for name, value in before.items() if name not in told.annotations}
        notes |= {name: value for name, value in told.annotations.items() if value is not None}
        status: Object | None = None
        if told.message and not told.not_ready and not told.has_pods:
            now = rfc3339(self._store.clock.now())
            reasons = _reasons(told.reasons)
            status = with_scheduling_condition(
                group.get("status") or {}, told.message, reasons, now=now, pool=self._pool
            )
        if notes == before and status is None:
            return None
        changed = {**group, "metadata": {**group["metadata"], "annotations": notes}}
        return changed if status is None else {**changed, "status": status}


def _said(pod: Object) -> str | None:
    """Why a pod waits, as it says."""
    for condition in pod["status"].get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("message"))
    return None


def _reasons(errors: Iterable[JobFitError]) -> list[Object]:
    reasons: list[Object] = []
    for error in errors:
        reason: Object = {"reason": error.reason, "message": ", ".join(error.messages)}
        if error.details:
            reason["details"] = {"queueDetails": _queue_details(error.details)}
        reasons.append(reason)
    return reasons


def _queue_details(details: Mapping[str, Any]) -> Object:
    """Figures of a queue as the API writes amounts."""
    return {
        field: {name: go_float(amount) for name, amount in told.items()} if isinstance(told, Mapping) else told
        for field, told in details.items()
    }
