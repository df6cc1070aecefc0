"""SchedulingGates: a pod with scheduling gates is not tried before the last of them is removed."""

from __future__ import annotations

from ghostfleet.core.changes import Object
from ghostfleet.schedulers.framework.plugin import Plugin

__all__ = ["SchedulingGates"]


class SchedulingGates(Plugin):
    """Keeps pods with spec.schedulingGates out of the queue."""

    name = "SchedulingGates"
    fields = frozenset(("schedulingGates",))

    def pre_enqueue(self, pod: Object) -> bool:
        return not pod["spec"].get("schedulingGates")
