"""Measurements of Jobs: that they finish, and how long they take.

WaitForFinishedJobs waits for the Jobs that were there when it gathers; those that have finished and were removed in the
meantime count as finished. JobLifecycleLatency takes the moments at which a watch tells of a Job's creation, its start
and its completion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ghostfleet.clusterloader.measurements.measurement import (
    DONE,
    Context,
    MeasurementError,
    Outcome,
    unknown_action,
)
from ghostfleet.clusterloader.measurements.pending import explained
from ghostfleet.clusterloader.measurements.selecting import ObjectSelector
from ghostfleet.clusterloader.measurements.waiting import until
from ghostfleet.clusterloader.params import Params
from ghostfleet.clusterloader.summaries import Summary, latency_item, latency_metric, perf_data
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.drive.interface import JOBS

__all__ = ["JobLifecycleLatency", "WaitForFinishedJobs"]

_TIMEOUT = 600 * SECOND
_SHOWN = 20


@dataclass(slots=True)
class _Job:
    """When a Job came to each point; 0 where it has not."""

    name: str
    uid: str
    create: int
    start: int = 0
    complete: int = 0
    finished: bool = False


class _Jobs:
    """The Jobs that a selector finds."""

    def __init__(self) -> None:
        self.jobs: dict[str, _Job] = {}
        self._selector = ObjectSelector()
        self._stop: Callable[[], None] | None = None

    @property
    def running(self) -> bool:
        return self._stop is not None

    def watch(self, context: Context, params: Params) -> None:
        if self._stop is None:
            self._selector = ObjectSelector.read(params)
            self._stop = self._selector.watch(context.cluster, JOBS, self._seen)

    def begin(self, context: Context, params: Params) -> bool:
        """Whether the action is to start, which is then done; to gather needs a start before."""
        action = params.text("action")
        if action == "start":
            self.watch(context, params)
            return True
        if action != "gather":
            raise unknown_action(action, "start", "gather")
        if not self.running:
            raise MeasurementError("the measurement was not started")
        return False

    async def catch_up(self, context: Context) -> None:
        """Take up what is there now, which a watch over a network may not have told of yet."""
        for job in await context.cluster.list(JOBS, self._selector.namespace, self._selector.labels):
            if self._selector.matches(JOBS, job):
                self._seen(context.cluster.now(), "ADDED", job)

    def stop(self) -> None:
        if self._stop is not None:
            self._stop()
            self._stop = None

    def _seen(self, time: int, event: str, job: Object) -> None:
        metadata, status = job["metadata"], job.get("status") or {}
        uid = metadata["uid"]
        known = self.jobs.get(uid)
        if known is None:
            if event == "DELETED":
                return
            known = self.jobs[uid] = _Job(f"{metadata['namespace']}/{metadata['name']}", uid, time)
        if not known.start and status.get("startTime"):
            known.start = time
        ended = {each["type"] for each in status.get("conditions") or () if each["status"] == "True"}
        if "Complete" in ended and not known.complete:
            known.complete = time
        known.finished = known.finished or not ended.isdisjoint(("Complete", "Failed"))
        if event == "DELETED" and not known.finished:
            # Somebody has given it up: nobody has to wait for it.
            del self.jobs[uid]


class WaitForFinishedJobs:
    """See the module."""

    def __init__(self) -> None:
        self._jobs = _Jobs()

    async def execute(self, context: Context, params: Params) -> Outcome:
        if self._jobs.begin(context, params):
            return DONE
        timeout = params.duration("timeout", _TIMEOUT)
        await self._jobs.catch_up(context)
        wanted = list(self._jobs.jobs.values())
        there = self._jobs.jobs

        def left() -> list[_Job]:
            return [job for job in wanted if not job.finished and job.uid in there]

        def done() -> bool:
            rest = len(left())
            context.advance("Jobs finished", len(wanted) - rest, len(wanted))
            return not rest

        if await until(context.cluster, done, context.cluster.now() + timeout):
            self._jobs.stop()
            return DONE
        names = [job.name for job in left()]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        message = f"{len(names)} Jobs timed out: {', '.join(names[:_SHOWN])}{more}"
        owners = {job.uid for job in left()}
        return Outcome(errors=[await explained(context, message, lambda pod: _is_of(pod, owners))])

    def dispose(self) -> None:
        self._jobs.stop()


def _is_of(pod: Object, owners: set[str]) -> bool:
    return any(each["uid"] in owners for each in pod["metadata"].get("ownerReferences") or ())


class JobLifecycleLatency:
    """See the module."""

    def __init__(self) -> None:
        self._jobs = _Jobs()

    async def execute(self, context: Context, params: Params) -> Outcome:
        if self._jobs.begin(context, params):
            return DONE
        timeout = params.duration("timeout", _TIMEOUT)
        jobs = self._jobs.jobs
        complete = await until(
            context.cluster,
            lambda: all(job.complete for job in jobs.values()),
            context.cluster.now() + timeout,
        )
        self._jobs.stop()
        started = latency_metric(job.start - job.create for job in jobs.values() if job.start)
        completed = latency_metric(job.complete - job.start for job in jobs.values() if job.complete)
        items = [latency_item("create_to_start", started), latency_item("start_to_complete", completed)]
        now = context.cluster.now()
        lacking = sum(not job.complete for job in jobs.values())
        notes = () if complete else (f"{lacking} of {len(jobs)} Jobs were not complete; they are left out",)
        return Outcome(
            [Summary(f"JobLifecycleLatency_{context.identifier}", "json", perf_data(items), now)], notes=notes
        )

    def dispose(self) -> None:
        self._jobs.stop()
