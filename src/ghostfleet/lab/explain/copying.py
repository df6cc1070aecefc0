"""A copy of a cluster in this process: what a scheduler looks at, to think about without touching anything."""

from __future__ import annotations

from ghostfleet.core.clock import VirtualClock
from ghostfleet.core.store import Store
from ghostfleet.drive.interface import NAMESPACES, NODES, PERSISTENT_VOLUME_CLAIMS, PODS, Cluster, Kind, Refused

__all__ = ["copy_cluster"]

_STORAGE = "storage.k8s.io"
_RESOURCE = "resource.k8s.io"
_KINDS = (
    NODES,
    PODS,
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    Kind("", "v1", "services"),
    Kind("", "v1", "persistentvolumes", namespaced=False),
    Kind("", "v1", "replicationcontrollers"),
    Kind("apps", "v1", "replicasets"),
    Kind("apps", "v1", "statefulsets"),
    Kind(_STORAGE, "v1", "storageclasses", namespaced=False),
    Kind(_STORAGE, "v1", "csinodes", namespaced=False),
    Kind(_STORAGE, "v1", "csistoragecapacities"),
    Kind("policy", "v1", "poddisruptionbudgets"),
    Kind(_RESOURCE, "v1", "resourceclaims"),
    Kind(_RESOURCE, "v1", "resourceslices", namespaced=False),
    Kind(_RESOURCE, "v1", "deviceclasses", namespaced=False),
    Kind(_RESOURCE, "v1beta2", "devicetaintrules", namespaced=False),
)


async def copy_cluster(cluster: Cluster) -> Store:
    """All that decides where pods go; kinds that the cluster does not have are left out."""
    store = Store(VirtualClock(cluster.now()))
    for kind in _KINDS:
        key = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
        store.register(key)
        try:
            found = await cluster.list(kind)
        except Refused as refusal:
            if refusal.code not in (403, 404):
                raise
            continue
        for obj in found:
            store.create(key, obj)
    return store
