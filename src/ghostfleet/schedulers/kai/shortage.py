"""What a node lacks for a pod, in KAI's short words."""

from __future__ import annotations

from collections.abc import Iterator

from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.pod_info import Pod

__all__ = ["shortages"]


def shortages(pod: Pod, node: NodeInfo) -> list[str]:
    """Every resource that is short; shared GPUs count as used."""
    return list(_shortages(pod, node))


def _shortages(pod: Pod, node: NodeInfo) -> Iterator[str]:
    request, there, used = pod.request, node.allocatable, node.used
    if request.mig:
        for profile, count in request.mig.items():
            if there.scalars.get(profile, 0) - used.scalars.get(profile, 0) < count:
                yield f"node(s) didn't have enough of mig profile: {profile}"
    else:
        if request.device_gpus > there.gpus - used.gpus - node.shared.used_count():
            yield "node(s) didn't have enough resources: GPUs"
        if request.gpu_memory > node.gpu_memory:
            yield "node(s) didn't have enough resources: GPU memory"
    if int(request.cpu) > int(there.cpu - used.cpu):
        yield "node(s) didn't have enough resources: CPU cores"
    if request.memory > there.memory - used.memory:
        yield "node(s) didn't have enough resources: memory"
    if request.pods > there.pods - used.pods:
        yield "node(s) didn't have enough resources: pods"
    for name, count in request.scalars.items():
        if there.scalars.get(name, 0) - used.scalars.get(name, 0) < count:
            yield f"node(s) didn't have enough resources: {name}"
