"""elastic: jobs below their minimum first, then those that have exactly it, then those that have more."""

from __future__ import annotations

from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.session import Session

__all__ = ["Elastic"]

BELOW, EXACTLY, ABOVE = range(3)


class Elastic:
    def on_session_open(self, session: Session) -> None:
        session.job_order_keys.append(_state)


def _state(job: PodGroupInfo) -> int:
    state = EXACTLY
    for pod_set in job.pod_sets.values():
        if pod_set.active_allocated < pod_set.min_available:
            return BELOW
        if pod_set.active_allocated > pod_set.min_available:
            state = ABOVE
    return state
