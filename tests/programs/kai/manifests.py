"""Manifests of what the cases are made of: queues, pods and their owners, all for KAI.

GPUs are what queues are about here, so a queue has as much CPU and memory as there is unless a case says otherwise, and
a pod asks for one core.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.stages.nodes import NodeShape, fake_nodes

Object = dict[str, Any]

QUEUE_LABEL = "kai.scheduler/queue"
GPU = "nvidia.com/gpu"
COMPANY = "company"
RACK = "topology.example.com/rack"
BLOCK = "topology.example.com/block"


def nodes(count: int, gpus: int, **more: Any) -> list[Object]:
    """Nodes without KWOK's taint, so that pods need not tolerate it."""
    return list(fake_nodes(NodeShape(count=count, gpus=gpus, fake_taint=False, **more)))


def share(quota: float = -1, limit: float = -1, weight: float = 1) -> Object:
    return {"quota": quota, "limit": limit, "overQuotaWeight": weight}


def queue(name: str, quota: float, limit: float = -1, weight: float = 1, **more: Any) -> Object:
    """A queue with so many GPUs; `parent`, `cpu` and `memory`, and fields of its spec.

    Where none is given it is below COMPANY, which has all there is: KAI v0.12 takes jobs on the second level only.
    """
    resources = {
        "cpu": more.pop("cpu", share()),
        "memory": more.pop("memory", share()),
        "gpu": share(quota, limit, weight),
    }
    parent = more.pop("parent", COMPANY)
    spec = {"resources": resources, **({"parentQueue": parent} if parent else {}), **more}
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def topology(name: str, *labels: str) -> Object:
    spec = {"levels": [{"nodeLabel": label} for label in labels]}
    return {"apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology", "metadata": {"name": name}, "spec": spec}


def template(gpus: int = 1, cpu: str = "1", resources: Object | None = None, **spec: Any) -> Object:
    """The spec of a pod."""
    limits = {**({GPU: str(gpus)} if gpus else {}), **(resources or {})}
    requests = {"cpu": cpu, **limits}
    container = {"name": "main", "image": "training", "resources": {"requests": requests, "limits": limits}}
    ports = spec.pop("ports", None)
    if ports:
        container["ports"] = ports
    return {"schedulerName": "kai-scheduler", "containers": [container], **spec}


def pod(
    name: str, queue: str, gpus: int = 1, labels: Object | None = None, notes: Object | None = None, **spec: Any
) -> Object:
    metadata: Object = {"name": name, "labels": {**({QUEUE_LABEL: queue} if queue else {}), **(labels or {})}}
    if notes:
        metadata["annotations"] = notes
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template(gpus, **spec)}


def shared(name: str, queue: str, **notes: str) -> Object:
    """A pod that asks for parts of GPUs: `gpu_fraction="0.5"`. KAI's webhook would add where its settings are kept."""
    asked = {key.replace("_", "-"): value for key, value in notes.items()}
    return pod(name, queue, 0, notes={"runai/shared-gpu-configmap": f"{name}-shared-gpu", **asked})


def replicas(
    name: str,
    queue: str,
    count: int = 1,
    gpus: int = 1,
    kind: str = "ReplicaSet",
    labels: Object | None = None,
    **spec: Any,
) -> Object:
    """Pods that are made anew when they are evicted; for KAI any one of a ReplicaSet may run alone."""
    own = {QUEUE_LABEL: queue, **(labels or {})}
    inside = {"metadata": {"labels": {"app": name, **own}}, "spec": template(gpus, **spec)}
    outside = {"replicas": count, "selector": {"matchLabels": {"app": name}}, "template": inside}
    if kind == "StatefulSet":
        outside |= {"serviceName": name, "podManagementPolicy": "Parallel"}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "labels": own}, "spec": outside}


def job(name: str, queue: str, count: int, gpus: int = 1, **spec: Any) -> Object:
    """A Job that does not end."""
    labels = {QUEUE_LABEL: queue}
    metadata = {"labels": labels, "annotations": {"ghostfleet.dev/duration": "10000h"}}
    inside = {"metadata": metadata, "spec": template(gpus, restartPolicy="Never", **spec)}
    outside = {"parallelism": count, "completions": count, "template": inside}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": labels}, "spec": outside}


def gang(
    name: str,
    queue: str,
    workers: int,
    gpus: int = 1,
    least: int | None = None,
    labels: Object | None = None,
    notes: Object | None = None,
    **spec: Any,
) -> Object:
    """A PyTorchJob of a master and workers, of which all must run, or `least` of them."""
    own = {QUEUE_LABEL: queue, **(labels or {})}
    inside = template(gpus, **spec)
    inside["containers"][0]["name"] = "pytorch"
    roles = {"Master": 1, "Worker": workers}
    specs = {
        role: {"replicas": count, "template": {"metadata": {"labels": own}, "spec": inside}}
        for role, count in roles.items()
        if count
    }
    policy = {"runPolicy": {"schedulingPolicy": {"minAvailable": least}}} if least is not None else {}
    metadata: Object = {"name": name, "labels": own, **({"annotations": notes} if notes else {})}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": metadata,
        "spec": {**policy, "pytorchReplicaSpecs": specs},
    }


def near(topology: str, required: str = "", preferred: str = "") -> Object:
    """Annotations that ask for places near to each other."""
    notes = {"kai.scheduler/topology": topology}
    if required:
        notes["kai.scheduler/topology-required-placement"] = required
    if preferred:
        notes["kai.scheduler/topology-preferred-placement"] = preferred
    return notes
