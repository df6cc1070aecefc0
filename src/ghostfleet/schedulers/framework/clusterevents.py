"""Cluster events and queueing hints: what happened since the last look, and whom it may help.

A pod that single nodes were too small for is helped by a node that fits now; one that a plugin ruled nodes out for is
helped by the events which that plugin registers for.
"""

from __future__ import annotations

import numpy as np

from ghostfleet.schedulers.framework.cyclestate import CycleState
from ghostfleet.schedulers.framework.profile import REGISTRY

__all__ = ["NODES", "PODS", "ClusterEvents"]

#: Nodes came, went or changed; pods on nodes did. Other events are named by the kinds of objects that changed.
NODES, PODS = "nodes", "pods"
_ONE_BY_ONE = 8


class ClusterEvents:
    """What happened since the last look."""

    __slots__ = ("freed", "seen")

    def __init__(self) -> None:
        #: Slots of nodes that came, changed, or that something left.
        self.freed: dict[int, None] = {}
        #: Events by name.
        self.seen: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self.freed or self.seen)

    def note(self, event: str) -> None:
        self.seen[event] = None

    @property
    def only_pods_came(self) -> bool:
        """Whether nothing happened but that pods came to nodes, which helps few."""
        return not self.freed and all(event == PODS for event in self.seen)

    def help(self, plugins: frozenset[str], cycle: CycleState | None) -> bool:
        """Whether any of it may help pods that these plugins ruled nodes out for."""
        if not plugins:
            return NODES in self.seen
        for name in plugins:
            plugin = REGISTRY.get(name)
            events = plugin.events if plugin is not None else frozenset()
            if (self.freed and NODES in events) or any(event in events for event in self.seen):
                return True
        return bool(self.freed) and self._fits_now(cycle)

    def _fits_now(self, cycle: CycleState | None) -> bool:
        if cycle is None or cycle.may_preempt:
            return True
        if len(self.freed) <= _ONE_BY_ONE:
            fits = any(cycle.value(slot) >= 0 for slot in self.freed)
        else:
            fits = bool(cycle.possible(np.fromiter(self.freed, np.int64, len(self.freed))).any())
        # What is wrong with a pod is told when it is tried.
        return fits or cycle.error is not None
