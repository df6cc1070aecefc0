"""consolidation: move preemptible jobs of any queue together so that a preemptible one gets a place; nobody may lose
its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from ghostfleet.schedulers.kai.actions.searching import Searching
from ghostfleet.schedulers.kai.actions.victims import is_alive
from ghostfleet.schedulers.kai.allocation_info import requested_gpus
from ghostfleet.schedulers.kai.job_order import JobsOrder, pending_jobs, victims_order
from ghostfleet.schedulers.kai.pod_status import RELEASING
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.scenario import Scenario
from ghostfleet.schedulers.kai.session import Session

__all__ = ["consolidation"]

NAME = "consolidation"
NO_LIMIT = -1


def consolidation(session: Session) -> None:
    if session.config.max_consolidation_preemptees == 0:
        return
    searching = Searching(session, NAME)

    def attempt(job: PodGroupInfo) -> bool:
        if not _is_enough(session, job):
            return searching.pass_over(job, "there are too few GPUs left in all")
        # A job that has something is no victim for itself, but may be one for all others.
        kind = job.uid if job.active_allocated_count else None
        return searching.solve(job, session.open_nodes(), _VALIDATORS, kind, lambda: _victims(session, job))

    searching.run(pending_jobs(session, NAME, preemptible_only=True), attempt, pool=lambda _job: "")


def _is_enough(session: Session, job: PodGroupInfo) -> bool:
    """Whether the GPUs that are left everywhere would do if they were in one place."""
    gpus, memory = requested_gpus(session, job)
    there, there_memory = 0.0, 0
    for node in session.nodes.values():
        if not node.not_ready:
            for found, found_memory in (node.idle_gpus(), node.releasing_gpus()):
                there += found
                there_memory += found_memory
    return there >= gpus and there_memory >= memory


def _all_placed(scenario: Scenario) -> bool:
    return not any(task.status == RELEASING for victim in scenario.victims.values() for task in victim.tasks)


_VALIDATORS = {"all victims placed": _all_placed}


def _victims(session: Session, job: PodGroupInfo) -> JobsOrder:
    return victims_order(session, _candidates(session, job))


def _candidates(session: Session, job: PodGroupInfo) -> Iterable[PodGroupInfo]:
    """Preemptible jobs that have something; KAI lets one more pass than its limit says."""
    limit, found = session.config.max_consolidation_preemptees, 0
    for victim in session.jobs.values():
        if not victim.is_preemptible or victim.uid == job.uid or not is_alive(session, victim):
            continue
        if limit != NO_LIMIT and found > limit:
            break
        if victim.active_allocated_count:
            found += 1
            yield victim
