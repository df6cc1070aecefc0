"""allocate: give pending jobs the places that are free, or that are being left, in the order of queues and jobs."""

from __future__ import annotations

from ghostfleet.schedulers.kai.allocating import allocate_job
from ghostfleet.schedulers.kai.allocation_info import has_tasks_to_allocate
from ghostfleet.schedulers.kai.job_order import pending_jobs
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.session import Session
from ghostfleet.schedulers.kai.statement import Statement

__all__ = ["allocate"]


def allocate(session: Session) -> None:
    """An elastic job that has more tasks goes back into the order after every attempt that succeeds."""
    order = pending_jobs(session, "allocate")
    nodes = session.open_nodes()
    while order:
        job = order.pop()
        if job is None:
            break
        session.attempts.append(job.uid)
        statement = session.statement()
        started = job.num_allocated > 0
        if not allocate_job(session, statement, nodes, job, pipeline_only=False):
            statement.discard()
            continue
        pipelined = _pipeline_if_needed(statement, job)
        statement.commit()
        if not pipelined and not started:
            job.last_start = session.now
        if has_tasks_to_allocate(job, real=True):
            order.push(job)


def _pipeline_if_needed(statement: Statement, job: PodGroupInfo) -> bool:
    if not job.should_pipeline:
        return False
    statement.convert_all_allocated_to_pipelined(job.uid)
    return True
