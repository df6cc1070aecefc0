"""Waiting for something in cluster time, without missing what happens in between.

Measurements note what happens when a watch tells of it; whoever waits looks at these notes often, and asks the cluster
nothing. So what is waited for need not be there at any particular moment.
"""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.core.clock import SECOND
from ghostfleet.drive.interface import Cluster

__all__ = ["until"]

_POLL = SECOND // 10


async def until(cluster: Cluster, done: Callable[[], bool], limit: int) -> bool:
    """Wait until something is the case; false when it is not at a limit in cluster time."""
    while not done():
        left = limit - cluster.now()
        if left <= 0:
            return False
        await cluster.sleep(min(_POLL, left))
    return True
