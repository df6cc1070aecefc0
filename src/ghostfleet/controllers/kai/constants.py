"""The names that KAI gives to kinds, labels and annotations, and what an installation may change of them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "BIND_REQUESTS",
    "GPU",
    "GPU_FRACTION",
    "GPU_FRACTIONS_NUM_DEVICES",
    "GPU_GROUP",
    "GPU_INDEX",
    "GPU_MEMORY",
    "POD_GROUPS",
    "POD_GROUP_ANNOTATION",
    "QUEUES",
    "RECEIVED_RESOURCE_TYPE",
    "RESERVATION",
    "SCHEDULING_SHARDS",
    "SUB_GROUP_LABEL",
    "TOPOLOGIES",
    "KaiConfig",
]

QUEUES = "queues.scheduling.run.ai"
POD_GROUPS = "podgroups.scheduling.run.ai"
BIND_REQUESTS = "bindrequests.scheduling.run.ai"
TOPOLOGIES = "topologies.kai.scheduler"
SCHEDULING_SHARDS = "schedulingshards.kai.scheduler"

GPU = "nvidia.com/gpu"
#: In which pod group a pod is.
POD_GROUP_ANNOTATION = "pod-group-name"
SUB_GROUP_LABEL = "kai.scheduler/subgroup-name"
GPU_FRACTION = "gpu-fraction"
GPU_MEMORY = "gpu-memory"
GPU_FRACTIONS_NUM_DEVICES = "gpu-fraction-num-devices"
RECEIVED_RESOURCE_TYPE = "received-resource-type"
#: Which shared GPU a pod is on; a pod on several has a label of its own for each, `runai-gpu-group/<group>`.
GPU_GROUP = "runai-gpu-group"
#: The device that a reservation pod was given.
GPU_INDEX = "run.ai/reserve_for_gpu_index"
#: Namespace, service account and app label of the pods that hold GPUs for fractions.
RESERVATION = "kai-resource-reservation"


@dataclass(frozen=True, slots=True)
class KaiConfig:
    """What flags of KAI's programs set, the same for all of them."""

    scheduler_name: str = "kai-scheduler"
    queue_label: str = "kai.scheduler/queue"
    node_pool_label: str = "kai.scheduler/node-pool"
    #: Pods of a Knative revision are one gang.
    knative_gang: bool = True
