"""PodInfo: what kube-scheduler reads from a pod, read once for all pods alike.

Pods made from one template have the same spec, or an equal one. What matters of it (requests, tolerations, node
affinity, host ports, images, volumes ...) is read once into a *SpecInfo* and shared, by the identity of the spec or by
a *key*, the encoded parts of it that matter for scheduling. Names, labels and the node are not among them: these
belong to the *PodInfo* of each pod.

*Requests* are integers by resource: thousandths of a CPU, whole units of everything else. The *non-zero* requests are
used for scores only: there a container that asks for no CPU or memory counts as a small one, so that many of them
still spread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from ghostfleet.api.extendedresources import is_extended
from ghostfleet.api.podresources import ResourceList, add_resources, container_resources
from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import from_milli, from_value, parse
from ghostfleet.schedulers.framework.terms import PodTerms, pod_terms

__all__ = [
    "CPU",
    "DEFAULT_SCHEDULER",
    "FIELDS",
    "MEMORY",
    "PODS",
    "STORAGE",
    "HostPort",
    "PodInfo",
    "SpecCache",
    "SpecInfo",
    "is_over",
    "is_scalar",
    "pod_requests",
    "priority_of",
]

CPU, MEMORY, STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"

#: What a container without a request counts as in scores (k8s.io/kubernetes pkg/scheduler/util/pod_resources.go).
_NONZERO: ResourceList = {CPU: from_milli(100), MEMORY: from_value(200 * 1024 * 1024)}
_NANO = 10**9
#: The scheduler of pods that name none.
DEFAULT_SCHEDULER = "default-scheduler"
#: Protocol, address, port.
HostPort = tuple[str, str, int]
#: Fields of a spec that a plugin may be about, `hostPorts` being those of its containers; pods without any of a
#: plugin's have nothing to do with it.
FIELDS = (
    "affinity",
    "extendedResources",
    "hostPorts",
    "nodeSelector",
    "resourceClaims",
    "schedulingGates",
    "topologySpreadConstraints",
    "volumes",
)
_DISKS = ("gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd")
_VOLUMES = ("persistentVolumeClaim", "ephemeral", "image", *_DISKS)
_PLAIN = (
    "overhead",
    "resources",
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
    "priority",
    "preemptionPolicy",
    "resourceClaims",
)


class Requests(NamedTuple):
    """The requests of one pod."""

    #: What the node must have, by resource.
    asked: dict[str, int]
    #: CPU and memory with the small amounts for containers that ask for none: what the node is charged in scores.
    nonzero_cpu: int
    nonzero_memory: int
    #: The same for the pod's own score on a node, which looks at containers only.
    score_cpu: int
    score_memory: int
    #: What the pod asks for by its containers only, pod-wide requests left aside.
    by_containers: dict[str, int]


def is_scalar(name: str) -> bool:
    """Whether the resource is counted in whole units of its own: GPUs, huge pages and the like."""
    return "/" in name or name.startswith(("hugepages-", "attachable-volumes-"))


def _is_counted(name: str) -> bool:
    """Whether the scheduler counts the resource at all."""
    return name in (CPU, MEMORY, STORAGE) or is_scalar(name)


def pod_requests(spec: Object) -> Requests:
    """The requests of a pod with this spec."""
    overhead = spec.get("overhead") or {}
    total, scored = container_resources(spec), container_resources(spec, missing=_NONZERO)
    add_resources(scored, overhead)
    pod_wide = {
        name: parse(amount)
        for name, amount in ((spec.get("resources") or {}).get("requests") or {}).items()
        if name in _NONZERO or name.startswith("hugepages-")
    }
    if not pod_wide:
        add_resources(total, overhead)
        asked = by_containers = _amounts(total)
        nonzero = scored
    else:
        nonzero = {**container_resources(spec, missing=_left_open(total, pod_wide, overhead)), **pod_wide}
        add_resources(nonzero, overhead)
        whole = {**total, **pod_wide}
        add_resources(total, overhead)
        add_resources(whole, overhead)
        asked, by_containers = _amounts(whole), _amounts(total)
    return Requests(
        asked,
        _amount(CPU, nonzero),
        _amount(MEMORY, nonzero),
        _amount(CPU, scored),
        _amount(MEMORY, scored),
        by_containers,
    )


def _left_open(*stated: Mapping[str, Any]) -> ResourceList:
    """The small amounts of those resources that nothing is said about."""
    return {name: amount for name, amount in _NONZERO.items() if not any(name in each for each in stated)}


def _amounts(found: ResourceList) -> dict[str, int]:
    return {name: _amount(name, found) for name in sorted(found) if _is_counted(name)}


def _amount(name: str, found: ResourceList) -> int:
    """An amount in the unit the scheduler counts the resource in, rounded up."""
    quantity = found.get(name)
    return 0 if quantity is None else -(-quantity.nano // (10**6 if name == CPU else _NANO))


class SpecInfo:
    """What matters of a pod's spec."""

    __slots__ = (
        "affinity",
        "claims",
        "containers",
        "delta",
        "disks",
        "ephemeral",
        "extended",
        "fields",
        "has_terms",
        "images",
        "is_special",
        "key",
        "node_affinity",
        "node_key",
        "node_selector",
        "ports",
        "preempts",
        "priority",
        "requests",
        "resource_claims",
        "spread",
        "toleration_key",
        "tolerations",
    )

    def __init__(self, spec: Object, key: bytes) -> None:
        self.key = key
        self.requests: Requests = pod_requests(spec)
        self.priority: int = spec.get("priority") or 0
        self.preempts: bool = spec.get("preemptionPolicy") != "Never"
        self.affinity: Mapping[str, Any] = spec.get("affinity") or {}
        self.node_affinity: Mapping[str, Any] = self.affinity.get("nodeAffinity") or {}
        self.node_selector: Mapping[str, str] = spec.get("nodeSelector") or {}
        self.tolerations: list[Object] = spec.get("tolerations") or []
        #: What decides on which nodes the pod may be at all, for caches.
        self.node_key = orjson.dumps([self.node_selector, self.node_affinity])
        self.toleration_key = orjson.dumps(self.tolerations)
        self.ports: tuple[HostPort, ...] = _host_ports(spec)
        #: Resources it asks for that devices may stand for.
        self.extended: tuple[str, ...] = tuple(
            name for name, amount in self.requests.asked.items() if amount and is_extended(name)
        )
        #: Which of the fields that plugins may be about there are.
        own = {"hostPorts": self.ports, "extendedResources": self.extended}
        self.fields = frozenset(field for field in FIELDS if own.get(field) or spec.get(field))
        self.images: tuple[str, ...] = _images(spec)
        self.containers = len(spec.get("containers") or ()) + len(spec.get("initContainers") or ())
        self.spread: list[Object] = spec.get("topologySpreadConstraints") or []
        self.has_terms = bool(self.affinity.get("podAffinity") or self.affinity.get("podAntiAffinity"))
        volumes = spec.get("volumes") or ()
        self.claims: tuple[str, ...] = tuple(
            each["persistentVolumeClaim"]["claimName"] for each in volumes if each.get("persistentVolumeClaim")
        )
        #: Names of volumes whose claims are made for the pod, and named after it.
        self.ephemeral: tuple[str, ...] = tuple(each["name"] for each in volumes if each.get("ephemeral"))
        self.disks: tuple[Object, ...] = tuple(each for each in volumes if any(each.get(disk) for disk in _DISKS))
        #: Claims of devices, as the pod names them.
        self.resource_claims: tuple[Object, ...] = tuple(spec.get("resourceClaims") or ())
        #: Whether the pod takes more of its node than amounts of resources.
        self.is_special = bool(self.ports or self.claims or self.ephemeral or self.disks)
        #: What the pod adds to the columns of its node; filled in by the table of nodes, which knows the columns.
        self.delta: tuple[tuple[int, int], ...] = ()


