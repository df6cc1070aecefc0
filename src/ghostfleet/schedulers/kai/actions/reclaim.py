"""reclaim: a queue below its fair share takes resources back from preemptible jobs of other queues."""

from __future__ import annotations

from ghostfleet.schedulers.kai.job_order import JobsOrder, OrderOptions, pending_jobs
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.search import Search
from ghostfleet.schedulers.kai.session import Session
from ghostfleet.schedulers.kai.solvers.feasible_nodes import feasible_nodes
from ghostfleet.schedulers.kai.solvers.job_solver import JobSolver
from ghostfleet.schedulers.kai.solvers.memory import ALIKE_FAILED, SearchMemory
from ghostfleet.schedulers.kai.solvers.representatives import MinimalJobRepresentatives

__all__ = ["reclaim"]

NAME = "reclaim"
_VICTIMS = OrderOptions(filter_non_preemptible=True, filter_non_active=True, victims=True, fixed_ranks=True)


def reclaim(session: Session) -> None:
    failed: dict[str, MinimalJobRepresentatives] = {}
    memory = SearchMemory(session)
    order = pending_jobs(session, NAME)
    while order:
        job = order.pop()
        if job is None:
            break
        if not session.can_reclaim_resources(job):
            session.searches.append(Search(NAME, job.uid, not_begun="its queue would be over its fair share"))
            continue
        failed_here = failed.setdefault(job.queue, MinimalJobRepresentatives())
        if session.config.use_scheduling_signatures and not failed_here.is_easier(job):
            session.searches.append(Search(NAME, job.uid, not_begun=ALIKE_FAILED))
            continue
        if not _attempt(session, memory, job):
            failed_here.update(job)


def _attempt(session: Session, memory: SearchMemory, job: PodGroupInfo) -> bool:
    for start in session.on_job_solution_start:
        start()
    nodes = feasible_nodes(session.nodes.values(), job)
    victims = memory.victims(job.queue, lambda: _victims(session, job))
    statement = JobSolver(session, memory, nodes, session.reclaim_validators, victims, NAME).solve(job)
    if statement is None:
        return False
    statement.commit()
    return True


def _victims(session: Session, job: PodGroupInfo) -> JobsOrder:
    candidates = (
        victim
        for victim in session.jobs.values()
        if victim.queue != job.queue and all(allowed(job, victim) for allowed in session.reclaim_victim_filters)
    )
    return JobsOrder(session, _VICTIMS, candidates)
