"""Bind requests: what the scheduler asks the binder for, and how one is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ghostfleet.core.changes import Object

__all__ = ["bind_request", "is_failed", "is_for_fraction"]


def bind_request(
    pod: Object,
    node: str,
    *,
    received_type: str = "Regular",
    gpus: int = 0,
    portion: float = 1.0,
    gpu_groups: Sequence[str] = (),
    claims: Sequence[Object] = (),
    labels: Mapping[str, str] | None = None,
    backoff_limit: int | None = None,
) -> Object:
    """The request that a pod is bound to a node, as the scheduler writes it: named as the pod, and gone with it."""
    own = pod["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": own["name"], "uid": own["uid"]}
    metadata = {
        "name": own["name"],
        "namespace": own["namespace"],
        "generation": 1,
        "labels": {"pod-name": own["name"], "selected-node": node, **(labels or {})},
        "ownerReferences": [owner],
    }
    spec: Object = {
        "podName": own["name"],
        "selectedNode": node,
        "receivedResourceType": received_type,
        "receivedGPU": {"count": gpus, "portion": f"{portion:.2f}"},
    }
    if gpu_groups:
        spec["selectedGPUGroups"] = list(gpu_groups)
    if claims:
        spec["resourceClaimAllocations"] = list(claims)
    if backoff_limit is not None:
        spec["backoffLimit"] = backoff_limit
    return {"apiVersion": "scheduling.run.ai/v1alpha2", "kind": "BindRequest", "metadata": metadata, "spec": spec}


def is_for_fraction(request: Object) -> bool:
    """Whether a pod gets parts of GPUs."""
    return bool((request.get("spec") or {}).get("receivedResourceType") == "Fraction")


def is_failed(request: Object) -> bool:
    """Whether the binder has given up; the scheduler then removes the request and decides anew."""
    status = request.get("status") or {}
    limit = (request.get("spec") or {}).get("backoffLimit")
    return status.get("phase") == "Failed" and (limit is None or status.get("failedAttempts", 0) >= limit)
