"""The scale test: submit, record and sample in one go.

The recorder begins before the first submission, so it sees every step. When all is submitted the test *waits* until
the workloads have ended (or run, where they do not end by themselves). It gives up when nothing has changed for as long
as its *patience* lasts, in cluster time: workloads that can never be placed would keep it for ever.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from ghostfleet.core.clock import SECOND, real_seconds
from ghostfleet.core.ratelimit import Saturated, saturated_since
from ghostfleet.drive.interface import Cluster
from ghostfleet.lab.deviceoccupancy import DeviceOccupancy
from ghostfleet.lab.directory import RunDirectory
from ghostfleet.lab.mix import Workload
from ghostfleet.lab.occupancy import GpuOccupancy
from ghostfleet.lab.plan import Plan
from ghostfleet.lab.progress import Progress
from ghostfleet.lab.queuehistory import QueueHistory
from ghostfleet.lab.recorder import TimelineRecorder
from ghostfleet.lab.records import Run
from ghostfleet.lab.sample import Sampled, sample
from ghostfleet.lab.submit import Submitter
from ghostfleet.stages.distributions import parse_distribution

__all__ = ["Tested", "follow", "patience_of", "scale_test"]

_STEP = SECOND
_LEAST_PATIENCE = 600 * SECOND
#: A draw that is hardly ever exceeded.
_LONG_DRAW = 0.999


@dataclass(slots=True)
class Tested:
    """What came of a test."""

    run: Run
    sampled: Sampled
    submitted: int
    failed: int
    finished: int
    #: Whether it ended because nothing changed any more.
    gave_up: bool
    #: Cluster time from the first submission to the last mark, in microseconds.
    modelled: int
    #: Real microseconds for all of it.
    real: int


def patience_of(plan: Plan) -> int:
    """How long nothing may change before a test gives up, in microseconds of cluster time."""
    workloads = plan.workloads()
    return _LEAST_PATIENCE + max(_longest(each) for each in (workloads if plan.mix else workloads[:1]))


def _longest(workload: Workload) -> int:
    """How long its pods run, or where each of them draws for itself, hardly any does."""
    if workload.duration is not None:
        return workload.duration
    return parse_distribution(workload.runtime)(_LONG_DRAW) if workload.runtime else 0


async def scale_test(
    cluster: Cluster,
    directory: RunDirectory,
    submitter: Submitter,
    progress: Progress,
    patience: int,
) -> Tested:
    """Submit a run, record it until it has ended, and sample it. Ctrl-C keeps what was seen until then."""
    started, began = real_seconds(), cluster.now()
    run = submitter.run
    before = await cluster.saturation()
    async with _recording(cluster, directory, run, submitter.workloads) as recorder:
        await submitter.submit()
        gave_up = not await _wait(cluster, recorder, submitter.submitted, progress, patience)
    run.limits = await _limits(cluster, before)
    marks = dict(recorder.marks())
    sampled = await sample(cluster, directory, run.kinds(), events=run.pvc, marks=marks)
    real = real_seconds() - started
    run.labSeconds = round(real, 6)
    directory.write_run(run)
    return Tested(
        run,
        sampled,
        submitter.submitted,
        submitter.failed,
        recorder.finished,
        gave_up,
        recorder.changed - began,
        int(real * SECOND),
    )


async def follow(cluster: Cluster, directory: RunDirectory, run: Run, progress: Progress, patience: int) -> bool:
    """Record a run that another process submits, until it has ended; false when nothing changed any more."""
    before = await cluster.saturation()
    async with _recording(cluster, directory, run, run.workloads()) as recorder:
        while (current := directory.run() or run).state != "submitted":
            progress.begin("following", run.count)
            progress.advance(recorder.settled, _note(recorder))
            recorder.write()
            await cluster.sleep(_STEP)
        count = len([each for each in directory.submissions() if not each.error])
        settled = await _wait(cluster, recorder, count, progress, patience)
    current.limits = await _limits(cluster, before)
    directory.write_run(current)
    return settled


@asynccontextmanager
async def _recording(
    cluster: Cluster, directory: RunDirectory, run: Run, workloads: Sequence[Workload]
) -> AsyncIterator[TimelineRecorder]:
    """Record the steps of a run's workloads and the use of the cluster's GPUs and queues, and write all down."""
    timeline = directory.timeline()
    recorder = TimelineRecorder(cluster, run.run, workloads, timeline)
    namespaces = {each.namespace for each in workloads}
    occupancy, devices = GpuOccupancy(cluster, namespaces, recorder.owns), DeviceOccupancy(cluster, namespaces)
    queues = QueueHistory(cluster)
    try:
        await recorder.start(claims=run.pvc)
        await occupancy.start()
        await queues.start()
        await devices.start()
        yield recorder
    finally:
        recorder.stop()
        timeline.close()
        occupancy.stop()
        queues.stop()
        devices.stop()
        if recorder.seen:
            directory.add_occupancy(occupancy.written())
            if queues.seen:
                directory.add_queues(queues.written())
            if devices.seen:
                directory.add_devices(devices.written())


async def _limits(cluster: Cluster, before: Sequence[Saturated] | None) -> list[dict[str, Any]] | None:
    """Which limits of the cluster's components held things up since `before`; None on a real cluster."""
    after = await cluster.saturation()
    if before is None or after is None:
        return None
    return [each.written() for each in saturated_since(before, after)]


async def _wait(cluster: Cluster, recorder: TimelineRecorder, count: int, progress: Progress, patience: int) -> bool:
    """Let time pass until all workloads are where they stay; false when nothing changed for too long."""
    progress.begin("waiting for workloads to end or to stay", count)
    began = cluster.now()
    while not recorder.done(count):
        if cluster.now() - max(recorder.changed, began) > patience:
            return False
        progress.advance(recorder.settled, _note(recorder))
        recorder.write()
        await cluster.sleep(_STEP)
    progress.advance(count, _note(recorder))
    return True


def _note(recorder: TimelineRecorder) -> str:
    return f"{recorder.seen} seen, {recorder.running} running, {recorder.finished} ended"
