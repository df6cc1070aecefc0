"""NodeUnschedulable: nodes that are cordoned are not for new pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ghostfleet.schedulers.framework.nodematcher import tolerates
from ghostfleet.schedulers.framework.plugin import Filter, Objection, Plugin, Slots
from ghostfleet.schedulers.framework.podinfo import PodInfo
from ghostfleet.schedulers.framework.snapshot import Snapshot

__all__ = ["NodeUnschedulable"]

_TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


class NodeUnschedulable(Plugin):
    """Rules out nodes with spec.unschedulable, unless a pod tolerates the taint that stands for it."""

    name = "NodeUnschedulable"

    def __init__(self, snapshot: Snapshot, arguments: Any = None) -> None:
        super().__init__(snapshot, arguments)
        self._filter = _Cordoned(snapshot)

    def pre_filter(self, pod: PodInfo) -> Filter | None:
        return None if any(tolerates(each, _TAINT) for each in pod.info.tolerations) else self._filter


class _Cordoned(Filter):
    def __init__(self, snapshot: Snapshot) -> None:
        self._nodes = snapshot.nodes

    def objections(self, slots: Slots) -> Sequence[Objection]:
        return (Objection("node(s) were unschedulable", self._nodes.unschedulable[slots], False),)
