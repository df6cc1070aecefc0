"""Experiments: the tests that are made on both clusters, and how one of them is made.

The *scale test* submits plain Jobs at a fixed rate; the *stress test* applies small Jobs one after another and polls,
as a script does. On both clusters pods live by the same stages, and the recorder marks each step of each Job.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ghostfleet.core.clock import SECOND
from ghostfleet.drive.interface import PODS, Cluster
from ghostfleet.lab.clean import clean
from ghostfleet.lab.directory import RunDirectory
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.fidelity.figures import SCRIPT, Measurement, figures_of
from ghostfleet.lab.fidelity.stalls import probed
from ghostfleet.lab.mix import Mix, WorkloadClass
from ghostfleet.lab.plan import RUN_LABEL, Plan
from ghostfleet.lab.progress import Progress
from ghostfleet.lab.recorder import TimelineRecorder
from ghostfleet.lab.scaletest import patience_of, scale_test
from ghostfleet.lab.stress import find_mode, play_trial
from ghostfleet.lab.submit import Submitter, prepare
from ghostfleet.lab.types import workload_type

__all__ = ["RATE", "STAGES", "Experiment", "Size", "experiments", "measure"]

#: How often the scale test submits a Job.
RATE = "5/s"
#: The stage set by which pods live: running after 10 to 11 seconds, done after another 10 to 11.
STAGES = "stress"
SCALE_TEST, STRESS = "scale-test", "stress"
_TEMPLATE = Path(__file__).parent.parent / "data" / "templates" / "plain-job.yaml"
#: More than are ever under way at that rate.
_PROCESSES = 32
_NAMESPACE = "default"
_MODE = "kwok"
#: For how long the last steps may be on their way to the recorder when the script has seen them.
_LAG = 10 * SECOND
_STEP = SECOND // 10


class Size(NamedTuple):
    """So many Jobs on so many nodes."""

    jobs: int
    nodes: int

    def __str__(self) -> str:
        return f"{self.jobs:,} Jobs on {self.nodes:,} node{'s' if self.nodes != 1 else ''}"


class Experiment(NamedTuple):
    """One test of one size."""

    test: str
    jobs: int
    nodes: int

    def __str__(self) -> str:
        return f"{self.test}, {Size(self.jobs, self.nodes)}"


def experiments(sizes: Iterable[Size]) -> list[Experiment]:
    """Both tests for each size, the smaller ones first."""
    return [Experiment(test, *size) for size in sorted(set(sizes)) for test in (SCALE_TEST, STRESS)]


def measure(
    cluster: Cluster,
    experiment: Experiment,
    directory: RunDirectory,
    progress: Progress,
    *,
    seed: int = 0,
    keep: bool = True,
) -> Measurement:
    """Make one experiment on a cluster; what was recorded stays in the directory, the Jobs only if they are to."""
    directory.make()
    directory.clear()
    test = _scale_test if experiment.test == SCALE_TEST else _stress
    work = test(cluster, experiment.jobs, directory, progress, seed)
    try:
        if cluster.info.clock == "virtual":
            seconds, stalled = cluster.run(work), 0.0
        else:
            seconds, stalled = cluster.run(probed(cluster, work))
    finally:
        if not keep:
            cluster.run(_remove(cluster, _run(experiment.test, experiment.jobs, directory), progress))
    marks = directory.marks().values()
    complete = sum("finished" in each for each in marks)
    if complete < experiment.jobs:
        raise LabError(f"{experiment}: only {complete:,} were seen to complete; {directory.path} has what was recorded")
    return Measurement(*experiment, figures_of(marks) | seconds, stalled)


async def _scale_test(
    cluster: Cluster, jobs: int, directory: RunDirectory, progress: Progress, seed: int
) -> dict[str, float]:
    plan = Plan(jobs, "job", _PROCESSES, rate=RATE, seed=seed, template=str(_TEMPLATE), project=f"fidelity-{jobs}")
    run = await prepare(cluster, directory, plan)
    submitter = Submitter(cluster, directory, run, progress, create_project=True)
    tested = await scale_test(cluster, directory, submitter, progress, patience_of(plan))
    if tested.failed:
        raise LabError(f"{tested.failed:,} Jobs were refused; {directory.path}/submitted.json says why")
    return {}


async def _stress(
    cluster: Cluster, jobs: int, directory: RunDirectory, progress: Progress, seed: int
) -> dict[str, float]:
    run = _run(STRESS, jobs, directory)
    timeline = directory.timeline()
    alike = Mix((WorkloadClass.alike(workload_type("job"), _NAMESPACE),))
    recorder = TimelineRecorder(cluster, run, alike.workloads(1, seed), timeline)
    try:
        await recorder.start()
        trial = await play_trial(cluster, find_mode(_MODE), jobs, pods=1, gpus=0, run=run, seed=seed, progress=progress)
        until = cluster.now() + _LAG
        while not recorder.done(jobs) and cluster.now() < until:
            await cluster.sleep(_STEP)
    finally:
        recorder.stop()
        timeline.close()
    return {SCRIPT: trial.exact}


def _run(test: str, jobs: int, directory: RunDirectory) -> str:
    """What the label on all objects of an experiment says."""
    recorded = directory.run()
    return recorded.run if recorded is not None else f"fidelity-{test}-{jobs}"


async def _remove(cluster: Cluster, run: str, progress: Progress) -> None:
    """Remove what an experiment made; real clusters take minutes for that, at the rate of their garbage collector."""
    await clean(cluster, run, (), progress)
    selector = f"{RUN_LABEL}={run}"
    while left := len(await cluster.list(PODS, "", selector)):
        progress.advance(0, f"{left:,} pods are still there")
        await cluster.sleep(SECOND)
