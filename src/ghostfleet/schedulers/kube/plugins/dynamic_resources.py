"""DynamicResources: speaks up whenever a pod fails, for there are no claims it could give back."""

from __future__ import annotations

from ghostfleet.core.changes import Object
from ghostfleet.schedulers.framework.cyclestate import CycleState
from ghostfleet.schedulers.framework.diagnosis import Diagnosis
from ghostfleet.schedulers.framework.plugin import Plugin, PostFilterResult

__all__ = ["DynamicResources"]


class DynamicResources(Plugin):
    """Has its word in the messages of pods that fit nowhere."""

    name = "DynamicResources"

    def post_filter(self, cycle: CycleState, pod: Object, found: Diagnosis, now: int) -> PostFilterResult:  # noqa: ARG002
        if cycle.rejection is not None:
            # It was never asked about the pod, stumbles over that, and so keeps preemption from its turn.
            return PostFilterResult("not found", nominate=None, final=True)
        return PostFilterResult("no new claims to deallocate")
