"""Fake nodes: machines that exist in the API only.

A *node shape* says how many nodes there are to be and what each has: CPUs, memory, GPUs, labels, taints, and the zones
and racks among which nodes are dealt out in turn. `fake_nodes` makes their objects: marked as KWOK marks its nodes
(annotation, label and taint, so that manifests written for KWOK find them), and labelled like real GPU nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import canonical
from ghostfleet.stages.gpumodels import gpu_labels

__all__ = [
    "FAILED_ANNOTATION",
    "FAKE_ANNOTATION",
    "FAKE_TAINT",
    "RACK_LABEL",
    "ZONE_LABEL",
    "NodeShape",
    "fake_nodes",
    "parse_taint",
]

FAKE_ANNOTATION = "kwok.x-k8s.io/node"
#: On a node that has failed: it gives no sign of life until this is taken away.
FAILED_ANNOTATION = "ghostfleet.dev/failed"
FAKE_TAINT: Object = {"key": FAKE_ANNOTATION, "value": "fake", "effect": "NoSchedule"}
ZONE_LABEL = "topology.kubernetes.io/zone"
RACK_LABEL = "topology.kubernetes.io/rack"
_DEVICES = 8
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class NodeShape:
    """How many fake nodes there are to be, and what each of them has."""

    count: int = 1
    prefix: str = "kwok-node-"
    #: number in the name of the first node
    first: int = 0
    cpu: str = "32"
    memory: str = "256Gi"
    pods: str = "110"
    gpus: int = 0
    gpu_resource: str = "nvidia.com/gpu"
    gpu_product: str = "NVIDIA-H100-80GB-HBM3"
    #: profile of the DRA driver that offers the GPUs as devices, instead of a device plugin that counts them
    dra: str = ""
    zones: Sequence[str] = ()
    racks: Sequence[str] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Object] = ()
    #: other resources, such as `rdma/hca: 8`
    resources: Mapping[str, str] = field(default_factory=dict)
    #: whether nodes carry KWOK's taint, which pods must tolerate
    fake_taint: bool = True

    @property
    def devices(self) -> int:
        """How many devices the DRA driver of a node offers; eight, as in most GPU servers, unless that is said."""
        return (self.gpus or _DEVICES) if self.dra else 0


def fake_nodes(shape: NodeShape) -> Iterator[Object]:
    """The objects of the nodes, as a client would create them; equal parts are shared."""
    resources = _resources(shape)
    taints = [*([FAKE_TAINT] if shape.fake_taint else []), *shape.taints]
    annotations = {FAKE_ANNOTATION: "fake", "node.alpha.kubernetes.io/ttl": "0", **shape.annotations}
    common = _labels(shape)
    info = {"architecture": "amd64", "operatingSystem": "linux"}
    for offset in range(shape.count):
        name = f"{shape.prefix}{shape.first + offset}"
        labels = {"kubernetes.io/hostname": name, **common}
        for label, places in ((ZONE_LABEL, shape.zones), (RACK_LABEL, shape.racks)):
            if places:
                labels.setdefault(label, places[offset % len(places)])
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "annotations": annotations, "labels": labels},
            "spec": {"taints": taints} if taints else {},
            "status": {"capacity": resources, "allocatable": resources, "nodeInfo": info},
        }


def _resources(shape: NodeShape) -> dict[str, str]:
    amounts = {"cpu": shape.cpu, "memory": shape.memory, "pods": shape.pods, **shape.resources}
    if shape.gpus and not shape.dra:
        amounts[shape.gpu_resource] = str(shape.gpus)
    return {name: canonical(amount) for name, amount in amounts.items()}


def _labels(shape: NodeShape) -> dict[str, str]:
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/role": "agent",
        "node-role.kubernetes.io/agent": "",
        "type": "kwok",
    }
    gpus = shape.devices if shape.dra == "nvidia" else 0 if shape.dra else shape.gpus
    if gpus and shape.gpu_resource.startswith("nvidia.com/"):
        labels |= gpu_labels(shape.gpu_product, gpus)
    return labels | dict(shape.labels)


def parse_taint(text: str) -> Object:
    """A taint as kubectl writes it: `key=value:Effect` or `key:Effect`."""
    pair, colon, effect = text.rpartition(":")
    key, equals, value = pair.partition("=")
    if not colon or not key or effect not in _EFFECTS:
        raise ValueError(f"taint {text!r}: expected key=value:Effect with an effect of {', '.join(_EFFECTS)}")
    return {"key": key, "value": value, "effect": effect} if equals else {"key": key, "effect": effect}
