"""Stalls: whether a real cluster stood still while it was measured.

A control plane on a machine that has too much else to do stands still for seconds. A component whose client is at its
rate limit then loses all that the limit would have let through, but for one burst: whatever waits in line behind comes
that much later. Of Jobs that wait, the median may double while totals hardly change. So a *probe* asks the cluster for
something small all the time, and notes how long it took at worst from when it wanted to ask until it was answered.
"""

from __future__ import annotations

import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

from ghostfleet.core.clock import SECOND
from ghostfleet.drive.interface import NAMESPACES, Cluster, ConnectionFailed, Refused

__all__ = ["LONGEST_STALL", "probed"]

T = TypeVar("T")
#: Seconds that the burst of the Job controller's client makes up for: 30 requests at 20 a second.
LONGEST_STALL = 1.5
_STEP = SECOND // 2


async def probed(cluster: Cluster, work: Coroutine[Any, Any, T]) -> tuple[T, float]:
    """Do some work; its outcome, and for how many seconds the cluster stood still at worst meanwhile."""
    probe = _Probe(cluster)
    found: list[T] = []

    async def watched() -> None:
        try:
            found.append(await work)
        finally:
            probe.over = True

    await cluster.together([watched(), probe.ask_on()])
    return found[0], probe.longest / SECOND


class _Probe:
    """Asks until the work is over."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.over = False
        self.longest = 0

    async def ask_on(self) -> None:
        cluster = self._cluster
        while not self.over:
            due = cluster.now() + _STEP
            await cluster.sleep(_STEP)
            # Whether it answers well is for the work to find out.
            with contextlib.suppress(Refused, ConnectionFailed):
                await cluster.get(NAMESPACES, "", "default")
            self.longest = max(self.longest, cluster.now() - due)
