"""Assembly: clock, store, API, controllers, schedulers and fleet put together to a cluster.

This is the whole embedded cluster without any socket: `Cluster(clock)` is ready to use, `cluster.api` has the verbs.
On a virtual clock nothing happens until the clock is run; on a wall clock something must drive it (the server does).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ghostfleet.api.builtin import load_registry
from ghostfleet.api.kinds import storage_key
from ghostfleet.api.podclaims import CLASSES, SLICES
from ghostfleet.api.strategy import apply_defaults, prepare_for_create
from ghostfleet.api.verbs import Api
from ghostfleet.cluster.config import KAI, ClusterConfig
from ghostfleet.controllers import kubeflow, runai
from ghostfleet.controllers.awaiting import Awaiting
from ghostfleet.controllers.bootstrap import announce, bootstrap
from ghostfleet.controllers.definitions import DefinitionController
from ghostfleet.controllers.events import EventExpiry, EventRecorder
from ghostfleet.controllers.garbage import GarbageCollector
from ghostfleet.controllers.namespaces import NamespaceController
from ghostfleet.controllers.podgarbage import STOPPING, PodTerminator
from ghostfleet.controllers.pods import PodCreator
from ghostfleet.controllers.routing import PodRoutes
from ghostfleet.controllers.standins import kwok_stand_in
from ghostfleet.controllers.workloads import Workloads
from ghostfleet.core.bucket import index_by_label, index_by_node
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import Clock, VirtualClock
from ghostfleet.core.profile import Profile, load_profile
from ghostfleet.core.randomness import Streams
from ghostfleet.core.ratelimit import Meters
from ghostfleet.core.store import Store
from ghostfleet.stages.catalogue import stage_definition
from ghostfleet.stages.commands import Commands
from ghostfleet.stages.draplugins import DraPlugins
from ghostfleet.stages.fleet import Fleet
from ghostfleet.stages.nodes import NodeShape, fake_nodes
from ghostfleet.stages.settings import StageSettings

if TYPE_CHECKING:
    from ghostfleet.cluster.kai import Kai
    from ghostfleet.dispatchers.mcad import Mcad
    from ghostfleet.schedulers.framework import Runner

__all__ = ["Cluster", "add_nodes"]


class Cluster:
    """One embedded cluster."""

    def __init__(
        self,
        clock: Clock | None = None,
        config: ClusterConfig | None = None,
        *,
        seed: int | str = 0,
        history: int = 32_768,
    ) -> None:
        self.clock = clock or VirtualClock()
        self.config = config = config or ClusterConfig()
        #: What makes it what it is.
        self.made = config.written()
        #: How long each limit of the modelled components held something up.
        self.meters = Meters()
        self.streams = Streams(seed)
        self._profile = load_profile(config.profile).metered(self.meters, self.streams)
        self.registry = load_registry()
        self.store = Store(self.clock, self.streams, history=history)
        self.store.register("pods", {"node": index_by_node(), "job": index_by_label("batch.kubernetes.io/job-name")})
        for resource in self.registry:
            self.store.register(storage_key(resource))
        self.api = Api(self.store, self.registry, self.streams)
        self._own = (
            GarbageCollector(self.store, self.registry),
            NamespaceController(self.store, self.registry),
            DefinitionController(self.store, self.registry),
            # With a fleet, stages end pods; this is then only for those whose node is silent when their grace is over.
            PodTerminator(self.store, stopping=STOPPING if "stages" in config.without else None),
            EventExpiry(self.store, load_profile(config.profile)),
        )
        bootstrap(self.store)
        self.fleet = self._fleet() if "stages" not in config.without else None
        self._workloads = self._controllers() if "controllers" not in config.without else None
        self._operators = self._make_operators()
        if self.fleet is not None and self._workloads is not None and not self._is_laboratory():
            kwok_stand_in(self.store, self.fleet.scaled)
        if self.fleet is not None:
            DraPlugins(self.store)
        self._schedulers: tuple[Runner, ...] = ()
        #: KAI, where it is among the schedulers.
        self.kai: Kai | None = None
        if isinstance(self.clock, VirtualClock) or config.scheduler_config is not None or config.schedulers:
            self._start_schedulers()
        else:
            # Nothing can be wrong with it, and it takes long to load: after the API is up, as in a real cluster.
            self.clock.call_soon(self._start_schedulers)
        self.dispatcher = self._make_dispatcher()
        self._settle()
        add_nodes(
            self,
            NodeShape(
                count=config.nodes,
                gpus=config.gpus,
                gpu_product=config.gpu_product,
                dra=config.dra,
                fake_taint=False,
            ),
        )

    def about(self) -> dict[str, Any]:
        """What it is made of, and how long each limit of its components held something up so far."""
        return {**self.made, "limits": [list(each) for each in self.meters.reading(self.clock.now())]}

    def announce(self, address: str, port: int) -> None:
        """Put the address at which the cluster is served into its own endpoints."""
        announce(self.store, address, port)
        self._settle()

    def _is_laboratory(self) -> bool:
        """Whether no script will ever look for KWOK here: a cluster on a virtual clock that has no dispatcher."""
        return isinstance(self.clock, VirtualClock) and not self.config.dispatcher

    def _fleet(self) -> Fleet:
        self.store.create("customresourcedefinitions.apiextensions.k8s.io", stage_definition())
        self._settle()
        recorder = EventRecorder(self.store, "kwok_controller", self._profile)
        # Tests of dispatchers keep room occupied with Jobs that never end.
        usual: Commands = "endless" if self.config.dispatcher else "ignored"
        settings = StageSettings(commands=cast(Commands, self.config.commands) or usual)
        client = self._profile.api_client("kwok")
        fleet = Fleet(self.api, self.streams, self.config.stages, settings, recorder, client)
        self.meters.add(fleet.controller.contention)
        return fleet

    def _controllers(self) -> Workloads:
        profile = self._profile
        dispatcher = self._dispatcher_profile()
        if dispatcher is not None and not dispatcher.switch("cluster.success-criteria"):
            # Jobs end as in the Kubernetes that this dispatcher was made for.
            profile = profile.replaced(job__success_criteria=False)
        return Workloads(self.api, profile, self.fleet)

    def _make_operators(self) -> tuple[Awaiting, ...]:
        """The parts that bring kinds of their own; their controllers are loaded when one of these is used."""
        operators = []
        if "kubeflow" not in self.config.without:
            kubeflow.install_kinds(self.store)
            operators.append(Awaiting(self.store, [kubeflow.PYTORCH_JOBS], self._kubeflow))
        if "runai" not in self.config.without:
            runai.install_kinds(self.store, self.config.projects)
            operators.append(Awaiting(self.store, [*runai.WORKLOADS, runai.RUNAI_JOBS], self._runai))
        self._settle()
        return tuple(operators)

    def _kubeflow(self) -> object:
        from ghostfleet.controllers.kubeflow.controller import PyTorchJobController

        return PyTorchJobController(self.store, *self._pod_makers(), self._profile)

    def _runai(self) -> object:
        from ghostfleet.controllers.runai.part import RunaiPart

        schedulers, replaced = self.config.schedulers, self.config.replaces_default
        # Run:ai's scheduler is KAI: where it is, the workloads are its own.
        is_kais = schedulers[:1] == (KAI,) if replaced else KAI in schedulers
        name = "kai-scheduler" if is_kais and not replaced else "default-scheduler"
        return RunaiPart(self.store, *self._pod_makers(), self._profile, scheduler=name, groups=not is_kais)

    def _pod_makers(self) -> tuple[PodRoutes, PodCreator]:
        """What controllers that make pods share; without the workload controllers each has its own."""
        if self._workloads is not None:
            return self._workloads.routes, self._workloads.creator
        return PodRoutes(self.store), PodCreator(self.api.admission)

    def _start_schedulers(self) -> None:
        if "scheduler" in self.config.without and not self.config.schedulers:
            return
        from ghostfleet.schedulers.framework.own import OwnScheduler, load_scheduler
        from ghostfleet.schedulers.framework.runner import Pace
        from ghostfleet.schedulers.kube import KubeScheduler, load_configuration

        schedulers: list[Runner] = []
        profile = self._profile
        replaced = self.config.replaces_default and bool(self.config.schedulers)
        if "scheduler" not in self.config.without and not replaced:
            path = self.config.scheduler_config
            schedulers.append(
                KubeScheduler(
                    self.store,
                    self.clock,
                    self.streams.stream("scheduler"),
                    config=load_configuration(path.read_bytes(), str(path)) if path is not None else None,
                    pace=Pace.of(profile),
                )
            )
        for index, each in enumerate(self.config.schedulers):
            by_default = replaced and not index
            if each == KAI:
                from ghostfleet.cluster.kai import Kai

                self.kai = Kai(self.api, self._profile, self.config, by_default=by_default)
            else:
                own = load_scheduler(each)
                schedulers.append(OwnScheduler(self.store, self.clock, own, Pace.of(profile), by_default=by_default))
        self._schedulers = tuple(schedulers)

    def _dispatcher_profile(self) -> Profile | None:
        if not self.config.dispatcher:
            return None
        from ghostfleet.dispatchers.mcad.profiles import load_dispatcher_profile

        return load_dispatcher_profile(self.config.dispatcher).metered(self.meters, self.streams)

    def _make_dispatcher(self) -> Mcad | None:
        profile = self._dispatcher_profile()
        if profile is None:
            return None
        from ghostfleet.dispatchers.mcad import Mcad

        return Mcad(self.api, profile)

    def _settle(self) -> None:
        if isinstance(self.clock, VirtualClock):
            self.clock.settle()


def add_nodes(cluster: Cluster, shape: NodeShape) -> None:
    """Give a cluster fake nodes at once, without a request for each, and what their DRA driver publishes."""
    profile = None
    if shape.dra:
        from ghostfleet.stages.dradrivers import find_profile

        profile = find_profile(shape.dra)
    for device_class in profile.classes() if profile is not None else ():
        if cluster.store.find(CLASSES, "", device_class["metadata"]["name"]) is None:
            _create(cluster, CLASSES, device_class)
    for node in fake_nodes(shape):
        made = _create(cluster, "nodes", node)
        for resource_slice in profile.slices(made, shape.devices) if profile is not None else ():
            _create(cluster, SLICES, resource_slice)


def _create(cluster: Cluster, resource: str, obj: Object) -> Object:
    return cluster.store.create(resource, prepare_for_create(resource, apply_defaults(resource, obj)))
