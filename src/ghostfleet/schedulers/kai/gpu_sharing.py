"""Where on a node a task that shares GPUs goes: on groups that have room, or on whole GPUs that become groups."""

from __future__ import annotations

from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.session import WHOLE_GPU, Session
from ghostfleet.schedulers.kai.statement import Statement

__all__ = ["allocate_fractional_task"]


def allocate_fractional_task(
    session: Session, statement: Statement, task: PodInfo, node: NodeInfo, pipeline_only: bool
) -> bool:
    """Allocate or pipeline a task on the best GPUs of a node; false if they do not suffice."""
    found = _preferable_gpus(session, node, task, pipeline_only)
    if found is None:
        return False
    groups, releasing = found
    task.gpu_groups = groups
    if pipeline_only or releasing:
        done = statement.pipeline(task, node.name, update_if_there=False)
    else:
        done = statement.allocate(task, node.name)
    if not done:
        task.gpu_groups = ()
    return done


def _preferable_gpus(
    session: Session, node: NodeInfo, task: PodInfo, pipeline_only: bool
) -> tuple[tuple[str, ...], bool] | None:
    """The groups, and whether somebody must leave them first."""
    request = task.pod.request
    groups: list[str] = []
    releasing = False
    for gpu in session.fitting_gpus(node, task):
        if gpu == WHOLE_GPU:
            releasing = releasing or pipeline_only or not node.is_task_allocatable(task.pod, task)
            groups.append(session.cluster.new_gpu_group())
        else:
            free = node.shared.fits_idle_on(request, gpu) and node.is_task_allocatable(task.pod, task)
            releasing = releasing or not free
            groups.append(gpu)
        if len(groups) == request.count:
            return tuple(groups), releasing
    return None
