"""preempt: a job takes the place of preemptible jobs of lower priority in its own queue."""

from __future__ import annotations

from ghostfleet.schedulers.kai.actions.searching import Searching
from ghostfleet.schedulers.kai.actions.victims import is_alive
from ghostfleet.schedulers.kai.allocation_info import tasks_to_allocate
from ghostfleet.schedulers.kai.job_order import JobsOrder, pending_jobs, victims_order
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.session import Session

__all__ = ["preempt"]

NAME = "preempt"


def preempt(session: Session) -> None:
    searching = Searching(session, NAME)

    def attempt(job: PodGroupInfo) -> bool:
        if session.non_preemptible_over_quota(job, tasks_to_allocate(session, job, real=False)) is not None:
            return searching.pass_over(job, "its queue would be over its quota")
        kind = (job.queue, job.priority)
        nodes = session.nodes.values()
        return searching.solve(job, nodes, session.preempt_validators, kind, lambda: _victims(session, job))

    searching.run(pending_jobs(session, NAME), attempt, pool=lambda job: job.queue)


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
