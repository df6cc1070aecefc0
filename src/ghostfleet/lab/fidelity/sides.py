"""Sides: the clusters on which experiments are made.

A *side* gives a cluster for one experiment and takes it back. Two of them give a fresh one each time, so that nothing
is left of the experiment before: the embedded cluster with its profile, and a real control plane on this machine. The
third is a cluster that is there already, from which experiments have to be removed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from ghostfleet.cluster import Cluster as Assembled
from ghostfleet.cluster import ClusterConfig
from ghostfleet.core.clock import SECOND
from ghostfleet.drive.access import Access
from ghostfleet.drive.embedded import Embedded
from ghostfleet.drive.interface import Cluster
from ghostfleet.drive.remote import Remote
from ghostfleet.kube.launch import programs_for
from ghostfleet.kube.programs import ETCD, KWOK, SERVER
from ghostfleet.kube.versions import program_version
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.fidelity.experiments import STAGES
from ghostfleet.lab.progress import Progress
from ghostfleet.lab.survey import survey
from ghostfleet.server.instances import Instance, InstanceError
from ghostfleet.server.launch import LaunchError, end, launch_detached
from ghostfleet.server.launchconfig import LaunchConfig, Runtime

__all__ = ["GPUS", "Embedding", "RealPlane", "Running", "Side"]

#: GPUs of each node.
GPUS = 8
#: For how long a new cluster is left alone: its nodes get Ready, and what its start has asked for is over.
_WARM_UP = 20 * SECOND
_NAME = "fidelity"


class Side(Protocol):
    """Gives a cluster for one experiment, and takes it back."""

    @property
    def parts(self) -> Mapping[str, str]:
        """What the cluster is made of, with versions."""
        ...

    @property
    def fresh(self) -> bool:
        """Whether each experiment gets a cluster of its own."""
        ...

    def cluster(self, nodes: int, progress: Progress) -> AbstractContextManager[Cluster]:
        """A cluster with so many nodes for one experiment."""
        ...


class Embedding:
    """The embedded cluster, in virtual time."""

    fresh = True

    def __init__(self, *, profile: str = "kubernetes", seed: int = 0) -> None:
        self._seed = seed
        self._config = ClusterConfig(gpus=GPUS, profile=profile, stages=(STAGES,))
        self.parts: Mapping[str, str] = {"profile": profile}

    @contextmanager
    def cluster(self, nodes: int, progress: Progress) -> Iterator[Cluster]:
        progress.begin("embedded cluster", 0)
        try:
            made = Assembled(config=replace(self._config, nodes=nodes), seed=self._seed)
        except ValueError as error:
            raise LabError(str(error)) from None
        cluster = Embedded(made)
        cluster.run(cluster.sleep(_WARM_UP))
        yield cluster


class RealPlane:
    """A real control plane, started here for each experiment and ended after it."""

    fresh = True

    def __init__(self, bin_dir: str = "") -> None:
        self._settings = LaunchConfig(
            name=_NAME,
            runtime=Runtime.KUBERNETES,
            bin_dir=Path(bin_dir) if bin_dir else None,
            gpus=GPUS,
            stages=(STAGES,),
        )
        try:
            programs = programs_for(self._settings)
        except LaunchError as error:
            raise LabError(str(error)) from None
        self.parts: Mapping[str, str] = _versions(programs)

    @contextmanager
    def cluster(self, nodes: int, progress: Progress) -> Iterator[Cluster]:
        progress.begin("starting a real control plane", 0)
        try:
            instance = Instance(_NAME)
            if instance.running:
                raise LabError(f"cluster {_NAME} is running already; `ghostfleet down {_NAME}` ends it")
            try:
                launch_detached(replace(self._settings, nodes=nodes))
                with closing(Remote(Access(instance.kubeconfig))) as remote:
                    remote.run(remote.sleep(_WARM_UP))
                    yield remote
            finally:
                end(instance)
        except (LaunchError, InstanceError) as error:
            raise LabError(str(error)) from None


class Running:
    """A cluster that is there already, with nodes that live by the right stages."""

    fresh = False

    def __init__(self, access: Access) -> None:
        self._access = access
        with closing(Remote(access)) as cluster:
            self.parts: Mapping[str, str] = {"Kubernetes": cluster.info.version}

    @contextmanager
    def cluster(self, nodes: int, progress: Progress) -> Iterator[Cluster]:  # noqa: ARG002 - others tell how far they are
        with closing(Remote(self._access)) as cluster:
            ready = cluster.run(_ready_nodes(cluster, nodes))
            if ready < nodes:
                raise LabError(
                    f"{self._access.url} has {ready:,} nodes that are Ready, not {nodes:,}; `ghostfleet nodes add` "
                    "adds some, --nodes asks for fewer"
                )
            yield cluster


async def _ready_nodes(cluster: Cluster, wanted: int) -> int:
    """How many nodes are Ready; new ones are given the time to get so."""
    until = cluster.now() + _WARM_UP
    while True:
        ready = (await survey(cluster)).ready
        if ready >= wanted or cluster.now() > until:
            return ready
        await cluster.sleep(SECOND)


def _versions(programs: Mapping[str, Path]) -> dict[str, str]:
    kwok = programs.get(KWOK)
    return {
        "Kubernetes": program_version(programs[SERVER]),
        "etcd": program_version(programs[ETCD]),
        "fake nodes by": f"kwok {program_version(kwok)}" if kwok is not None else "our own agent",
    }
