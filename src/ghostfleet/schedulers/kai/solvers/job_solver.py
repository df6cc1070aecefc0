"""Finding victims for a job: task by task, each time with one task more, and with the victims found so far as given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ghostfleet.schedulers.kai.allocation_info import tasks_to_allocate
from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.search import Search
from ghostfleet.schedulers.kai.session import Session
from ghostfleet.schedulers.kai.solvers.by_pod_solver import ByPodSolver, Solution, Validators
from ghostfleet.schedulers.kai.solvers.memory import SearchMemory
from ghostfleet.schedulers.kai.solvers.scenario_builder import ScenarioBuilder
from ghostfleet.schedulers.kai.statement import Statement
from ghostfleet.schedulers.kai.subgroup_info import DEFAULT_SUB_GROUP
from ghostfleet.schedulers.kai.victims import Victims

__all__ = ["JobSolver"]


class JobSolver:
    """Searches for one job among its victims."""

    def __init__(
        self,
        session: Session,
        memory: SearchMemory,
        feasible: Sequence[NodeInfo],
        validators: Validators,
        victims: Victims,
        action: str,
    ) -> None:
        self._session = session
        self._feasible = feasible
        self._validators = validators
        self._victims = victims
        self._pending = memory.pending()
        self._idle_gpus = memory.idle_gpus()
        self._action = action
        #: The statement of the last part, in which its victims are evicted, and their jobs.
        self._kept: Statement | None = None
        self._whole: set[str] = set()

    def solve(self, job: PodGroupInfo) -> Statement | None:
        """The statement that gives the job its place, or None with nothing changed."""
        used_before = job.num_active_used
        pending: list[PodInfo] = []
        solution: Solution | None = None
        tasks = tasks_to_allocate(self._session, job, real=False)
        search = Search(self._action, job.uid, len(tasks))
        self._session.searches.append(search)
        for task in tasks:
            pending.append(task)
            found = self._solve_partial(_part_of(job, pending), solution, search)
            if found is None:
                self._go_back()
                break
            search.tasks_solved += 1
            if len(pending) < len(tasks):
                self._prepare_next(found)
            solution = found
        if solution is None or not job.is_gang_satisfied or used_before >= job.num_active_used:
            return None
        return solution.statement

    def _solve_partial(self, part: PodGroupInfo, so_far: Solution | None, search: Search) -> Solution | None:
        session = self._session
        feasible = {node.name: node for node in self._feasible}
        recorded: Sequence[PodGroupInfo] = ()
        if so_far is not None:
            recorded = so_far.victim_jobs
            feasible.update((task.node, session.nodes[task.node]) for task in so_far.victim_tasks)
        victims = self._victims.replay(self._go_back)
        builder = ScenarioBuilder(session, part, recorded, victims, feasible, self._idle_gpus, search, self._whole)
        solver = ByPodSolver(session, feasible, self._pending, self._validators, self._action)
        scenario = builder.first()
        while scenario is not None:
            session.refused_by = None
            found, outcome = solver.solve(scenario, self._kept)
            search.outcomes[outcome] += 1
            if session.traced == part.uid:
                search.tried.append(scenario.told(outcome, session.refused_by))
            if found is not None:
                return found
            scenario = builder.next()
        return None

    def _prepare_next(self, solution: Solution) -> None:
        """Take a part's places back before the next part is looked at.

        KAI takes the evictions back too, only to evict the same jobs again, also those of their tasks that found a
        place. They can stay evicted if they are whole jobs, which nobody will look at again, if none shares a GPU (a
        task that moved to another GPU of its node leaves traces in KAI's books when it is taken back), and if enough
        of the next victims are known already: their order must not be asked for meanwhile."""
        session = self._session
        self._whole = {group.uid for group in solution.victim_jobs if _size(group) == _size(session.jobs[group.uid])}
        shared = any(task.pod.is_shared_request for task in solution.evicted)
        if shared or len(self._whole) < len(solution.victim_jobs) or not self._victims.look_ahead():
            self._kept = None
            self._whole = set()
            solution.statement.discard()
            self._victims.find_more()
            return
        self._kept = solution.statement
        self._kept.rollback(solution.checkpoint)
        for task in solution.evicted:
            if task.pod.job not in self._whole:
                self._kept.undo_eviction(task)

    def _go_back(self) -> None:
        """Take all evictions back."""
        if self._kept is not None:
            self._kept.discard()
            self._kept = None
            self._whole = set()


def _size(job: PodGroupInfo) -> int:
    return sum(len(pod_set.tasks) for pod_set in job.pod_sets.values())


def _part_of(job: PodGroupInfo, tasks: Sequence[PodInfo]) -> PodGroupInfo:
    """A job of these tasks alone, all of which are needed."""
    part = job.clone_with_tasks(tasks)
    needed = Counter(task.pod.sub_group if task.pod.sub_group in part.pod_sets else DEFAULT_SUB_GROUP for task in tasks)
    for name, count in needed.items():
        if name in part.pod_sets:
            part.pod_sets[name].min_available = count
    return part
