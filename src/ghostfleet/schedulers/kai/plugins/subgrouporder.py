"""subgrouporder: pod sets below their minimum first, then those with fewer tasks for their minimum."""

from __future__ import annotations

import math

from ghostfleet.schedulers.kai.session import Session
from ghostfleet.schedulers.kai.subgroup_info import PodSet

__all__ = ["SubGroupOrder"]


class SubGroupOrder:
    def on_session_open(self, session: Session) -> None:
        session.pod_set_order_keys.append(_rank)


def _rank(pod_set: PodSet) -> tuple[int, float]:
    if pod_set.active_allocated < pod_set.min_available:
        return (0, 0.0)
    if pod_set.min_available:
        return (1, pod_set.active_allocated / pod_set.min_available)
    return (1, math.inf)
