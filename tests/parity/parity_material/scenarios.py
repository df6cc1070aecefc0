"""Scenarios for schedulers: small clusters and the pods that come to them, drawn by a seed.

A scenario has *nodes* (GPUs, zones, taints, labels), *residents* (pods that are bound already) and *arrivals*, pods that
come one after the other. Everything is drawn from few values, so that limits are met, selectors match and scores tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

__all__ = ["CLASSES", "Scenario", "scenario"]

Object = dict[str, Any]
_ZONES = ("zone-a", "zone-b", "zone-c")
_MODELS = ("a100", "h100", "l4")
_APPS = ("web", "db", "train")
_ZONE, _HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
_TAINTS = (
    {"key": "gpu", "value": "only", "effect": "NoSchedule"},
    {"key": "spot", "effect": "PreferNoSchedule"},
    {"key": "team", "value": "red", "effect": "NoExecute"},
    {"key": "team", "value": "blue", "effect": "NoSchedule"},
)
#: Priority classes that both clusters have.
CLASSES = {"low": -100, "normal": 10, "high": 1000}


@dataclass(frozen=True)
class Scenario:
    """One cluster and who comes to it."""

    nodes: list[Object]
    residents: list[Object]
    arrivals: list[Object]


def scenario(number: int) -> Scenario:
    """The scenario of a number, the same on every machine."""
    rng = Random(f"scheduler parity {number}")
    nodes = [_node(rng, index) for index in range(rng.randint(1, 9))]
    residents = [_resident(rng, index, nodes) for index in range(rng.randint(0, 12))]
    residents = _that_fit(nodes, residents)
    arrivals = [_pod(rng, f"arrival-{index}") for index in range(rng.randint(1, 4))]
    return Scenario(nodes, residents, arrivals)


def _chance(rng: Random, likelihood: float) -> bool:
    return rng.random() < likelihood


def _node(rng: Random, index: int) -> Object:
    name = f"node-{index}"
    gpus = rng.choice((0, 4, 8))
    labels = {_HOST: name}
    if _chance(rng, 0.8):
        labels[_ZONE] = rng.choice(_ZONES)
    if gpus:
        labels["gpu"] = rng.choice(_MODELS)
    if _chance(rng, 0.3):
        labels["rank"] = str(rng.randint(1, 5))
    amounts = {"cpu": str(rng.choice((4, 8))), "memory": f"{rng.choice((8, 16))}Gi", "pods": str(rng.choice((4, 110)))}
    if gpus:
        amounts["nvidia.com/gpu"] = str(gpus)
    spec: Object = {}
    taints = [taint for taint in _TAINTS if _chance(rng, 0.12)]
    if taints:
        spec["taints"] = taints
    if _chance(rng, 0.08):
        spec["unschedulable"] = True
    ready = {"type": "Ready", "status": "True"}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": status,
    }


def _resident(rng: Random, index: int, nodes: list[Object]) -> Object:
    pod = _pod(rng, f"resident-{index}", rich=0.25)
    pod["spec"]["nodeName"] = rng.choice(nodes)["metadata"]["name"]
    return pod


def _pod(rng: Random, name: str, rich: float = 0.5) -> Object:
    labels = {"app": rng.choice(_APPS)}
    container: Object = {"name": "main", "image": "busybox:1"}
    requests: Object = {}
    if _chance(rng, 0.7):
        requests["cpu"] = rng.choice(("500m", "1", "2", "3500m"))
    if _chance(rng, 0.4):
        requests["memory"] = rng.choice(("1Gi", "3Gi", "9Gi"))
    resources: Object = {"requests": requests} if requests else {}
    if _chance(rng, 0.5):
        resources["limits"] = {"nvidia.com/gpu": str(rng.choice((1, 2, 4, 8)))}
    if resources:
        container["resources"] = resources
    if _chance(rng, 0.15):
        container["ports"] = [
            {"containerPort": 80, "hostPort": rng.choice((8080, 8081)), "protocol": rng.choice(("TCP", "UDP"))}
        ]
    spec: Object = {"automountServiceAccountToken": False, "containers": [container]}
    if _chance(rng, rich):
        _add_wishes(rng, spec, labels)
    if _chance(rng, 0.3):
        spec["priorityClassName"] = rng.choice(tuple(CLASSES))
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


def _add_wishes(rng: Random, spec: Object, labels: Object) -> None:
    if _chance(rng, 0.25):
        spec["nodeSelector"] = rng.choice(({_ZONE: rng.choice(_ZONES)}, {"gpu": rng.choice(_MODELS)}))
    if _chance(rng, 0.4):
        spec["tolerations"] = rng.choice(
            (
                [{"operator": "Exists"}],
                [{"key": "gpu", "operator": "Equal", "value": "only", "effect": "NoSchedule"}],
                [{"key": "team", "operator": "Exists"}],
                [{"key": "spot", "operator": "Exists", "effect": "PreferNoSchedule"}],
            )
        )
    affinity: Object = {}
    if _chance(rng, 0.35):
        affinity["nodeAffinity"] = _node_affinity(rng)
    if _chance(rng, 0.3):
        affinity["podAffinity"] = _pod_terms(rng, labels)
    if _chance(rng, 0.4):
        affinity["podAntiAffinity"] = _pod_terms(rng, labels)
    if affinity:
        spec["affinity"] = affinity
    if _chance(rng, 0.4):
        spec["topologySpreadConstraints"] = [_spread(rng, key, labels) for key in (_ZONE, _HOST) if _chance(rng, 0.7)]


def _node_affinity(rng: Random) -> Object:
    expressions = (
        {"key": "gpu", "operator": "In", "values": [rng.choice(_MODELS), "a100"]},
        {"key": "gpu", "operator": "NotIn", "values": [rng.choice(_MODELS)]},
        {"key": "rank", "operator": "Exists"},
        {"key": "rank", "operator": "Gt", "values": ["2"]},
        {"key": _ZONE, "operator": "DoesNotExist"},
    )
    made: Object = {}
    if _chance(rng, 0.5):
        terms = [{"matchExpressions": [rng.choice(expressions)]} for _ in range(rng.randint(1, 2))]
        made["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if not made or _chance(rng, 0.5):
        made["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": rng.choice((1, 10, 60)), "preference": {"matchExpressions": [rng.choice(expressions)]}}
            for _ in range(rng.randint(1, 2))
        ]
    return made


def _pod_terms(rng: Random, labels: Object) -> Object:
    def term() -> Object:
        app = labels["app"] if _chance(rng, 0.5) else rng.choice(_APPS)
        return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": rng.choice((_ZONE, _HOST))}

    if _chance(rng, 0.5):
        return {"requiredDuringSchedulingIgnoredDuringExecution": [term()]}
    weighted = [{"weight": rng.choice((1, 50, 100)), "podAffinityTerm": term()} for _ in range(rng.randint(1, 2))]
    return {"preferredDuringSchedulingIgnoredDuringExecution": weighted}


def _spread(rng: Random, key: str, labels: Object) -> Object:
    made: Object = {
        "maxSkew": rng.choice((1, 2)),
        "topologyKey": key,
        "whenUnsatisfiable": rng.choice(("DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": {"matchLabels": {"app": labels["app"]}},
    }
    if made["whenUnsatisfiable"] == "DoNotSchedule" and _chance(rng, 0.2):
        made["minDomains"] = rng.randint(2, 4)
    if _chance(rng, 0.2):
        made["nodeTaintsPolicy"] = "Honor"
    if _chance(rng, 0.2):
        made["nodeAffinityPolicy"] = "Ignore"
    return made


def _that_fit(nodes: list[Object], residents: list[Object]) -> list[Object]:
    """Residents as far as their node's GPUs and places go; nodes are crowded, not beyond what can be."""
    free = {node["metadata"]["name"]: _amounts(node) for node in nodes}
    kept = []
    for pod in residents:
        left = free[pod["spec"]["nodeName"]]
        gpus = int(pod["spec"]["containers"][0].get("resources", {}).get("limits", {}).get("nvidia.com/gpu", 0))
        if left[0] >= gpus and left[1] >= 1:
            left[0] -= gpus
            left[1] -= 1
            kept.append(pod)
    return kept


def _amounts(node: Object) -> list[int]:
    amounts = node["status"]["allocatable"]
    return [int(amounts.get("nvidia.com/gpu", 0)), int(amounts["pods"])]
