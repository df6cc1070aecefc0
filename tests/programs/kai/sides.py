"""The two clusters that are compared: one with KAI's own programs, one with ours.

Both are driven by the verbs of their API. Ours is in this process, on a virtual clock. The other is a cluster of ours
without a scheduler, on a clock that is faster than real time, on which KAI's programs run as they are. Its webhooks are
off, so that cases have to be right.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.controllers.kai import install_kinds
from ghostfleet.controllers.kai.part import KaiPart
from ghostfleet.core.clock import SECOND, WallClock
from ghostfleet.core.manifests import load_documents
from ghostfleet.core.profile import load_profile
from ghostfleet.drive.access import Access
from ghostfleet.drive.embedded import Embedded
from ghostfleet.drive.interface import NAMESPACES, NODES, PODS, Kind
from ghostfleet.drive.remote import Remote
from ghostfleet.kube.processes import PartEnded, Processes, Program
from ghostfleet.schedulers.kai.runner import KaiScheduler

from ..built import free_port
from .cases import Case, Step
from .state import State, end_state, evicted, grouped

Object = dict[str, Any]

QUEUES = Kind("scheduling.run.ai", "v2", "queues", namespaced=False)
POD_GROUPS = Kind("scheduling.run.ai", "v2alpha2", "podgroups")
#: How fast time goes on the cluster with the real KAI, so that each object gets a second of its own soon.
_SCALE = 20
#: Cluster time in which ours comes to rest.
_REST = 90 * SECOND
#: How long the other must not change: several of its cycles, and longer when it is not where ours is.
_STABLE, _STABLE_ELSEWHERE = 3 * SECOND // 2, 5 * SECOND
_PATIENCE = 40 * SECOND
_TO_BE_GROUPED = 5 * SECOND
#: Real seconds between two looks.
_LOOK_AGAIN = 0.1
_PERIOD = "400ms"
_DEFAULT_QUEUES = ("default-queue", "default-parent-queue")
_CONTROLLERS = {
    "binder": ("--fake-gpu-nodes=true", "--metrics-bind-address=0", "--health-probe-bind-address=0"),
    "podgrouper": ("--metrics-bind-address=0", "--health-probe-bind-address=0"),
    "podgroupcontroller": (
        "--metrics-bind-address=0", "--health-probe-bind-address=0", "--enable-podgroup-webhook=false",
    ),
    "queuecontroller": ("--metrics-listen-address=0", "--enable-webhook=false"),
}  # fmt: skip


class Outcome(NamedTuple):
    """What became of a step: after each object the pods and their groups, and the state at the end."""

    grouped: list[Any]
    state: State


class _Side:
    """What is done to both clusters alike."""

    cluster: Embedded | Remote

    def start_scheduler(self) -> None:
        raise NotImplementedError

    def stop_scheduler(self) -> None:
        raise NotImplementedError

    async def create(self, obj: Object) -> None:
        kind = await self.cluster.resolve(obj["apiVersion"], obj["kind"])
        assert kind is not None, f"{obj['apiVersion']} {obj['kind']} is not served"
        metadata = {"namespace": "default", **obj["metadata"]} if kind.namespaced else obj["metadata"]
        await self.cluster.create(kind, {**obj, "metadata": metadata})

    async def delete(self, obj: Object) -> None:
        kind = await self.cluster.resolve(obj["apiVersion"], obj["kind"])
        assert kind is not None
        await self.cluster.delete(kind, "default" if kind.namespaced else "", obj["metadata"]["name"])

    async def change(self, case: Case, step: Step) -> AsyncIterator[None]:
        """What a step creates and deletes, each in a second of its own; the caller sees to it that all is grouped."""
        made = {each["metadata"]["name"]: each for earlier in case.steps for each in earlier.create}
        for obj in step.create:
            await self.create(obj)
            await self.cluster.sleep(SECOND)
            yield
        for name in step.delete:
            await self.delete(made[name])
            yield

    async def pods(self) -> list[Object]:
        return await self.cluster.list(PODS)

    async def read(self) -> State:
        groups, queues = await self.cluster.list(POD_GROUPS), await self.cluster.list(QUEUES)
        return end_state(await self.pods(), groups, queues)

    async def state_since(self, pods: list[Object]) -> State:
        """The state, with what was evicted of the pods that were there before."""
        return {**await self.read(), "evicted": evicted(pods, await self.pods())}


class Ours(_Side):
    """One case on a cluster with our KAI."""

    def __init__(self) -> None:
        config = ClusterConfig(profile="kubernetes", without=frozenset(("scheduler", "runai")))
        self._lab = Cluster(config=config)
        self._profile = load_profile(config.profile)
        install_kinds(self._lab.store)
        self._lab.clock.settle()
        self._part = KaiPart(self._lab.api, self._profile)
        self.cluster = Embedded(self._lab)

    def start_scheduler(self) -> None:
        self._scheduler = KaiScheduler(self._lab.store, self._lab.clock, self._profile)

    def stop_scheduler(self) -> None:
        self._scheduler.stop()

    def play(self, case: Case) -> list[Outcome]:
        """What became of each step."""
        return self.cluster.run(self._play(case))

    async def _play(self, case: Case) -> list[Outcome]:
        outcomes = []
        for node in case.nodes:
            await self.create(node)
        for step in case.steps:
            seen = []
            async for _ in self.change(case, step):
                await self.cluster.sleep(SECOND)
                seen.append(grouped(await self.read()))
            pods = await self.pods()
            self.start_scheduler()
            await self.cluster.sleep(_REST)
            outcomes.append(Outcome(seen, await self.state_since(pods)))
            self.stop_scheduler()
        return outcomes


class Real(_Side):
    """A cluster with KAI's own programs, on which one case after the other is played."""

    def __init__(self, programs: Path, directory: Path) -> None:
        self._programs = programs
        self._directory = directory
        self._clock = WallClock()
        self._parts = Processes(directory / "logs", self._clock)
        self._scheduler = Processes(directory / "logs", self._clock)
        self.cluster = None

    @contextmanager
    def started(self) -> Iterator[Real]:
        state = self._directory / "state"
        stages = ("--stages", "fast", "--stages", str(Path(__file__).parent / "reservation.yaml"))
        command = ["up", "real", "--clock", f"scaled:{_SCALE}", "--disable", "scheduler,runai", *stages]
        environment = {"XDG_STATE_HOME": str(state)}
        self._parts.start(Program("cluster", [sys.executable, "-m", "ghostfleet", *command], environment))
        try:
            ready = self._parts.wait(lambda: b"is ready at" in self._parts.log("cluster").read_bytes(), 30 * SECOND)
            assert ready, self._parts.log("cluster").read_text()
            self._kubeconfig = next(state.rglob("kubeconfig"))
            self.cluster = Remote(Access(self._kubeconfig))
            self.cluster.run(self._install())
            for program, flags in _CONTROLLERS.items():
                self._parts.start(self._part(program, *flags))
            yield self
            self._parts.check()
        finally:
            if self.cluster is not None:
                self.cluster.close()
            self.stop_scheduler()
            self._parts.stop()

    def _part(self, program: str, *flags: str) -> Program:
        return Program(program, [self._programs / program, *flags], {"KUBECONFIG": str(self._kubeconfig)})

    async def _install(self) -> None:
        """KAI's kinds as it ships them, and the objects that an installation brings along."""
        for path in sorted((self._programs / "crds").glob("*.yaml")):
            await self.create(yaml.safe_load(path.read_text(encoding="utf-8")))
        from ghostfleet.controllers.kai import definitions

        objects = Path(definitions.__file__).parent / "data" / "objects.yaml"
        for document in load_documents(objects.read_bytes(), str(objects)):
            await self._until_created(document.object)

    async def _until_created(self, obj: Object) -> None:
        """A kind is served a moment after its definition was made."""
        for _ in range(100):
            if await self.cluster.resolve(obj["apiVersion"], obj["kind"]) is not None:
                await self.create(obj)
                return
            self.cluster._groups.clear()
            await self.cluster.sleep(SECOND)
        raise AssertionError(f"{obj['kind']} is not served")

    def start_scheduler(self) -> None:
        address, plugins = (free_port() for _ in range(2))
        flags = (
            f"--listen-address=127.0.0.1:{address}",
            f"--plugin-server-port={plugins}",
            f"--schedule-period={_PERIOD}",
        )
        self._scheduler.start(self._part("scheduler", *flags))

    def stop_scheduler(self) -> None:
        self._scheduler.stop()

    def play(self, case: Case, ours: Sequence[Outcome]) -> list[State]:
        """The state that each step comes to; what ours came to says what to wait for."""
        return self.cluster.run(self._play(case, ours))

    async def _play(self, case: Case, ours: Sequence[Outcome]) -> list[State]:
        self.stop_scheduler()
        await self._clear()
        for node in case.nodes:
            await self.create(node)
        states = []
        for step, expected in zip(case.steps, ours, strict=True):
            wanted = iter(expected.grouped)
            async for _ in self.change(case, step):
                await self._until_grouped(next(wanted))
            pods = await self.pods()
            self.start_scheduler()
            states.append(await self._rest(pods, expected.state))
            self.stop_scheduler()
        return states

    async def _until_grouped(self, wanted: Any) -> None:
        """Go on when all pods are there and in their groups, or are not going to be."""
        begun = self._clock.now()
        while grouped(await self.read()) != wanted and self._clock.now() - begun < _TO_BE_GROUPED:
            await asyncio.sleep(_LOOK_AGAIN)

    async def _rest(self, pods: list[Object], wanted: State) -> State:
        """The state as soon as it is the one that is wanted, or none that changes any more."""
        state: State = {}
        since = begun = self._clock.now()
        while self._clock.now() - since < (_STABLE if state == wanted else _STABLE_ELSEWHERE):
            await asyncio.sleep(_LOOK_AGAIN)
            self._parts.check()
            self._start_again_if_crashed()
            seen = await self.state_since(pods)
            if seen != state:
                state, since = seen, self._clock.now()
            if since - begun > _PATIENCE:
                return {**state, "rest": {"none": "it changes again and again"}}
        return state

    def _start_again_if_crashed(self) -> None:
        """As its Deployment would have it."""
        try:
            self._scheduler.check()
        except PartEnded:
            self.stop_scheduler()
            self.start_scheduler()

    async def _namespaces(self) -> list[str]:
        """The namespaces that a case made."""
        names = [each["metadata"]["name"] for each in await self.cluster.list(NAMESPACES)]
        return [name for name in names if name != "default" and not name.startswith(("kube-", "kai-"))]

    async def _clear(self) -> None:
        """Leave nothing of the case before."""
        for api_version, kind in (
            ("apps/v1", "Deployment"), ("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet"), ("batch/v1", "Job"),
            ("kubeflow.org/v1", "PyTorchJob"), ("v1", "Pod"), ("scheduling.run.ai/v2alpha2", "PodGroup"),
            ("scheduling.run.ai/v1alpha2", "BindRequest"), ("v1", "ConfigMap"),
        ):  # fmt: skip
            found = await self.cluster.resolve(api_version, kind)
            assert found is not None
            for namespace in ("default", "kai-resource-reservation"):
                await self.cluster.delete_all(found, namespace, "")
        topologies = await self.cluster.resolve("kai.scheduler/v1alpha1", "Topology")
        assert topologies is not None
        for kind in (NODES, QUEUES, topologies):
            for each in await self.cluster.list(kind):
                name = each["metadata"]["name"]
                if name not in _DEFAULT_QUEUES:
                    await self.cluster.delete(kind, "", name)
        for each in await self._namespaces():
            await self.cluster.delete(NAMESPACES, "", each)
        while await self._namespaces():
            await self.cluster.sleep(SECOND)
        # A group may have been made anew for a pod that was just leaving.
        while await self.cluster.list(PODS, "default") or await self.cluster.list(POD_GROUPS, "default"):
            await self.cluster.delete_all(POD_GROUPS, "default", "")
            await self.cluster.sleep(SECOND)
