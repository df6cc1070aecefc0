"""Which tasks of a job to allocate next, and which to evict.

While some pod set is below its minimum, what it lacks is allocated for each such pod set; after that one task at a
time. A job is evicted task by task, the last in order first, as long as a pod set is above its minimum, and then as a
whole.
"""

from __future__ import annotations

from ghostfleet.schedulers.kai.pod_info import GPU_MEMORY, PodInfo
from ghostfleet.schedulers.kai.pod_status import ACTIVE_ALLOCATED
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.resources import Resource, mig_gpus, mig_memory
from ghostfleet.schedulers.kai.session import Session
from ghostfleet.schedulers.kai.subgroup_info import PodSet

__all__ = ["has_tasks_to_allocate", "init_resource", "requested_gpus", "tasks_to_allocate", "tasks_to_evict"]


def has_tasks_to_allocate(job: PodGroupInfo, real: bool) -> bool:
    return any(task.should_allocate(real) for task in job.tasks())


def tasks_to_allocate(session: Session, job: PodGroupInfo, real: bool) -> list[PodInfo]:
    """The tasks of the next attempt, kept until a task of the job changes its status (as KAI keeps them, whatever the
    kind of attempt)."""
    if job.tasks_to_allocate is not None:
        return job.tasks_to_allocate
    pod_sets = list(job.pod_sets.values())
    if len(pod_sets) > 1:
        pod_sets.sort(key=session.pod_set_order_key)
    unsatisfied = sum(1 for pod_set in pod_sets if pod_set.active_allocated < pod_set.min_available)
    found: list[PodInfo] = []
    taken = 0
    for pod_set in pod_sets:
        if taken >= max(unsatisfied, 1):
            break
        tasks = _next_tasks(session, pod_set, real)
        if tasks:
            found += tasks
            taken += 1
    job.tasks_to_allocate = found or None
    return found


def _next_tasks(session: Session, pod_set: PodSet, real: bool) -> list[PodInfo]:
    waiting = [task for task in pod_set.tasks.values() if task.should_allocate(real)]
    if len(waiting) > 1:
        waiting.sort(key=session.task_order_key)
    missing = pod_set.min_available - pod_set.active_allocated
    return waiting[: missing if missing > 0 else 1]


def init_resource(session: Session, job: PodGroupInfo | None) -> Resource:
    """What the tasks of the next attempt need; GPU memory counts as devices of the least memory there is."""
    if job is None:
        return _NOTHING
    if job.init_resource is not None:
        return job.init_resource
    total = Resource()
    for task in tasks_to_allocate(session, job, real=False):
        if not task.should_allocate(real=False):
            continue
        request = task.pod.request
        total.add_requirements(request)
        if task.pod.request_type == GPU_MEMORY:
            total.gpus += request.count * (request.gpu_memory / session.min_gpu_memory)
    job.init_resource = total
    return total


def requested_gpus(session: Session, job: PodGroupInfo) -> tuple[float, int]:
    """The GPUs and the GPU memory of the next attempt, MIG profiles in GPUs and gigabytes."""
    gpus, memory = 0.0, 0
    for task in tasks_to_allocate(session, job, real=False):
        request = task.pod.request
        gpus += request.device_gpus + mig_gpus(request.mig.items())
        memory += request.gpu_memory + mig_memory(request.mig.items())
    return gpus, memory


def tasks_to_evict(session: Session, job: PodGroupInfo) -> tuple[list[PodInfo], bool]:
    """The tasks that a victim job loses next, and whether it has more."""
    pod_sets = list(job.pod_sets.values())
    if len(pod_sets) > 1:
        pod_sets.sort(key=session.pod_set_order_key, reverse=True)
    if any(pod_set.active_allocated > pod_set.min_available for pod_set in pod_sets):
        pod_sets = pod_sets[:1]
    found: list[PodInfo] = []
    for pod_set in pod_sets:
        active = [task for task in pod_set.tasks.values() if task.status & ACTIVE_ALLOCATED]
        if len(active) > 1:
            active.sort(key=session.task_order_key, reverse=True)
        above = pod_set.active_allocated > pod_set.min_available
        found += active[: 1 if above else pod_set.active_allocated]
    return found, len(found) < job.active_allocated_count


_NOTHING = Resource()
