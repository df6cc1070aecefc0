"""The stress test as a whole: trials for each mode, number of Jobs and iteration.

Each trial has a fresh cluster in this process on a virtual clock. On a cluster outside, what a trial made is removed
before the next begins. Trials that are done are handed over at once, so that they are kept whatever happens to the
rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ghostfleet.cluster import ClusterConfig
from ghostfleet.core.clock import SECOND
from ghostfleet.drive.embedded import Embedded
from ghostfleet.drive.interface import JOBS, PODS, Cluster
from ghostfleet.lab.deviceclaims import CLAIM_TEMPLATE
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.plan import RUN_LABEL
from ghostfleet.lab.progress import Progress
from ghostfleet.lab.stress.modes import NODES, Mode, find_mode
from ghostfleet.lab.stress.trial import Trial, run_trial

__all__ = ["StressPlan", "run_stress"]

_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class StressPlan:
    """What is to be tried."""

    modes: tuple[str, ...] = ("kwok",)
    jobs: tuple[int, ...] = (1, 10, 20, 50, 75, 100)
    pods: int = 1
    gpus: int = 0
    iterations: int = 1
    nodes: int = NODES
    seed: int = 0
    #: Another profile or other stages than the mode's own.
    profile: str = ""
    stages: tuple[str, ...] = ()
    #: How its clusters schedule; another scheduler takes the place of the default one.
    scheduling: ClusterConfig | None = None
    #: A profile of DRA devices: then pods have claims of GPUs.
    dra: str = ""

    def trials(self) -> Iterator[tuple[Mode, int, int]]:
        """Mode, number of Jobs and iteration of each trial, in order."""
        for name in self.modes:
            mode = find_mode(name)
            for jobs in self.jobs:
                for iteration in range(self.iterations):
                    yield mode, jobs, iteration


def run_stress(
    plan: StressPlan,
    progress: Progress,
    *,
    outside: Cluster | None = None,
    instead: Mode | None = None,
    done: Callable[[Trial], None] | None = None,
) -> list[Trial]:
    """All trials of a plan, on fresh clusters or on one `outside`; `instead` is tried in place of every mode."""
    trials = []
    for named, jobs, iteration in plan.trials():
        mode = instead or named
        seed = plan.seed + iteration
        run = f"stress-{mode.name}-{jobs}-{iteration}"
        cluster = outside or Embedded(
            mode.cluster(
                plan.nodes,
                seed=seed,
                profile=plan.profile,
                stages=plan.stages,
                scheduling=plan.scheduling,
                dra=plan.dra,
            )
        )
        try:
            trial = run_trial(
                cluster,
                mode,
                jobs,
                pods=plan.pods,
                gpus=plan.gpus,
                run=run,
                seed=seed,
                progress=progress,
                claims=bool(plan.dra),
            )
        finally:
            if outside is not None:
                outside.run(_clean(outside, mode, run))
        trials.append(trial)
        if done is not None:
            done(trial)
    return trials


async def _clean(cluster: Cluster, mode: Mode, run: str) -> None:
    """Remove what a trial made, and wait until it is gone."""
    selector = f"{RUN_LABEL}={run}"
    manifest = mode.manifest(1, 1, 0, run)
    kind = await cluster.resolve(manifest["apiVersion"], manifest["kind"])
    if kind is not None:
        await cluster.delete_all(kind, _NAMESPACE, selector)
    await cluster.delete_all(JOBS, _NAMESPACE, selector)
    claims = await cluster.resolve(*CLAIM_TEMPLATE)
    if claims is not None:
        await cluster.delete_all(claims, _NAMESPACE, selector)
    for _ in range(600):
        if not await cluster.list(PODS, _NAMESPACE, selector):
            return
        await cluster.sleep(SECOND)
    raise LabError(f"pods of {run} are still there ten minutes after they were deleted; look at their finalizers")
