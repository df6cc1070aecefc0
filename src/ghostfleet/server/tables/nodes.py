"""Nodes, and what nodes run with, in one line.

A node's *roles* are labels: `node-role.kubernetes.io/<role>` or `kubernetes.io/role=<role>`.
"""

from __future__ import annotations

from ghostfleet.core.changes import Object
from ghostfleet.server.tables.cells import condition, created, items, name_of, part
from ghostfleet.server.tables.printers import AGE, NAME, Cell, Printers, text, wide

__all__ = ["NODES"]

NODES = Printers()

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def _status(node: Object) -> str:
    ready = condition(node, "Ready")
    word = "Unknown" if not ready else "Ready" if ready.get("status") == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if part(node, "spec").get("unschedulable") else word


def _roles(node: Object) -> str:
    labels = part(node, "metadata", "labels")
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get(_ROLE_LABEL) or "")
    return ",".join(sorted(roles - {""})) or "<none>"


def _address(node: Object, sort: str) -> str:
    for address in items(part(node, "status"), "addresses"):
        if address.get("type") == sort:
            return address.get("address") or ""
    return "<none>"


@NODES.of(
    "nodes",
    NAME,
    text("Status", "Whether the node is ready and open to pods."),
    text("Roles", "Roles of the node, from its labels."),
    AGE,
    text("Version", "Version of the kubelet."),
    wide("Internal-IP", "Address within the cluster."),
    wide("External-IP", "Address from outside."),
    wide("OS-Image", "Operating system."),
    wide("Kernel-Version", "Version of the kernel."),
    wide("Container-Runtime", "Container runtime and its version."),
)
def node(obj: Object, now: int) -> list[Cell]:
    info = part(obj, "status", "nodeInfo")
    kernel, architecture = info.get("kernelVersion") or "<unknown>", info.get("architecture")
    return [
        name_of(obj),
        _status(obj),
        _roles(obj),
        created(obj, now),
        info.get("kubeletVersion") or "",
        _address(obj, "InternalIP"),
        _address(obj, "ExternalIP"),
        info.get("osImage") or "<unknown>",
        f"{kernel} ({architecture})" if architecture else kernel,
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


@NODES.of("runtimeclasses.node.k8s.io", NAME, text("Handler", "Handler in the container runtime."), AGE)
def runtime_class(obj: Object, now: int) -> list[Cell]:
    return [name_of(obj), obj.get("handler") or "", created(obj, now)]


@NODES.of(
    "leases.coordination.k8s.io",
    NAME,
    text("Holder", "Who holds the lease."),
    AGE,
)
def lease(obj: Object, now: int) -> list[Cell]:
    return [name_of(obj), part(obj, "spec").get("holderIdentity") or "", created(obj, now)]


@NODES.of(
    "leasecandidates.coordination.k8s.io",
    NAME,
    text("LeaseName", "Lease the candidate would hold."),
    text("BinaryVersion", "Version of the candidate's binary."),
    text("EmulationVersion", "Version the candidate behaves as."),
    AGE,
)
def lease_candidate(obj: Object, now: int) -> list[Cell]:
    spec = part(obj, "spec")
    return [
        name_of(obj),
        spec.get("leaseName") or "",
        spec.get("binaryVersion") or "",
        spec.get("emulationVersion") or "",
        created(obj, now),
    ]
