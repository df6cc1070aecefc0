"""Hints: which events may help which pods that failed.

Between two looks at the queue the scheduler takes *notes* of what happened: nodes that came, changed or have more
room, pods that came to nodes or left them, volumes. A kind of pods that single nodes were too small for is helped by
a node that fits now; one that other pods were in the way of, by any change of pods; and so on, by the plugins that
objected.
"""

from __future__ import annotations

import numpy as np

from ghostfleet.schedulers.kube.queue import Kind

__all__ = ["Notes"]

_WIDE = frozenset(("PodTopologySpread", "InterPodAffinity"))
_STORAGE = frozenset(("VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits"))
_ONE_BY_ONE = 8


class Notes:
    """What happened since the last look."""

    __slots__ = ("freed", "nodes", "pods", "volumes")

    def __init__(self) -> None:
        #: Slots of nodes that came, changed, or that something left.
        self.freed: dict[int, None] = {}
        #: Whether nodes came, went or changed; whether pods on nodes did; whether volumes did.
        self.nodes = False
        self.pods = False
        self.volumes = False

    def __bool__(self) -> bool:
        return bool(self.freed) or self.nodes or self.pods or self.volumes

    @property
    def only_pods_came(self) -> bool:
        """Whether nothing happened but that pods came to nodes, which helps few."""
        return not (self.freed or self.nodes or self.volumes)

    def help(self, kind: Kind) -> bool:
        """Whether any of it may help a kind of pods."""
        plugins = kind.plugins
        if not plugins:
            return self.nodes
        if plugins & _WIDE and (self.pods or self.nodes or self.freed):
            return True
        if plugins & _STORAGE and (self.volumes or self.nodes or self.freed):
            return True
        return bool(self.freed) and self._fits_now(kind)

    def _fits_now(self, kind: Kind) -> bool:
        plan = kind.plan
        if plan is None or plan.may_preempt:
            return True
        if len(self.freed) <= _ONE_BY_ONE:
            return any(plan.value(slot) >= 0 for slot in self.freed)
        return bool(plan.possible(np.fromiter(self.freed, np.int64, len(self.freed))).any())
