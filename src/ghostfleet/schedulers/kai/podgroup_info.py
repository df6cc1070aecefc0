"""A pod group, which KAI calls a job: tasks in pod sets, a queue, a priority, and what it holds.

A job keeps an index of its tasks by status, what its tasks hold, and two answers that are asked for again and again:
which tasks to allocate next and what they need. The answers are forgotten whenever a task changes its status. Copies of
a job with some of its tasks (`clone_with_tasks`) stand for parts of it in simulations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ghostfleet.schedulers.kai.fit_errors import JobFitError
from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.pod_status import (
    ACTIVE_ALLOCATED,
    ACTIVE_USED,
    ALLOCATED_STATUSES,
    PENDING,
    PIPELINED,
    SUCCEEDED,
)
from ghostfleet.schedulers.kai.resources import Resource
from ghostfleet.schedulers.kai.subgroup_info import DEFAULT_SUB_GROUP, PodSet, SubGroupSet

__all__ = ["PodGroupInfo"]

NON_PREEMPTIBLE_PRIORITY = 100

_NO_TASKS: dict[str, PodInfo] = {}


class PodGroupInfo:
    """A job. `created`, `last_start` and `stale_since` are times in seconds."""

    __slots__ = (
        "active_allocated_count",
        "allocated",
        "created",
        "fit_errors",
        "init_resource",
        "is_preemptible",
        "last_start",
        "name",
        "namespace",
        "order_key",
        "pod_sets",
        "priority",
        "queue",
        "root",
        "stale",
        "stale_since",
        "status_index",
        "task_errors",
        "tasks_to_allocate",
        "uid",
    )

    def __init__(
        self,
        uid: str,
        queue: str,
        *,
        name: str = "",
        namespace: str = "",
        priority: int = 50,
        preemptible: bool | None = None,
        created: float = 0.0,
        root: SubGroupSet | None = None,
    ) -> None:
        self.uid = uid
        self.name = name or uid
        self.namespace = namespace
        self.queue = queue
        self.priority = priority
        self.is_preemptible = priority < NON_PREEMPTIBLE_PRIORITY if preemptible is None else preemptible
        self.created = created
        self.last_start: float | None = None
        self.stale_since: float | None = None
        self.stale = False
        if root is None:
            root = SubGroupSet()
            root.add_pod_set(PodSet(DEFAULT_SUB_GROUP, 1))
        self.root = root
        self.pod_sets: dict[str, PodSet] = {pod_set.name: pod_set for pod_set in root.all_pod_sets()}
        self.allocated = Resource()
        self.status_index: dict[int, dict[str, PodInfo]] = {}
        self.active_allocated_count = 0
        self.fit_errors: list[JobFitError] = []
        self.task_errors: dict[str, str] = {}
        self.tasks_to_allocate: list[PodInfo] | None = None
        self.init_resource: Resource | None = None
        self.order_key: tuple[object, ...] | None = None

    def start_cycle(self) -> None:
        """Forget what the last cycle found out."""
        self.forget_answers()
        self.forget_errors()

    def forget_errors(self) -> None:
        """It is tried anew: why it was not placed before does not count any more."""
        if self.fit_errors or self.task_errors:
            self.fit_errors = []
            self.task_errors = {}

    def recount(self) -> None:
        """Begin the next cycle with a true count: KAI counts a task twice that is evicted twice in one cycle."""
        self.active_allocated_count = sum(
            len(tasks) for status, tasks in self.status_index.items() if status & ACTIVE_ALLOCATED
        )

    def tasks(self) -> Iterator[PodInfo]:
        """All tasks, pod set by pod set."""
        for pod_set in self.pod_sets.values():
            yield from pod_set.tasks.values()

    def find_task(self, uid: str) -> PodInfo | None:
        for pod_set in self.pod_sets.values():
            if uid in pod_set.tasks:
                return pod_set.tasks[uid]
        return None

    def pod_set_of(self, task: PodInfo) -> PodSet | None:
        return self.pod_sets.get(task.pod.sub_group or DEFAULT_SUB_GROUP)

    def add_task(self, task: PodInfo) -> None:
        """Take in a task; one of a sub group that is not there is left out."""
        pod_set = self.pod_set_of(task)
        if pod_set is None:
            return
        pod_set.assign(task)
        self.status_index.setdefault(task.status, {})[task.uid] = task
        if task.status & ACTIVE_ALLOCATED:
            self.active_allocated_count += 1
        if task.status & ALLOCATED_STATUSES:
            self.allocated.add_requirements(task.pod.request)
        self.forget_answers()

    def remove_task(self, task: PodInfo) -> None:
        """Let go of a task."""
        self._reset(task)
        pod_set = self.pod_set_of(task)
        if pod_set is not None:
            pod_set.remove(task.uid)

    def update_task_status(self, task: PodInfo, status: int) -> None:
        """Give a task a new status; the task may be a copy, which then takes the place of the one that was here."""
        self._reset(task)
        task.status = status
        self.add_task(task)

    def _reset(self, task: PodInfo) -> None:
        present = self.find_task(task.uid)
        if present is None:
            return
        if present.status & ALLOCATED_STATUSES:
            self.allocated.add_requirements(present.pod.request, -1)
        index = self.status_index.get(task.status)
        if index is not None:
            index.pop(task.uid, None)
            if task.status & ACTIVE_ALLOCATED:
                self.active_allocated_count -= 1
            if not index:
                del self.status_index[task.status]
            self.forget_answers()

    def forget_answers(self) -> None:
        """Something changed: what to allocate must be found anew."""
        self.tasks_to_allocate = None
        self.init_resource = None
        self.order_key = None

    @property
    def pending(self) -> dict[str, PodInfo]:
        return self.status_index.get(PENDING, _NO_TASKS)

    @property
    def num_active_used(self) -> int:
        return sum(1 for task in self.tasks() if task.status & ACTIVE_USED)

    @property
    def num_allocated(self) -> int:
        return sum(1 for task in self.tasks() if task.status & ALLOCATED_STATUSES)

    @property
    def is_ready(self) -> bool:
        return all(pod_set.is_ready for pod_set in self.pod_sets.values())

    @property
    def is_elastic(self) -> bool:
        for pod_set in self.pod_sets.values():  # noqa: SIM110  (asked for every victim)
            if pod_set.min_available < len(pod_set.tasks):
                return True
        return False

    @property
    def is_gang_satisfied(self) -> bool:
        return all(pod_set.is_gang_satisfied for pod_set in self.pod_sets.values())

    @property
    def is_stale(self) -> bool:
        """Whether some pods are there while a pod set lacks its minimum, and none has succeeded."""
        if all(pod_set.is_gang_satisfied for pod_set in self.pod_sets.values()) or SUCCEEDED in self.status_index:
            return False
        return any(pod_set.active_used for pod_set in self.pod_sets.values())

    @property
    def should_pipeline(self) -> bool:
        """Whether a pod set waits for somebody to leave and has too few pods that do not."""
        for pod_set in self.pod_sets.values():
            pipelined = sum(1 for task in pod_set.tasks.values() if task.status == PIPELINED)
            standing = sum(1 for task in pod_set.tasks.values() if task.status & (ACTIVE_ALLOCATED & ~PIPELINED))
            if pipelined and standing < pod_set.min_available:
                return True
        return False

    def add_fit_error(self, error: JobFitError) -> None:
        self.fit_errors.append(error)

    def clone_with_tasks(self, tasks: Iterable[PodInfo]) -> PodGroupInfo:
        """A job of the same name with copies of these tasks alone."""
        copy = PodGroupInfo(
            self.uid,
            self.queue,
            name=self.name,
            namespace=self.namespace,
            priority=self.priority,
            preemptible=self.is_preemptible,
            created=self.created,
            root=self.root.clone(),
        )
        for task in tasks:
            copy.add_task(task.clone())
        return copy
