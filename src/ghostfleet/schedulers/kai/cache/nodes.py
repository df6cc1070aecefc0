"""Nodes, from objects to infos."""

from __future__ import annotations

from collections.abc import Mapping

from ghostfleet.controllers.kai.constants import GPU
from ghostfleet.core import quantity
from ghostfleet.core.changes import Object
from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.resources import Resource, is_mig

__all__ = ["WORKER_LABELS", "node_facts", "node_info", "scalar_amount"]

#: Published: pkg/common/constants/constants.go; with `restrict-node-scheduling` only nodes with one of them are used.
WORKER_LABELS = ("node-role.kubernetes.io/gpu-worker", "node-role.kubernetes.io/cpu-worker")

#: Published: pkg/scheduler/scheduler_util/node_conditions.go; these conditions must not hold.
_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
_NANO = 10**9
_USUAL_PODS = 110


def node_facts(node: Object) -> tuple[object, ...]:
    """All of a node that matters here, to be compared: heartbeats change none of it."""
    spec, status = node.get("spec") or {}, node.get("status") or {}
    return (
        node["metadata"].get("labels"),
        spec.get("taints"),
        spec.get("unschedulable"),
        status.get("allocatable"),
        _not_ready(node),
    )


def node_info(node: Object, dra_gpus: int = 0) -> NodeInfo:
    """A node without tasks."""
    amounts: Mapping[str, str] = (node.get("status") or {}).get("allocatable") or {}
    scalars = {
        name: scalar_amount(name, _nano(amounts, name) // _NANO)
        for name in sorted(amounts)
        if ("/" in name or name.startswith("hugepages-")) and name != GPU
    }
    pods = _nano(amounts, "pods") // _NANO if "pods" in amounts else _USUAL_PODS
    resource = Resource(
        cpu=_nano(amounts, "cpu") // 10**6,
        memory=_nano(amounts, "memory") // _NANO,
        gpus=_nano(amounts, GPU) // _NANO,
        pods=pods,
        scalars=scalars,
    )
    return NodeInfo(
        node["metadata"]["name"],
        resource,
        node["metadata"].get("labels") or {},
        max_tasks=pods,
        taints=(node.get("spec") or {}).get("taints") or (),
        not_ready=_not_ready(node),
        dra_gpus=dra_gpus,
    )


def scalar_amount(name: str, count: int) -> int:
    """An extended resource as KAI counts it: in thousandths, but for MIG instances."""
    return count if is_mig(name) else count * 1000


def _nano(amounts: Mapping[str, str], name: str) -> int:
    stated = amounts.get(name)
    return quantity.parse(stated).nano if stated is not None else 0


def _not_ready(node: Object) -> tuple[str, ...]:
    """Why no pod may come, in KAI's words."""
    reasons = ["node is unschedulable"] if (node.get("spec") or {}).get("unschedulable") else []
    for condition in (node.get("status") or {}).get("conditions") or ():
        kind, status = condition.get("type"), condition.get("status")
        if kind == "Ready" and status != "True":
            reasons.append("node has NotReady condition")
        elif kind in _PRESSURES and status != "False":
            reasons.append(f"node has {kind} condition")
    return tuple(reasons)
