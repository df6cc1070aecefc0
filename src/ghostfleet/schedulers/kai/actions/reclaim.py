"""reclaim: a queue below its fair share takes resources back from preemptible jobs of other queues."""

from __future__ import annotations

from ghostfleet.schedulers.kai.actions.searching import Searching
from ghostfleet.schedulers.kai.job_order import JobsOrder, OrderOptions, pending_jobs
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.session import Session

__all__ = ["reclaim"]

NAME = "reclaim"
_VICTIMS = OrderOptions(filter_non_preemptible=True, filter_non_active=True, victims=True, fixed_ranks=True)


def reclaim(session: Session) -> None:
    searching = Searching(session, NAME)

    def may_try(job: PodGroupInfo) -> bool:
        return session.can_reclaim_resources(job) or searching.pass_over(job, "its queue would be over its fair share")

    def attempt(job: PodGroupInfo) -> bool:
        for start in session.on_job_solution_start:
            start()
        nodes = session.nodes.values()
        return searching.solve(job, nodes, session.reclaim_validators, job.queue, lambda: _victims(session, job))

    searching.run(pending_jobs(session, NAME), attempt, pool=lambda job: job.queue, may_try=may_try)


def _victims(session: Session, job: PodGroupInfo) -> JobsOrder:
    candidates = (
        victim
        for victim in session.jobs.values()
        if victim.queue != job.queue and all(allowed(job, victim) for allowed in session.reclaim_victim_filters)
    )
    return JobsOrder(session, _VICTIMS, candidates)
