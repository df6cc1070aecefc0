"""preempt: a job takes the place of preemptible jobs of lower priority in its own queue."""

from __future__ import annotations

from ghostfleet.schedulers.kai.actions.victims import is_alive
from ghostfleet.schedulers.kai.allocation_info import tasks_to_allocate
from ghostfleet.schedulers.kai.job_order import JobsOrder, pending_jobs, victims_order
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.search import Search
from ghostfleet.schedulers.kai.session import Session
from ghostfleet.schedulers.kai.solvers.feasible_nodes import feasible_nodes
from ghostfleet.schedulers.kai.solvers.job_solver import JobSolver
from ghostfleet.schedulers.kai.solvers.memory import ALIKE_FAILED, SearchMemory
from ghostfleet.schedulers.kai.solvers.representatives import MinimalJobRepresentatives

__all__ = ["preempt"]

NAME = "preempt"


def preempt(session: Session) -> None:
    failed: dict[str, MinimalJobRepresentatives] = {}
    memory = SearchMemory(session)
    order = pending_jobs(session, NAME)
    while order:
        job = order.pop()
        if job is None:
            break
        failed_here = failed.setdefault(job.queue, MinimalJobRepresentatives())
        if session.config.use_scheduling_signatures and not failed_here.is_easier(job):
            session.searches.append(Search(NAME, job.uid, not_begun=ALIKE_FAILED))
            continue
        if not _attempt(session, memory, job):
            failed_here.update(job)


def _attempt(session: Session, memory: SearchMemory, job: PodGroupInfo) -> bool:
    if session.non_preemptible_over_quota(job, tasks_to_allocate(session, job, real=False)) is not None:
        session.searches.append(Search(NAME, job.uid, not_begun="its queue would be over its quota"))
        return False
    nodes = feasible_nodes(session.nodes.values(), job)
    victims = memory.victims((job.queue, job.priority), lambda: _victims(session, job))
    statement = JobSolver(session, memory, nodes, session.preempt_validators, victims, NAME).solve(job)
    if statement is None:
        return False
    statement.commit()
    return True


def _victims(session: Session, job: PodGroupInfo) -> JobsOrder:
    candidates = (
        victim
        for victim in session.jobs.values()
        if victim.is_preemptible
        and victim.priority < job.priority
        and victim.queue == job.queue
        and victim.active_allocated_count
        and is_alive(session, victim)
        and all(allowed(job, victim) for allowed in session.preempt_victim_filters)
    )
    return victims_order(session, candidates)
