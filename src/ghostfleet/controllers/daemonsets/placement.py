"""Placement: which nodes a DaemonSet's pods belong on.

A pod *runs* on a node that it asks for and whose taints it tolerates; one that is there *stays* as long as it
tolerates the taints that would drive it away. Daemons tolerate what is wrong with nodes: they are often there to put
it right. Each pod is tied to its node by an affinity, and the scheduler puts it there.
"""

from __future__ import annotations

from ghostfleet.controllers.nodes.affinity import matches_node
from ghostfleet.controllers.nodes.taints import NOT_READY, UNREACHABLE, tolerates
from ghostfleet.core.changes import Object

__all__ = ["daemon_tolerations", "may_run", "tied_to"]

_TOLERATED: tuple[Object, ...] = (
    {"key": NOT_READY, "operator": "Exists", "effect": "NoExecute"},
    {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute"},
    {"key": "node.kubernetes.io/disk-pressure", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/pid-pressure", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"},
)
_NETWORK: Object = {"key": "node.kubernetes.io/network-unavailable", "operator": "Exists", "effect": "NoSchedule"}


def daemon_tolerations(spec: Object) -> list[Object]:
    """The tolerations of a daemon: its own, and those that every daemon has."""
    given: list[Object] = list(spec.get("tolerations") or ())
    every = (*_TOLERATED, _NETWORK) if spec.get("hostNetwork") else _TOLERATED
    fields = ("key", "operator", "effect")
    known = [tuple(each.get(field) for field in fields) for each in given]
    return given + [each for each in every if tuple(each[field] for field in fields) not in known]


def may_run(owner: Object, node: Object) -> tuple[bool, bool]:
    """Whether a pod of the set is to run on a node, and whether one that is there may stay."""
    spec = owner["spec"]["template"]["spec"]
    if spec.get("nodeName", node["metadata"]["name"]) != node["metadata"]["name"] or not matches_node(spec, node):
        return False, False
    tolerations = daemon_tolerations(spec)
    hated = {
        taint.get("effect")
        for taint in node["spec"].get("taints") or ()
        if not any(tolerates(each, taint) for each in tolerations)
    }
    return not hated & {"NoExecute", "NoSchedule"}, "NoExecute" not in hated


def tied_to(spec: Object, node: str) -> Object:
    """The fields of a pod's spec that tie it to its node."""
    affinity = spec.get("affinity") or {}
    only = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]}
    required = {
        **(affinity.get("nodeAffinity") or {}),
        "requiredDuringSchedulingIgnoredDuringExecution": only,
    }
    return {"affinity": {**affinity, "nodeAffinity": required}}
