"""One trial of the stress test: n Jobs are submitted one after another and waited for, as a shell script does it.

The script applies one manifest after another, then asks each second how many Jobs have succeeded, until all have. It
measures in the whole seconds of the shell's own counter, so that its answer depends on where in a second it began. What
kubectl itself takes is a figure of the cluster's profile; on a cluster outside this process, real requests take their
real time, and only what kubectl would have taken beyond that is waited for.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.profile import load_profile
from ghostfleet.core.timestamps import parse_rfc3339
from ghostfleet.drive.interface import JOBS, PODS, Cluster, Kind
from ghostfleet.lab.deviceclaims import CLAIM_TEMPLATE, DeviceClaims, default_class
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.plan import RUN_LABEL
from ghostfleet.lab.progress import Progress
from ghostfleet.lab.stress.modes import Mode

__all__ = ["PodTimes", "Trial", "play_trial", "run_trial"]

_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class PodTimes:
    """When a pod and its first container started and finished, as the API says."""

    name: str
    pod_started: str
    container_started: str
    container_finished: str

    @property
    def time_to_start(self) -> int:
        """Seconds from the pod's start to its container's."""
        return (parse_rfc3339(self.container_started) - parse_rfc3339(self.pod_started)) // SECOND


@dataclass(frozen=True, slots=True)
class Trial:
    """What one trial came to. Spans are seconds from its begin."""

    mode: str
    jobs: int
    pods: int
    #: As the shell's counter says.
    seconds: int
    exact: float
    submitted: float
    last_pod_created: float
    last_pod_finished: float
    last_completion: float
    pod_times: tuple[PodTimes, ...]


class _Script:
    """The script's loop on one cluster."""

    def __init__(
        self, cluster: Cluster, mode: Mode, pods: int, gpus: int, run: str, progress: Progress, *, claims: bool
    ) -> None:
        self._cluster = cluster
        self._mode = mode
        self._pods = pods
        self._gpus = gpus
        #: Whether GPUs are claimed as devices.
        self._claims = claims
        self._run = run
        self._selector = f"{RUN_LABEL}={run}"
        self._progress = progress
        profile = load_profile(cluster.info.profile or mode.profile)
        self._apply, self._get = profile.duration("kubectl.apply"), profile.duration("kubectl.get")
        self._limit = 3600 * SECOND

    async def play(self, jobs: int, phase: int) -> Trial:
        cluster = self._cluster
        # The shell's counter ticks with the clock's seconds, not with the script.
        await cluster.sleep(phase)
        begin = cluster.now()
        self._progress.begin(f"{self._mode.name}: {jobs} Jobs", jobs)
        await self._submit(jobs)
        submitted = cluster.now()
        await self._wait(jobs, begin)
        end = cluster.now()
        found = await cluster.list(JOBS, _NAMESPACE, self._selector)
        times = await self._pod_times()
        return Trial(
            mode=self._mode.name,
            jobs=jobs,
            pods=jobs * self._pods,
            seconds=end // SECOND - begin // SECOND,
            exact=(end - begin) / SECOND,
            submitted=(submitted - begin) / SECOND,
            last_pod_created=_after(begin, [pod["metadata"]["creationTimestamp"] for pod in times[1]]),
            last_pod_finished=_after(begin, [each.container_finished for each in times[0]]),
            last_completion=_after(begin, [job["status"].get("completionTime", "") for job in found]),
            pod_times=times[0],
        )

    async def _submit(self, jobs: int) -> None:
        kind = await self._kind()
        template = await self._claim_template() if self._claims else ""
        for number in range(1, jobs + 1):
            await self._cluster.sleep(self._apply)
            await self._cluster.create(kind, self._mode.manifest(number, self._pods, self._gpus, self._run, template))

    async def _claim_template(self) -> str:
        """Make the template of the pods' claims; answers its name."""
        kind = await self._cluster.resolve(*CLAIM_TEMPLATE)
        if kind is None:
            raise LabError("the cluster has no ResourceClaimTemplate (resource.k8s.io/v1), as --dra needs it")
        claims = DeviceClaims(shared=False, device_class=await default_class(self._cluster))
        name = claims.template_name(self._run, self._gpus)
        await self._cluster.create(kind, claims.template(_NAMESPACE, {RUN_LABEL: self._run}, name, self._gpus))
        return name

    async def _wait(self, jobs: int, begin: int) -> None:
        while True:
            await self._cluster.sleep(self._get)
            found = await self._cluster.list(JOBS, _NAMESPACE, self._selector)
            done = sum(job["status"].get("succeeded", 0) >= self._pods for job in found)
            self._progress.advance(done)
            if done >= jobs:
                return
            if self._cluster.now() - begin > self._limit:
                raise LabError(f"{self._mode.name}: only {done} of {jobs} Jobs were done after an hour")
            await self._cluster.sleep(SECOND)

    async def _kind(self) -> Kind:
        manifest = self._mode.manifest(1, 1, 0, self._run)
        kind = await self._cluster.resolve(manifest["apiVersion"], manifest["kind"])
        if kind is None:
            raise LabError(
                f"the cluster has no {manifest['kind']} ({manifest['apiVersion']}), as mode {self._mode.name} needs it"
            )
        return kind

    async def _pod_times(self) -> tuple[tuple[PodTimes, ...], list[Object]]:
        pods = await self._cluster.list(PODS, _NAMESPACE, self._selector)
        rows = []
        for pod in sorted(pods, key=lambda pod: str(pod["metadata"]["name"])):
            ended = pod["status"]["containerStatuses"][0]["state"].get("terminated")
            if ended:
                started = pod["status"]["startTime"]
                rows.append(PodTimes(pod["metadata"]["name"], started, ended["startedAt"], ended["finishedAt"]))
        return tuple(rows), pods


async def play_trial(
    cluster: Cluster,
    mode: Mode,
    jobs: int,
    *,
    pods: int,
    gpus: int,
    run: str,
    seed: int,
    progress: Progress,
    claims: bool = False,
) -> Trial:
    """One trial; the seed decides where in a second it begins. With `claims`, GPUs are claimed as DRA devices."""
    phase = int(Random(f"{seed}/{mode.name}/{jobs}").random() * SECOND)
    return await _Script(cluster, mode, pods, gpus, run, progress, claims=claims).play(jobs, phase)


def run_trial(cluster: Cluster, mode: Mode, jobs: int, **asked: Any) -> Trial:
    """Play one trial to its end."""
    return cluster.run(play_trial(cluster, mode, jobs, **asked))


def _after(begin: int, stamps: list[str]) -> float:
    """Seconds from the begin to the last of some times."""
    return max((parse_rfc3339(stamp) - begin) / SECOND for stamp in stamps if stamp) if any(stamps) else 0.0
