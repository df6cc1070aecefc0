"""Diagnosis, as kube-scheduler calls it: why a pod could not be placed, in its words.

Every node is ruled out by the first plugin that objects, which tells all its reasons; the message counts nodes by
reason, sorted as texts. Nodes whose reasons may go away when pods leave are *open* to preemption, the others are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ghostfleet.schedulers.framework.cyclestate import CycleState, Refusal
from ghostfleet.schedulers.framework.nodetable import BoolArray
from ghostfleet.schedulers.framework.plugin import Objection
from ghostfleet.schedulers.framework.snapshot import Snapshot
from ghostfleet.schedulers.framework.statement import Statement

__all__ = ["Diagnosis", "diagnose", "fits_with_nominated", "reasons_text", "refusal_with_nominated"]


class Diagnosis(NamedTuple):
    """What came of looking at all nodes."""

    #: The message about nodes: counts and reasons, or what was wrong before any node was looked at.
    message: str
    plugins: frozenset[str]
    #: Slots that preemption may open.
    open: list[int]


def reasons_text(nodes: int, reasons: Mapping[str, int]) -> str:
    """The sentence about nodes and reasons."""
    listed = sorted(f"{count} {reason}" for reason, count in reasons.items())
    head = f"0/{nodes} nodes are available:"
    return f"{head} {', '.join(listed)}." if listed else head


def refusal_with_nominated(cycle: CycleState, slot: int, uid: str) -> Refusal | None:
    """Why a node is not possible for a pod when nominated pods count, too; None when it fits with and without them."""
    if slot in cycle.snapshot.nominated:
        with _nominated(cycle, slot, uid):
            refused = cycle.refusal(slot)
        if refused is not None:
            return refused
    return cycle.refusal(slot)


def fits_with_nominated(cycle: CycleState, slot: int, uid: str) -> bool:
    """Whether a node is possible for a pod, with and without the pods that are nominated to it."""
    if slot in cycle.snapshot.nominated:
        with _nominated(cycle, slot, uid):
            if not cycle.fits(slot):
                return False
    return cycle.fits(slot)


def _nominated(cycle: CycleState, slot: int, uid: str) -> Statement:
    """What would be if the pods were there that are nominated to a node and have the pod's priority or a higher one."""
    others = [
        each
        for each in cycle.snapshot.nominated[slot].values()
        if each.priority >= cycle.info.priority and each.uid != uid
    ]
    plain = all(each.terms is None for each in others)
    statement = Statement(cycle.snapshot, amounts=plain and cycle.by_amounts)
    for each in others:
        statement.add(each)
    return statement


def diagnose(cycle: CycleState, uid: str) -> Diagnosis:
    """Why a pod of this signature fits nowhere."""
    examination = _Examination(cycle.snapshot)
    nodes = cycle.snapshot.nodes
    slots = np.arange(nodes.capacity)
    if cycle.named is not None:
        others = nodes.present.copy()
        others[[nodes.slots[name] for name in cycle.named if name in nodes.slots]] = False
        examination.rule_out(cycle.named_by[0], [Objection(cycle.not_named(), others, False)])
    for name, each in cycle.filters:
        examination.rule_out(name, cycle.objections(name, each, slots))
    for slot in cycle.snapshot.nominated:
        # Nodes that would be possible, but are nominated to others.
        if examination.left[slot]:
            refused = refusal_with_nominated(cycle, slot, uid)
            if refused is not None:
                only = slots == slot
                refusals = [Objection(reason, only, refused.resolvable) for reason in refused.reasons]
                examination.rule_out(refused.plugin, refusals)
    return examination.result()


class _Examination:
    """All nodes, and what was said of them so far."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._nodes = snapshot.nodes
        self.left: BoolArray = snapshot.nodes.present.copy()
        self._open: BoolArray = np.zeros(len(self.left), np.bool_)
        self._reasons: dict[str, int] = {}
        self._plugins: set[str] = set()

    def rule_out(self, plugin: str, objections: Sequence[Objection]) -> None:
        """A plugin objects to nodes; those that were ruled out before do not count."""
        left = self.left
        out: BoolArray = np.zeros(len(left), np.bool_)
        final: BoolArray = np.zeros(len(left), np.bool_)
        for reason, nodes, resolvable in objections:
            hit = left & nodes
            if count := int(hit.sum()):
                self._reasons[reason] = self._reasons.get(reason, 0) + count
                self._plugins.add(plugin)
                out |= hit
                if not resolvable:
                    final |= hit
        self._open |= out & ~final
        self.left = left & ~out

    def result(self) -> Diagnosis:
        nodes = self._nodes
        order = nodes.tree.order()[: len(nodes)]
        message = reasons_text(len(nodes), self._reasons)
        return Diagnosis(message, frozenset(self._plugins), [int(slot) for slot in order[self._open[order]]])
