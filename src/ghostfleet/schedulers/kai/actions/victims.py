"""Which jobs can be victims at all."""

from __future__ import annotations

from ghostfleet.schedulers.kai.pod_status import ALIVE
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.session import Session

__all__ = ["is_alive"]


def is_alive(session: Session, job: PodGroupInfo) -> bool:
    """Whether some task is there or may come, and not on a node that is gone."""
    return any(task.status & ALIVE and (not task.node or task.node in session.nodes) for task in job.tasks())
