"""What the owner of an evicted pod is told, in KAI's words."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.queue_info import QueueInfo
from ghostfleet.schedulers.kai.subgroup_info import DEFAULT_SUB_GROUP

__all__ = ["eviction_message", "gang_message"]


def eviction_message(
    queues: Mapping[str, QueueInfo],
    figures: Callable[[str], str] | None,
    action: str,
    task: PodInfo,
    job: PodGroupInfo,
    preemptor: PodGroupInfo,
) -> str:
    """Why a pod was evicted for another job; a reclaimed one is told how the two queues stand."""
    pod = f"{task.pod.namespace}/{task.pod.name}"
    workload = f"{preemptor.namespace}/{preemptor.name}"
    if action == "preempt":
        return f"Pod {pod} was preempted by higher priority workload {workload}"
    if action == "consolidation":
        return f"Pod {pod} was preempted and rescheduled due to bin packing (resource consolidation) procedure"
    message = f"Pod {pod} was preempted by workload {workload}."
    mine, theirs = queues.get(job.queue), queues.get(preemptor.queue)
    if figures is None or mine is None or theirs is None:
        return message
    if mine.parent == theirs.parent:
        told = (mine.uid, theirs.uid)
    else:
        told = (mine.parent, theirs.parent)
    if not all(uid in queues for uid in told):
        return message
    return "\n".join([message, *[figures(uid) for uid in told]])


def gang_message(task: PodInfo, job: PodGroupInfo) -> str:
    """Why a pod of a gang that is too small was evicted."""
    pod = f"{task.pod.namespace}/{task.pod.name}"
    only = job.pod_sets.get(DEFAULT_SUB_GROUP) if len(job.pod_sets) == 1 else None
    told = "Workload doesn't meet the minimum required number of pods"
    if only is not None:
        return f"{told} ({only.min_available}), evicting remaining pod: {pod}"
    name = task.pod.sub_group
    pod_set = job.pod_sets.get(name)
    minimum = f" ({pod_set.min_available})" if pod_set is not None else ""
    return f"{told}{minimum} in sub-group {name}, evicting remaining pod: {pod}"
