"""Scenarios for a part of a job, one after the other: each has one more victim job, or one more task of an elastic one,
than the last.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from ghostfleet.schedulers.kai.allocation_info import tasks_to_allocate, tasks_to_evict
from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.scenario import Scenario
from ghostfleet.schedulers.kai.search import Search
from ghostfleet.schedulers.kai.session import Session
from ghostfleet.schedulers.kai.solvers.scenario_filters import scenario_filters
from ghostfleet.schedulers.kai.victims import VictimsReplay

__all__ = ["ScenarioBuilder"]


class ScenarioBuilder:
    """Accumulates victims and leaves out scenarios that a filter rules out."""

    def __init__(
        self,
        session: Session,
        pending_job: PodGroupInfo,
        recorded_jobs: Sequence[PodGroupInfo],
        victims: VictimsReplay,
        feasible: Mapping[str, NodeInfo],
        idle_gpus: Mapping[str, float],
        search: Search,
        whole: Container[str] = (),
    ) -> None:
        self._session = session
        self._search = search
        self._victims = victims
        self._scenario: Scenario | None = None
        self._recorded: set[str] = set()
        #: Jobs all of whose tasks are recorded victims.
        self._whole = whole
        if tasks_to_allocate(session, pending_job, real=False):
            self._scenario = Scenario(session.jobs, pending_job, recorded_jobs)
            self._recorded = {task.uid for task in self._scenario.recorded_tasks}
            self._filters = scenario_filters(self._scenario, session.nodes, feasible, idle_gpus)

    def first(self) -> Scenario | None:
        """The scenario without new victims, or the first after it that is not ruled out.

        None for a part that has nothing to allocate, on which KAI v0.13 crashes."""
        if self._scenario is None:
            return None
        return self._scenario if self._is_valid(self._scenario) else self.next()

    def next(self) -> Scenario | None:
        """The next scenario that is not ruled out."""
        scenario = self._scenario
        while scenario is not None:
            job = self._victims.pop()
            if job is None:
                break
            if self._add_victims(scenario, job) and self._is_valid(scenario):
                return scenario
        return None

    def _is_valid(self, scenario: Scenario) -> bool:
        for each in self._filters:
            if not each.is_valid(scenario):
                self._search.outcomes[each.name] += 1
                if self._session.traced == scenario.preemptor.uid:
                    self._search.tried.append(scenario.told(each.name))
                return False
        return True

    def _add_victims(self, scenario: Scenario, job: PodGroupInfo) -> bool:
        """Add the next tasks of a victim; false if they were recorded before."""
        if job.uid in self._whole:
            return False
        tasks, has_more = tasks_to_evict(self._session, job)
        if any(task.uid in self._recorded for task in tasks):
            remaining = [task for task in job.tasks() if task.uid not in self._recorded]
            if remaining:
                self._victims.push(job.clone_with_tasks(remaining))
            return False
        if has_more:
            taken = {id(task) for task in tasks}
            self._victims.push(job.clone_with_tasks(task for task in job.tasks() if id(task) not in taken))
        scenario.add_potential_victims(tasks)
        return True
