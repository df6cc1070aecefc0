"""`/ghostfleet`: what no other API server has, for our own tools.

The *time* of the cluster and its *mode* let a client tell cluster time when the clock is scaled; the profile says how
fast the cluster's components are modelled, and the dispatcher which one stands in front of the scheduler. What else
makes the cluster what it is stands beside them, and how long each modelled limit held something up. A server without
this path is not ours.
"""

from __future__ import annotations

from ghostfleet import __version__
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import Clock, WallClock
from ghostfleet.server.responses import Answer, object_answer

__all__ = ["PATH", "about_answer"]

PATH = "ghostfleet"


def about_answer(clock: Clock, made: Object) -> Answer:
    """`made` is what the cluster says of itself."""
    scale = clock.scale if isinstance(clock, WallClock) else 0.0
    return object_answer(
        200,
        {
            "profile": "",
            "dispatcher": "",
            **made,
            "ghostfleet": __version__,
            "microseconds": clock.now(),
            "scale": scale,
        },
    )
