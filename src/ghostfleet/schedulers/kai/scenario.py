"""A scenario: a job that needs room, and victims that would have to make it.

Victims accumulate. *Recorded* ones were found necessary for the first tasks of the job; *potential* ones were added
since. Tasks are kept in the groups in which they came, as copies of their jobs; the tasks a validator sees are the
jobs' own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.search import Tried

__all__ = ["Scenario", "VictimInfo"]


@dataclass
class VictimInfo:
    """A job and those of its tasks that would be evicted."""

    job: PodGroupInfo
    tasks: list[PodInfo] = field(default_factory=list)


class _Group:
    """Victims of one job that came together, and the part of the job that they are, copied when it is asked for.

    The copy must be made before its tasks are evicted: they are taken as they are."""

    __slots__ = ("_part", "job", "tasks")

    def __init__(self, job: PodGroupInfo, tasks: Sequence[PodInfo], part: PodGroupInfo | None = None) -> None:
        self.job = job
        self.tasks = tasks
        self._part = part

    @property
    def part(self) -> PodGroupInfo:
        if self._part is None:
            self._part = self.job.clone_with_tasks(self.tasks)
        return self._part

    def copy_anew(self) -> None:
        self._part = self.job.clone_with_tasks(self.tasks)


class Scenario:
    """`jobs` are the session's; `preemptor` is the part of a job that is to be placed."""

    __slots__ = (
        "_by_node",
        "_groups",
        "_jobs",
        "_shared",
        "pending_tasks",
        "potential_tasks",
        "preemptor",
        "recorded_jobs",
        "recorded_tasks",
        "victims",
    )

    def __init__(
        self, jobs: Mapping[str, PodGroupInfo], preemptor: PodGroupInfo, recorded_jobs: Sequence[PodGroupInfo]
    ) -> None:
        self._jobs = jobs
        self.preemptor = preemptor
        self.pending_tasks = list(preemptor.tasks())
        self.recorded_jobs = recorded_jobs
        self.recorded_tasks = [task for job in recorded_jobs for task in job.tasks()]
        self.potential_tasks: list[PodInfo] = []
        #: By job, as they were when somebody looked last.
        self.victims: dict[str, VictimInfo] = {}
        self._groups: dict[str, list[_Group]] = {}
        self._by_node: dict[str, dict[str, None]] = {}
        #: Recorded jobs whose groups are still those that were recorded.
        self._shared = {job.uid for job in recorded_jobs}
        for job in recorded_jobs:
            self._add_group(_Group(self._jobs[job.uid], list(job.tasks()), job))

    def add_potential_victims(self, tasks: Sequence[PodInfo]) -> None:
        """Add tasks of one job."""
        if not tasks:
            return
        self.potential_tasks += tasks
        job = self._jobs[tasks[0].pod.job]
        if job.uid in self._shared:
            # Recorded tasks of the same job will be evicted a second time, so these must be copies of their own.
            self._shared.discard(job.uid)
            for group in self._groups[job.uid]:
                group.copy_anew()
        self._add_group(_Group(job, tasks))
        for task in tasks:
            self._by_node.setdefault(task.node, {})[task.pod.job] = None

    def _add_group(self, group: _Group) -> None:
        uid = group.job.uid
        self._groups.setdefault(uid, []).append(group)
        victim = self.victims.get(uid)
        if victim is None:
            victim = self.victims[uid] = VictimInfo(group.job)
        victim.tasks += group.tasks

    def latest_potential_victim(self) -> PodGroupInfo | None:
        return self._jobs[self.potential_tasks[-1].pod.job] if self.potential_tasks else None

    def victim_tasks_on(self, node: str) -> list[PodInfo]:
        """All victim tasks of the potential victim jobs that have one on a node."""
        jobs = self._by_node.get(node, ())
        return [task for job in jobs for group in self._groups[job] for task in group.part.tasks()]

    def representative_of(self, task: PodInfo) -> PodGroupInfo | None:
        """The group in which a victim task came."""
        for group in self._groups.get(task.pod.job, ()):
            if any(each.uid == task.uid for each in group.tasks):
                return group.part
        return None

    def told(self, outcome: str, refused_by: object | None = None) -> Tried:
        """What came of it, for those who ask."""
        victims = dict.fromkeys(task.uid for task in (*self.recorded_tasks, *self.potential_tasks))
        return Tried(len(self.pending_tasks), tuple(victims), outcome, refused_by)

    def look_again(self) -> None:
        """Take the tasks of victims as they are now."""
        for victim in self.victims.values():
            current = [victim.job.find_task(task.uid) for task in victim.tasks]
            victim.tasks = [task for task in current if task is not None]
