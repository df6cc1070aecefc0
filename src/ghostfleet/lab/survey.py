"""A survey of a cluster: what it is and has, as reports tell it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import value
from ghostfleet.drive.interface import NODES, Cluster

__all__ = ["GPU_RESOURCES", "Survey", "survey"]

#: What GPUs are called in the resources of nodes and pods.
GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915")
_PRODUCT = "nvidia.com/gpu.product"
_FAKE = "kwok.x-k8s.io/node"


@dataclass(slots=True)
class Survey:
    """The nodes of a cluster, added up."""

    nodes: int = 0
    ready: int = 0
    fake: int = 0
    gpus: int = 0
    products: Counter[str] = field(default_factory=Counter)

    def written(self, cluster: Cluster) -> dict[str, Any]:
        """The survey as it stands in the record of a run."""
        info = cluster.info
        return {
            "address": info.address,
            "clock": info.clock,
            "version": info.version,
            "profile": info.profile,
            **info.made,
            "nodes": self.nodes,
            "gpus": self.gpus,
            "gpuProducts": dict(sorted(self.products.items())),
            **({"uid": info.uid, "kubeconfig": info.kubeconfig, "context": info.context} if info.uid else {}),
        }


async def survey(cluster: Cluster) -> Survey:
    """Look at all nodes of a cluster."""
    found = Survey()
    for node in await cluster.list(NODES):
        metadata, status = node["metadata"], node.get("status") or {}
        found.nodes += 1
        found.ready += _ready(status)
        found.fake += _FAKE in (metadata.get("annotations") or {})
        gpus = _gpus(status.get("allocatable") or {})
        found.gpus += gpus
        if gpus:
            found.products[(metadata.get("labels") or {}).get(_PRODUCT, "unknown")] += gpus
    return found


def _ready(status: Object) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions") or ())


def _gpus(resources: Object) -> int:
    return sum(value(resources[name]) for name in GPU_RESOURCES if name in resources)
