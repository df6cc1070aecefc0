"""stalegangeviction: a gang that lost pods and stayed too small for longer than the grace loses the others too."""

from __future__ import annotations

from ghostfleet.schedulers.kai.eviction_messages import gang_message
from ghostfleet.schedulers.kai.pod_status import ACTIVE_ALLOCATED
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.session import Session

__all__ = ["stalegangeviction"]

NAME = "stalegangeviction"


def stalegangeviction(session: Session) -> None:
    for job in session.jobs.values():
        if job.is_stale:
            _handle_stale(session, job)
        elif job.stale_since is not None:
            job.stale_since = None
            job.stale = False


def _handle_stale(session: Session, job: PodGroupInfo) -> None:
    if job.stale_since is None:
        job.stale_since = session.now
    grace = session.config.staleness_grace
    if grace < 0 or session.now - job.stale_since < grace:
        return
    job.stale = True
    tasks = [task for task in job.tasks() if task.status & ACTIVE_ALLOCATED]
    for task in tasks:
        session.evict(task, NAME, gang_message(task, job), len(tasks))
