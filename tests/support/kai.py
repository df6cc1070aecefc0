"""Small clusters for KAI, in few words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ghostfleet.schedulers.kai.cluster_info import ClusterInfo
from ghostfleet.schedulers.kai.conf import SchedulerConfiguration
from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.pod_info import FRACTION, GPU_MEMORY, REGULAR, Pod, PodInfo
from ghostfleet.schedulers.kai.pod_status import PENDING, RUNNING
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.queue_info import QueueInfo, ResourceQuota
from ghostfleet.schedulers.kai.resources import Resource, ResourceRequirements
from ghostfleet.schedulers.kai.subgroup_info import DEFAULT_SUB_GROUP, PodSet, SubGroupSet

NOW = 1_000_000.0
#: Like KAI's, but victims are not limited in number and gangs have no grace.
CONFIG = SchedulerConfiguration(
    max_consolidation_preemptees=-1,
    use_scheduling_signatures=False,
    staleness_grace=0.0,
    dynamic_resource_allocation=True,
)
FREE = ResourceQuota(-1, -1, 1)


def node(
    name: str, gpus: int, *, memory: float = 20e9, labels: dict[str, str] | None = None, pods: int = 110
) -> NodeInfo:
    told = {"nvidia.com/gpu.count": str(gpus), "nvidia.com/gpu.memory": "1000", **(labels or {})}
    return NodeInfo(name, Resource(64_000, memory, gpus, pods), told, max_tasks=pods)


def queue(
    name: str,
    parent: str = "",
    *,
    quota: float = 0,
    limit: float = -1,
    weight: float = 1,
    priority: int = 100,
    created: float = 0.0,
    reclaim_min_runtime: float | None = None,
    preempt_min_runtime: float | None = None,
) -> QueueInfo:
    return QueueInfo(
        name,
        parent,
        priority=priority,
        created=created,
        cpu=FREE,
        memory=FREE,
        gpu=ResourceQuota(quota, limit, weight),
        reclaim_min_runtime=reclaim_min_runtime,
        preempt_min_runtime=preempt_min_runtime,
    )


def request(
    gpus: float = 1, *, devices: int = 1, gpu_memory: int = 0, cpu: float = 1000, memory: float = 1e9
) -> ResourceRequirements:
    if gpu_memory:
        return ResourceRequirements(cpu, memory, count=devices, gpu_memory=gpu_memory)
    if gpus >= 1:
        return ResourceRequirements(cpu, memory, count=int(gpus), portion=1.0)
    return ResourceRequirements(cpu, memory, count=devices, portion=gpus)


def job(
    name: str,
    queue_name: str,
    places: Sequence[str],
    asked: ResourceRequirements | None = None,
    *,
    least: int | None = None,
    priority: int = 50,
    age: float = 0.0,
    groups: Sequence[str] = (),
    last_start: float | None = None,
) -> PodGroupInfo:
    """A job with a task for each place; an empty place is a task that waits."""
    asked = asked or request()
    kind = GPU_MEMORY if asked.gpu_memory else FRACTION if 0 < asked.portion < 1 else REGULAR
    root = SubGroupSet()
    root.add_pod_set(PodSet(DEFAULT_SUB_GROUP, len(places) if least is None else least))
    made = PodGroupInfo(name, queue_name, priority=priority, created=NOW - age, root=root)
    for index, place in enumerate(places):
        pod = Pod(f"{name}-{index}", f"{name}-{index}", "default", name, request=asked, request_type=kind)
        made.add_task(PodInfo(pod, RUNNING if place else PENDING, place, tuple(groups) if place else ()))
    made.last_start = last_start
    return made


def cluster(nodes: Iterable[NodeInfo], queues: Iterable[QueueInfo], jobs: Iterable[PodGroupInfo]) -> ClusterInfo:
    made = ClusterInfo({each.name: each for each in nodes}, {}, {each.uid: each for each in queues})
    for each in jobs:
        made.pod_groups[each.uid] = each
        for task in list(each.tasks()):
            if task.node:
                made.nodes[task.node].add_task(task)
    return made
