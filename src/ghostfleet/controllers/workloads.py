"""Workload controllers, all of them: what kube-controller-manager runs besides garbage collection and namespaces."""

from __future__ import annotations

from ghostfleet.api.verbs import Api
from ghostfleet.controllers.cronjobs import CronJobController
from ghostfleet.controllers.daemonsets import DaemonSetController
from ghostfleet.controllers.deployments import DeploymentController
from ghostfleet.controllers.devicetaints import DeviceTaintEviction
from ghostfleet.controllers.disruption import DisruptionController
from ghostfleet.controllers.endpoints import EndpointsController
from ghostfleet.controllers.jobs import JobController, JobExpiry
from ghostfleet.controllers.nodes import NodeLifecycle, TaintEviction, fake_and_well
from ghostfleet.controllers.podgarbage import PodGarbageCollector
from ghostfleet.controllers.pods import PodCreator
from ghostfleet.controllers.quotas import QuotaController
from ghostfleet.controllers.replicasets import REPLICASETS, REPLICATION_CONTROLLERS, ReplicaController
from ghostfleet.controllers.resourceclaims import ResourceClaimController
from ghostfleet.controllers.routing import PodRoutes
from ghostfleet.controllers.statefulsets import StatefulSetController
from ghostfleet.controllers.volumes import EphemeralVolumeController, StorageProtection, VolumeController
from ghostfleet.core.profile import Profile
from ghostfleet.stages.fleet import Fleet

__all__ = ["Workloads"]


class Workloads:
    """The workload controllers of one store, and what they share. The `fleet` knows which of its nodes are alive."""

    def __init__(self, api: Api, profile: Profile, fleet: Fleet | None = None) -> None:
        store = api.store
        self.routes = PodRoutes(store)
        self.creator = PodCreator(api.admission)
        nodes = NodeLifecycle(store, profile, fleet.leases.alive if fleet is not None else fake_and_well(store))
        if fleet is not None:
            fleet.leases.listen(lambda name, _alive: nodes.look_at(name))
        self._controllers = (
            JobController(store, self.routes, self.creator, profile),
            JobExpiry(store, profile),
            CronJobController(store, profile),
            ReplicaController(store, self.routes, self.creator, profile, REPLICASETS),
            ReplicaController(store, self.routes, self.creator, profile, REPLICATION_CONTROLLERS),
            DeploymentController(store, profile),
            StatefulSetController(store, self.routes, self.creator, profile),
            DaemonSetController(store, self.routes, self.creator, profile),
            DisruptionController(store, profile),
            QuotaController(store, profile),
            VolumeController(store, self.routes, profile),
            EphemeralVolumeController(store, self.routes, profile),
            StorageProtection(store, profile),
            ResourceClaimController(store, profile),
            DeviceTaintEviction(store, profile),
            EndpointsController(store, profile),
            PodGarbageCollector(store, profile),
            nodes,
            TaintEviction(store, profile),
        )
