"""The agent: the fleet's stage engine and node leases at work on any cluster, by kubeconfig.

The agent plays the nodes that are marked as fake and the pods on them, and leaves all others alone; so a real cluster
gets fake GPU nodes without KWOK. Pods with claims run when the cluster shows these allocated. It reads stages as
`Fleet` does, and those that were applied to the cluster. Nothing is kept: an agent that is started again goes on from
what the cluster shows.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ghostfleet.api import customresources
from ghostfleet.api.builtin import load_registry
from ghostfleet.api.podclaims import CLAIMS
from ghostfleet.controllers.events import EventRecorder
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import WallClock
from ghostfleet.core.errors import ApiError
from ghostfleet.core.profile import load_profile
from ghostfleet.core.randomness import Streams
from ghostfleet.drive.access import Access
from ghostfleet.drive.interface import ConnectionFailed, Refused
from ghostfleet.kube.client import Client
from ghostfleet.kube.informer import Informer
from ghostfleet.kube.mirror import Mirror, path_of
from ghostfleet.kube.remoteapi import RemoteApi
from ghostfleet.kube.sender import Sender
from ghostfleet.server.pump import Pump
from ghostfleet.stages.applied import STAGES
from ghostfleet.stages.catalogue import stage_definition
from ghostfleet.stages.fleet import Fleet
from ghostfleet.stages.nodes import FAKE_ANNOTATION
from ghostfleet.stages.playstage import StageKind
from ghostfleet.stages.settings import StageSettings

__all__ = ["FAKE_NODES", "Agent", "Figures"]

#: How fake nodes are marked, by us and by KWOK.
FAKE_NODES = f"{FAKE_ANNOTATION}=fake"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_LOOK_FOR_KINDS_SECONDS = 10.0
_MOST_WARNINGS = 1000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Figures:
    """What an agent has to do, and has done."""

    nodes: int
    pods: int
    sent: int
    repeated: int
    pending: int


class Agent:
    """Plays the fake nodes of one cluster, and the pods on them."""

    def __init__(self, access: Access, stages: Sequence[str] = (), settings: StageSettings | None = None) -> None:
        self._settings = replace(settings or StageSettings(node_annotations=FAKE_NODES), leases="live")
        self._stages = tuple(stages) or ("fast",)
        self._clock = WallClock()
        self.url = access.url
        self._client = Client(access)
        self._sender = Sender(self._client, self._warn)
        self._registry = load_registry()
        self._registry.add(customresources.resource_of(stage_definition()))
        self._mirror = Mirror(self._clock, self._registry, self._sender)
        self._streams = Streams(0)
        self._warned: dict[str, None] = {}
        self._manages = self._settings.manages()
        #: nodes that are not known as ours, but have pods
        self._strangers: dict[str, None] = {}
        self._pods = self._informer("pods", selectors={"fieldSelector": "spec.nodeName!="}, wanted=self._on_our_node)
        self._nodes = self._informer("nodes", selectors=self._node_selector(), wanted=self._manages)
        self._tasks: asyncio.TaskGroup | None = None

    @property
    def figures(self) -> Figures:
        mirror, sender = self._mirror, self._sender
        return Figures(mirror.count("nodes"), mirror.count("pods"), sender.sent, sender.repeated, sender.pending)

    async def run(self, on_ready: Callable[[], None] | None = None) -> None:
        """Play until cancelled; ConnectionFailed or Refused if the cluster cannot be used at all."""
        await self._nodes.sync()
        await self._pods.sync()
        namespaces = self._informer("namespaces")
        await namespaces.sync()
        self._mirror.listen("nodes", self._notice_node, status=False)
        pump = Pump(self._clock, asyncio.get_running_loop())
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                fleet = self._fleet()
                others = [self._informer(resource) for resource in (STAGES, CLAIMS)]
                for informer in (self._nodes, self._pods, namespaces, *others):
                    tasks.create_task(informer.run())
                tasks.create_task(self._sender.run())
                pump.start()
                if on_ready is not None:
                    on_ready()
                try:
                    await self._look_for_kinds(fleet)
                finally:
                    # A task that is begun while the others end would be waited for in vain.
                    pump.stop()
                    self._tasks = None
        finally:
            self._client.close()

    def _fleet(self) -> Fleet:
        api = RemoteApi(self._mirror, self._registry, self._streams, self._sender)
        recorder = EventRecorder(self._mirror, "kwok_controller", load_profile("kubernetes"))
        fleet = Fleet(api, self._streams, self._stages, self._settings, recorder)
        for kind in fleet.controller.kinds:
            self._follow(kind)
        fleet.controller.on_begin = self._follow
        return fleet

    # -- kinds ---------------------------------------------------------------------------------------------------------

    def _informer(
        self,
        resource: str,
        *,
        selectors: dict[str, str] | None = None,
        wanted: Callable[[Object], bool] | None = None,
    ) -> Informer:
        known = self._registry.by_key(resource)
        assert known is not None
        path = path_of(known, "")
        return Informer(self._client, self._mirror, resource, path, selectors=selectors, wanted=wanted, warn=self._warn)

    def _follow(self, kind: StageKind) -> None:
        """Mirror a kind besides nodes and pods that has stages."""
        if kind.key not in ("nodes", "pods") and self._tasks is not None:
            self._tasks.create_task(self._informer(kind.key).run())

    async def _look_for_kinds(self, fleet: Fleet) -> None:
        """Learn of custom resources that stages are about, once they are there."""
        while True:
            missing = {(version.rpartition("/")[0], kind) for version, kind in fleet.controller.missing}
            if missing:
                try:
                    page = await self._client.read(_DEFINITIONS)
                except (ConnectionFailed, Refused) as error:
                    self._warn(str(error))
                    page = {"items": []}
                for definition in page["items"]:
                    if (definition["spec"]["group"], definition["spec"]["names"]["kind"]) in missing:
                        self._learn(definition)
            await asyncio.sleep(_LOOK_FOR_KINDS_SECONDS)

    def _learn(self, definition: Object) -> None:
        try:
            resource = customresources.resource_of(definition)
        except ApiError as error:
            self._warn(f"cannot use {definition['metadata']['name']}: {error.message}")
            return
        self._mirror.register(resource.key)
        self._registry.add(resource)

    # -- nodes and pods ------------------------------------------------------------------------------------------------

    def _node_selector(self) -> dict[str, str]:
        labels = self._settings.node_labels
        return {"labelSelector": labels} if labels else {}

    def _on_our_node(self, pod: Object) -> bool:
        name = pod["spec"].get("nodeName") or ""
        if self._mirror.find("nodes", "", name) is not None:
            return True
        self._strangers[name] = None
        return False

    def _notice_node(self, change: Change) -> None:
        """A node whose pods were seen before it: these are listed again."""
        if change.old is None and change.name in self._strangers and self._tasks is not None:
            del self._strangers[change.name]
            self._tasks.create_task(self._take_pods(change.name))

    async def _take_pods(self, node: str) -> None:
        try:
            await self._pods.look_again(fieldSelector=f"spec.nodeName={node}")
        except (ConnectionFailed, Refused) as error:
            self._strangers[node] = None
            self._warn(f"cannot list the pods of node {node}: {error}")

    def _warn(self, message: str) -> None:
        if message not in self._warned and len(self._warned) < _MOST_WARNINGS:
            self._warned[message] = None
            _log.warning("%s", message)
