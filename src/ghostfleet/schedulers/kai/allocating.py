"""Allocating a job: its queue's capacity, sets of nodes by topology, sub groups from the top, tasks one by one; all or
nothing.

In a simulation (`pipeline_only`) nothing is bound: tasks wait for those who would have to leave. A task that fails
leaves a fit error.
"""

from __future__ import annotations

from collections.abc import Sequence

from ghostfleet.schedulers.kai.allocation_info import tasks_to_allocate
from ghostfleet.schedulers.kai.fit_errors import DEFAULT_POD_ERROR, POD_SCHEDULING_ERRORS, JobFitError
from ghostfleet.schedulers.kai.gpu_sharing import allocate_fractional_task
from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.session import Session
from ghostfleet.schedulers.kai.statement import Statement
from ghostfleet.schedulers.kai.subgroup_info import DEFAULT_SUB_GROUP, PodSet, SubGroupSet

__all__ = ["allocate_job", "is_hopeless"]


def allocate_job(
    session: Session, statement: Statement, nodes: Sequence[NodeInfo], job: PodGroupInfo, pipeline_only: bool
) -> bool:
    """Place what the job needs next; false leaves everything as it was."""
    session.pre_job_allocation(job)
    tasks = tasks_to_allocate(session, job, not pipeline_only)
    over = session.job_over_queue_capacity(job, tasks)
    if over is not None:
        if not pipeline_only:
            job.add_fit_error(JobFitError(over.reason, (over.message,), details=over.details))
        return False
    return _Allocation(session, statement, job, pipeline_only).group(job.root, tasks, nodes)


def is_hopeless(session: Session, nodes: Sequence[NodeInfo], job: PodGroupInfo) -> bool:
    """Whether a job without sub groups would fail in a simulation because an alike task just did on these nodes."""
    if job.root.groups or job.root.topology is not None or len(job.pod_sets) > 1:
        return False
    tasks = tasks_to_allocate(session, job, real=False)
    return bool(tasks) and session.is_hopeless(tasks[0], job, nodes) and job.root.pod_sets[0].topology is None


class _Allocation:
    """One attempt for one job."""

    def __init__(self, session: Session, statement: Statement, job: PodGroupInfo, pipeline_only: bool) -> None:
        self._session = session
        self._statement = statement
        self._job = job
        self._pipeline_only = pipeline_only

    def group(self, group: SubGroupSet, tasks: Sequence[PodInfo], nodes: Sequence[NodeInfo]) -> bool:
        pod_sets = list(group.all_pod_sets())
        for node_set in self._session.subset_nodes(self._job, group, pod_sets, tasks, nodes):
            checkpoint = self._statement.checkpoint()
            if self._group_on(group, tasks, node_set):
                return True
            self._statement.rollback(checkpoint)
        return False

    def _group_on(self, group: SubGroupSet, tasks: Sequence[PodInfo], nodes: Sequence[NodeInfo]) -> bool:
        for child in sorted(group.groups, key=lambda each: each.name):
            names = {pod_set.name for pod_set in child.all_pod_sets()}
            if not self.group(child, _of_pod_sets(tasks, names), nodes):
                return False
        pod_sets = group.pod_sets
        if len(pod_sets) > 1:
            pod_sets = sorted(pod_sets, key=self._session.pod_set_order_key)
        return all(self._pod_set(pod_set, _of_pod_sets(tasks, {pod_set.name}), nodes) for pod_set in pod_sets)

    def _pod_set(self, pod_set: PodSet, tasks: Sequence[PodInfo], nodes: Sequence[NodeInfo]) -> bool:
        for node_set in self._session.subset_nodes(self._job, pod_set, [pod_set], tasks, nodes):
            checkpoint = self._statement.checkpoint()
            if self._tasks_on(tasks, node_set):
                return True
            self._statement.rollback(checkpoint)
        return False

    def _tasks_on(self, tasks: Sequence[PodInfo], nodes: Sequence[NodeInfo]) -> bool:
        for index, task in enumerate(tasks):
            if not self._task(task, nodes):
                if not self._pipeline_only:
                    self._note_failure(task, index)
                return False
        return True

    def _task(self, task: PodInfo, nodes: Sequence[NodeInfo]) -> bool:
        session = self._session
        job = session.jobs[task.pod.job]
        refusal = session.pre_predicate(task, job)
        if refusal is not None:
            job.task_errors[task.uid] = refusal
            return False
        if session.is_hopeless(task, job, nodes):
            return self._no_place(task, job, nodes)
        for node in session.node_order.ordered(task, nodes):
            if session.fitting_node(task, job, node) and self._task_on(task, node):
                return True
        session.note_hopeless(task, job, nodes)
        return self._no_place(task, job, nodes)

    def _no_place(self, task: PodInfo, job: PodGroupInfo, nodes: Sequence[NodeInfo]) -> bool:
        if not self._pipeline_only:
            job.task_errors[task.uid] = self._session.refusal(task, job, nodes)
        return False

    def _task_on(self, task: PodInfo, node: NodeInfo) -> bool:
        pod, statement = task.pod, self._statement
        if pod.is_shared_request:
            return allocate_fractional_task(self._session, statement, task, node, self._pipeline_only)
        if not self._pipeline_only and node.is_task_allocatable(pod, task):
            return statement.allocate(task, node.name)
        return statement.pipeline(task, node.name, update_if_there=not self._pipeline_only)

    def _note_failure(self, task: PodInfo, placed: int) -> None:
        """Tell why. (KAI tells it in simulations too, where the reasons are not looked for.)"""
        job = self._job
        why = job.task_errors.get(task.uid, DEFAULT_POD_ERROR)
        pod_set = job.pod_sets[task.pod.sub_group or DEFAULT_SUB_GROUP]
        is_gang = any(each.min_available > 1 for each in job.pod_sets.values())
        if not is_gang or pod_set.active_used >= pod_set.min_available:
            told = f"Resources were not found for pod {task.pod.namespace}/{task.pod.name} due to: {why}"
        elif len(job.pod_sets) == 1 and pod_set.name == DEFAULT_SUB_GROUP:
            told = (
                f"Resources were found for {placed} pods while {pod_set.min_available} are required for gang "
                f"scheduling. Additional pods cannot be scheduled due to: {why}"
            )
        else:
            told = (
                f"Resources were found for {placed} pods from all sub-groups while sub-group {pod_set.name} requires "
                f"{pod_set.min_available} pods for gang scheduling. Additional pods cannot be scheduled in this "
                f"sub-group due to: {why}"
            )
        job.add_fit_error(JobFitError(POD_SCHEDULING_ERRORS, (told,)))


def _of_pod_sets(tasks: Sequence[PodInfo], names: set[str]) -> list[PodInfo]:
    return [task for task in tasks if (task.pod.sub_group or DEFAULT_SUB_GROUP) in names]