class PodInfo:
    """A pod: one that waits, one that is on a node, or one that is about to be."""

    __slots__ = ("assumed", "info", "pod", "slot", "terminating", "terms", "uid")

    def __init__(self, pod: Object, info: SpecInfo, slot: int = -1, *, assumed: bool = False) -> None:
        metadata = pod["metadata"]
        self.pod = pod
        self.uid: str = metadata["uid"]
        self.info = info
        #: The slot of its node; -1 without one.
        self.slot = slot
        #: Decided on, but not written yet.
        self.assumed = assumed
        self.terminating = "deletionTimestamp" in metadata
        self.terms: PodTerms | None = pod_terms(info.affinity, metadata["namespace"]) if info.has_terms else None

    @property
    def namespace(self) -> str:
        name: str = self.pod["metadata"]["namespace"]
        return name

    @property
    def name(self) -> str:
        name: str = self.pod["metadata"]["name"]
        return name

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def labels(self) -> Mapping[str, str]:
        return self.pod["metadata"].get("labels") or {}

    @property
    def priority(self) -> int:
        return self.info.priority

    @property
    def requests(self) -> Mapping[str, int]:
        """What it asks for: thousandths of a CPU, whole units of everything else."""
        return self.info.requests.asked

    @property
    def nominated(self) -> str:
        """The node that room is being made on for it; "" for none."""
        node: str = (self.pod.get("status") or {}).get("nominatedNodeName") or ""
        return node


