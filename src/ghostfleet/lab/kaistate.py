"""What KAI sees of a cluster, copied from its API, to think about without touching anything.

On a cluster of ghostfleet's KAI is set up as the cluster says it is; on another one with KAI's defaults.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ghostfleet.api.podclaims import CLAIMS, CLASSES, SLICES
from ghostfleet.controllers.kai import BIND_REQUESTS, POD_GROUPS, QUEUES, SCHEDULING_SHARDS, TOPOLOGIES
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.core.store import Store
from ghostfleet.drive.interface import Cluster
from ghostfleet.lab.errors import LabError
from ghostfleet.schedulers.framework.arguments import ConfigError
from ghostfleet.schedulers.kai.cache import SchedulerCache
from ghostfleet.schedulers.kai.cache.volumes import STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from ghostfleet.schedulers.kai.cluster_info import ClusterInfo
from ghostfleet.schedulers.kai.conf import KAI_POLICY, PROFILES, SchedulerConfiguration
from ghostfleet.schedulers.kai.conf_file import load_configuration
from ghostfleet.schedulers.kai.shards import shard_configuration

__all__ = ["KINDS", "OPTIONAL", "KaiState", "has_kai", "kai_configuration", "read_kai"]

#: The kinds that KAI looks at, by the names under which they are stored.
KINDS = {
    "nodes": ("v1", "Node"),
    "namespaces": ("v1", "Namespace"),
    QUEUES: ("scheduling.run.ai/v2", "Queue"),
    "priorityclasses.scheduling.k8s.io": ("scheduling.k8s.io/v1", "PriorityClass"),
    TOPOLOGIES: ("kai.scheduler/v1alpha1", "Topology"),
    POD_GROUPS: ("scheduling.run.ai/v2alpha2", "PodGroup"),
    BIND_REQUESTS: ("scheduling.run.ai/v1alpha2", "BindRequest"),
    SCHEDULING_SHARDS: ("kai.scheduler/v1", "SchedulingShard"),
    CLASSES: ("resource.k8s.io/v1", "DeviceClass"),
    SLICES: ("resource.k8s.io/v1", "ResourceSlice"),
    CLAIMS: ("resource.k8s.io/v1", "ResourceClaim"),
    STORAGE_CLASSES: ("storage.k8s.io/v1", "StorageClass"),
    VOLUMES: ("v1", "PersistentVolume"),
    VOLUME_CLAIMS: ("v1", "PersistentVolumeClaim"),
    "pods": ("v1", "Pod"),
}
#: Clusters with an old KAI, or an old Kubernetes, may lack them.
OPTIONAL = (TOPOLOGIES, SCHEDULING_SHARDS, CLASSES, SLICES, CLAIMS)


@dataclass(frozen=True)
class KaiState:
    """A copy of the objects, how KAI is set up, and its snapshot at this time in seconds."""

    store: Store
    config: SchedulerConfiguration
    cache: SchedulerCache
    now: float

    @property
    def info(self) -> ClusterInfo:
        return self.cache.info

    @contextmanager
    def thinking(self) -> Iterator[None]:
        """While a cycle is played: v0.13 crashes on some clusters, as the real one does."""
        try:
            yield
        except Exception as error:
            raise LabError(f"KAI's cycle crashes on this cluster: {error!r}; --kai-profile latest has fixes") from error


async def has_kai(cluster: Cluster) -> bool:
    """Whether a cluster serves KAI's queues."""
    return await cluster.resolve(*KINDS[QUEUES]) is not None


async def read_kai(cluster: Cluster, node_pool: str = "") -> KaiState:
    """Copy what one of KAI's schedulers looks at: that of a node pool, by default of all that is in none."""
    store = Store(VirtualClock(cluster.now()))
    for resource, (api_version, kind_name) in KINDS.items():
        kind = await cluster.resolve(api_version, kind_name)
        if kind is None and resource not in OPTIONAL:
            raise LabError(f"the cluster has no {kind_name} ({api_version}): `ghostfleet up --scheduler kai` has KAI")
        for obj in await cluster.list(kind) if kind is not None else ():
            _put(store, resource, obj)
    config = kai_configuration(cluster, store, node_pool)
    return KaiState(store, config, SchedulerCache(store, config, lambda: None), cluster.now() / SECOND)


def _put(store: Store, resource: str, obj: Object) -> None:
    """Store an object with the time of its creation that it has."""
    stored = store.create(resource, obj)
    created = obj["metadata"].get("creationTimestamp")
    store.replace(resource, stored, {**stored, "metadata": {**stored["metadata"], "creationTimestamp": created}})


def kai_configuration(cluster: Cluster, store: Store, node_pool: str = "") -> SchedulerConfiguration:
    """How KAI is set up for a node pool, as far as the cluster and its shards, copied to a store, tell."""
    made = cluster.info.made.get("kai") or {}
    usual = SchedulerConfiguration()
    config = replace(
        usual,
        scheduler_name=made.get("schedulerName", usual.scheduler_name),
        queue_label=made.get("queueLabel", usual.queue_label),
        profile=PROFILES.get(made.get("profile", ""), usual.profile),
        policy=made.get("policy", KAI_POLICY),
        node_pool=node_pool,
    )
    stated = made.get("configuration")
    try:
        if stated is not None:
            config = load_configuration(stated["text"], stated["file"], config)
        for shard in store.list(SCHEDULING_SHARDS):
            if (shard.get("spec") or {}).get("partitionLabelValue", "") == node_pool:
                config = shard_configuration(shard.get("spec") or {}, config)
    except ConfigError as error:
        raise LabError(f"KAI's configuration cannot be read: {error}") from error
    return config
