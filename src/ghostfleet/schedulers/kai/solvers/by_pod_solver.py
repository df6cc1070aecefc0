"""Trying one scenario: evict victims, place everybody anew in queue order, and see whether the job got its place.

The recorded victims go, then node by node of the latest victim all potential victims that have a task there. Victims
that find a place again are moved (or stay, if it is their own); the others stay evicted. The validator has the last
word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ghostfleet.schedulers.kai.allocating import allocate_job, is_hopeless
from ghostfleet.schedulers.kai.job_order import JobsOrder, OrderOptions
from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.pod_status import PIPELINED, RELEASING
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.scenario import Scenario
from ghostfleet.schedulers.kai.search import NO_PLACE, SOLVED
from ghostfleet.schedulers.kai.session import Session
from ghostfleet.schedulers.kai.statement import Eviction, Statement

__all__ = ["ByPodSolver", "Solution", "Validators"]

#: By name, what must hold for a scenario.
Validators = Mapping[str, Callable[[Scenario], bool]]


@dataclass(frozen=True)
class Solution:
    """The victims, as tasks and as the groups they came in, and the statement that makes it so.

    `evicted` were evicted to try it, the victims among them, and all were by the checkpoint."""

    victim_tasks: Sequence[PodInfo]
    victim_jobs: Sequence[PodGroupInfo]
    statement: Statement
    evicted: Sequence[PodInfo]
    checkpoint: int


class ByPodSolver:
    """`pending` are all jobs that wait: they are gone through in their order, though none of them is placed."""

    def __init__(
        self,
        session: Session,
        feasible: Mapping[str, NodeInfo],
        pending: Mapping[str, PodGroupInfo],
        validators: Validators,
        action: str,
    ) -> None:
        self._session = session
        self._feasible = dict(feasible)
        self._pending = pending
        self._validators = validators
        self._refused_by = ""
        self._action = action

    def solve(self, scenario: Scenario, kept: Statement | None) -> tuple[Solution | None, str]:
        """How the scenario works out, or None with nothing changed, and what ruled it out.

        `kept` is a statement in which the recorded victims are evicted already, and nothing else."""
        statement = kept or self._session.statement()
        start = statement.checkpoint()
        self._refused_by = NO_PLACE
        found = None
        if kept is not None or self._evict(statement, scenario.recorded_tasks, scenario.preemptor):
            found = self._solve(scenario, statement)
        if found is not None:
            return found, SOLVED
        statement.rollback(start)
        return None, self._refused_by

    def _solve(self, scenario: Scenario, statement: Statement) -> Solution | None:
        recorded = scenario.recorded_tasks
        latest = scenario.latest_potential_victim()
        if latest is None:
            checkpoint = statement.checkpoint()
            if not recorded or not self._simulate(scenario, statement, recorded):
                return None
            return self._validated(scenario, statement, recorded, checkpoint)
        for node in dict.fromkeys(task.node for task in latest.tasks()):
            checkpoint = statement.checkpoint()
            potential = scenario.victim_tasks_on(node)
            if not self._evict(statement, potential, scenario.preemptor):
                return None
            added = self._add_feasible(potential)
            victims = [*recorded, *potential]
            evicted = statement.checkpoint()
            if self._simulate(scenario, statement, victims):
                return self._validated(scenario, statement, victims, evicted)
            for name in added:
                del self._feasible[name]
            statement.rollback(checkpoint)
        return None

    def _evict(self, statement: Statement, tasks: Sequence[PodInfo], preemptor: PodGroupInfo) -> bool:
        eviction = Eviction(self._action, preemptor)
        return all(statement.evict(task, eviction) for task in tasks)

    def _add_feasible(self, tasks: Sequence[PodInfo]) -> list[str]:
        added = [name for name in dict.fromkeys(task.node for task in tasks) if name not in self._feasible]
        for name in added:
            self._feasible[name] = self._session.nodes[name]
        return added

    def _simulate(self, scenario: Scenario, statement: Statement, victims: Sequence[PodInfo]) -> bool:
        """Place victims and the job anew, in queue order among all that wait; whether the job got its place."""
        session, preemptor = self._session, scenario.preemptor
        victim_jobs = {task.pod.job for task in victims}
        candidates = dict(self._pending)
        candidates.update((uid, session.jobs[uid]) for uid in victim_jobs)
        candidates[preemptor.uid] = preemptor
        order = JobsOrder(session, OrderOptions(fixed_ranks=True), candidates.values())
        nodes = list(self._feasible.values())
        placed = False
        while order:
            job = order.pop()
            if job is None:
                break
            if job.uid == preemptor.uid:
                placed = allocate_job(session, statement, nodes, job, pipeline_only=True)
                if not placed:
                    return False
            elif job.uid in victim_jobs and not is_hopeless(session, nodes, job):
                allocate_job(session, statement, nodes, job, pipeline_only=True)
        return placed

    def _validated(
        self, scenario: Scenario, statement: Statement, victims: Sequence[PodInfo], checkpoint: int
    ) -> Solution | None:
        evicted = [task for task in victims if task.status == RELEASING]
        moved = [task for task in victims if task.status == PIPELINED]
        scenario.look_again()
        for name, is_valid in self._validators.items():
            if not is_valid(scenario):
                self._refused_by = name
                return None
        tasks = [*evicted, *moved]
        return Solution(tasks, _groups_of(tasks, scenario), statement, victims, checkpoint)


def _groups_of(tasks: Sequence[PodInfo], scenario: Scenario) -> list[PodGroupInfo]:
    """The groups in which victims came, each once, those of a job together."""
    groups: dict[str, dict[int, PodGroupInfo]] = {}
    for task in tasks:
        group = scenario.representative_of(task)
        if group is not None:
            groups.setdefault(group.uid, {})[id(group)] = group
    return [group for found in groups.values() for group in found.values()]