def priority_of(pod: Object) -> int:
    return pod["spec"].get("priority") or 0


def is_over(pod: Object) -> bool:
    """Whether a pod has ended, and so takes nothing any more."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


class SpecCache:
    """SpecInfos by spec."""

    #: Specs remembered by identity; past it all are forgotten, which only costs time.
    LIMIT = 16_384

    def __init__(self) -> None:
        self._by_identity: dict[int, tuple[Object, SpecInfo]] = {}
        self._by_key: dict[bytes, SpecInfo] = {}

    def of(self, spec: Object) -> SpecInfo:
        """What matters of a spec."""
        known = self._by_identity.get(id(spec))
        if known is not None and known[0] is spec:
            return known[1]
        key = _key(spec)
        info = self._by_key.get(key)
        if info is None:
            if len(self._by_key) >= self.LIMIT:
                self._by_key.clear()
            info = self._by_key[key] = SpecInfo(spec, key)
        if len(self._by_identity) >= self.LIMIT:
            self._by_identity.clear()
        self._by_identity[id(spec)] = (spec, info)
        return info


def _key(spec: Object) -> bytes:
    get = spec.get
    parts: list[Any] = [get(field) for field in _PLAIN]
    parts.append([_container_key(each) for each in get("containers") or ()])
    if get("initContainers"):
        parts.append([(*_container_key(each), each.get("restartPolicy")) for each in spec["initContainers"]])
    if get("volumes"):
        parts.append([each for each in spec["volumes"] if any(kind in each for kind in _VOLUMES)])
    return orjson.dumps(parts)


def _container_key(container: Object) -> tuple[Any, ...]:
    resources = container.get("resources")
    return (resources.get("requests") if resources else None, container.get("image"), container.get("ports"))


def _host_ports(spec: Object) -> tuple[HostPort, ...]:
    lasting = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
    return tuple(
        (port.get("protocol") or "TCP", port.get("hostIP") or "0.0.0.0", port["hostPort"])
        for container in (*lasting, *(spec.get("containers") or ()))
        for port in container.get("ports") or ()
        if port.get("hostPort")
    )


def _images(spec: Object) -> tuple[str, ...]:
    named = [each.get("image", "") for each in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))]
    volumes = [each["image"].get("reference", "") for each in spec.get("volumes") or () if each.get("image")]
    return tuple(_tagged(name) for name in (*named, *volumes))


def _tagged(name: str) -> str:
    return name if name.rfind(":") > name.rfind("/") else name + ":latest"
