"""Diagnosis: why a pod could not be placed, in kube-scheduler's words.

Every node is ruled out by the first plugin that objects; the message counts nodes by reason, sorted as texts. Nodes
whose reason may go away when pods leave are *open* to preemption, the others are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ghostfleet.schedulers.kube.affinity import MINDED, NOT_AWAY, NOT_NEAR
from ghostfleet.schedulers.kube.fitting import shortages
from ghostfleet.schedulers.kube.plan import Plan
from ghostfleet.schedulers.kube.spreading import NO_LABEL, NOT_MET
from ghostfleet.schedulers.kube.state import ClusterState
from ghostfleet.schedulers.kube.table import BoolArray
from ghostfleet.schedulers.kube.trial import Trial, refusal_with_nominated

__all__ = ["Diagnosis", "diagnose", "told"]


class Diagnosis(NamedTuple):
    """What came of looking at all nodes."""

    #: The message about nodes: counts and reasons, or what was wrong before any node was looked at.
    message: str
    plugins: frozenset[str]
    #: Slots that preemption may open.
    open: list[int]


def told(nodes: int, reasons: Mapping[str, int]) -> str:
    """The sentence about nodes and reasons."""
    listed = sorted(f"{count} {reason}" for reason, count in reasons.items())
    head = f"0/{nodes} nodes are available:"
    return f"{head} {', '.join(listed)}." if listed else head


def diagnose(state: ClusterState, plan: Plan, uid: str) -> Diagnosis:
    """Why a pod of this plan fits nowhere."""
    return _Examination(state, plan, uid).result()


class _Examination:
    def __init__(self, state: ClusterState, plan: Plan, uid: str) -> None:
        self._state = state
        self._plan = plan
        self._uid = uid
        table = state.table
        self._slots = np.arange(table.capacity)
        plan.possible(self._slots)
        self._left: BoolArray = table.present.copy()
        self._open: BoolArray = np.zeros(table.capacity, np.bool_)
        self._reasons: dict[str, int] = {}
        self._plugins: set[str] = set()

    def result(self) -> Diagnosis:
        self._by_name()
        for plugin, reason, allowed in self._plan.rulings:
            self._rule_out(plugin, reason, ~allowed, final=True)
        if self._plan.ports:
            free = self._state.ports.free_on(self._plan.ports, self._state.table.capacity)
            reason = "node(s) didn't have free ports for the requested pod ports"
            self._rule_out("NodePorts", reason, ~free, final=False)
        self._by_resources()
        self._by_volumes()
        self._by_spread()
        self._by_affinity()
        self._by_nominations()
        message = told(len(self._state.table), self._reasons)
        order = self._state.table.tree.order()[: len(self._state.table)]
        return Diagnosis(message, frozenset(self._plugins), [int(slot) for slot in order[self._open[order]]])

    def _rule_out(self, plugin: str, reason: str, out: BoolArray, *, final: bool) -> None:
        hit = self._left & out
        count = int(hit.sum())
        if count:
            self._reasons[reason] = self._reasons.get(reason, 0) + count
            self._plugins.add(plugin)
            if not final:
                self._open |= hit
            self._left = self._left & ~out

    def _by_name(self) -> None:
        named = self._plan.named
        if named is None:
            return
        slots = self._state.table.slots
        others = self._left.copy()
        others[[slots[name] for name in named if name in slots]] = False
        self._rule_out("NodeAffinity", "node(s) didn't satisfy plugin(s) [NodeAffinity]", others, final=True)

    def _by_resources(self) -> None:
        if "NodeResourcesFit" not in self._plan.profile.filters:
            return
        left = self._left
        out: BoolArray = np.zeros(len(left), np.bool_)
        hopeless: BoolArray = np.zeros(len(left), np.bool_)
        for shortage in shortages(self._state.table, self._plan.needs):
            hit = left & shortage.short
            if count := int(hit.sum()):
                self._reasons[shortage.reason] = count
                out |= hit
                hopeless |= hit & shortage.hopeless
        if out.any():
            self._plugins.add("NodeResourcesFit")
            self._open |= out & ~hopeless
            self._left = left & ~out

    def _by_volumes(self) -> None:
        plan = self._plan
        if plan.facts.disks:
            clash = [self._left[slot] and not self._state.disks_free(int(slot), plan.facts) for slot in self._slots]
            out: BoolArray = np.array(clash, np.bool_)
            self._rule_out("VolumeRestrictions", "node(s) had no available disk", out, final=False)
        if plan.volumes is None:
            return
        for plugin in ("VolumeRestrictions", "VolumeBinding", "VolumeZone"):
            # A plugin tells all its reasons for a node; so all its rulings look at the same nodes.
            before = self._left
            for name, reason, allowed, final in plan.volumes.rulings:
                if name == plugin:
                    self._left = before
                    self._rule_out(plugin, reason, ~allowed, final=final)
            for name, _, allowed, _ in plan.volumes.rulings:
                if name == plugin:
                    self._left = self._left & allowed

    def _by_spread(self) -> None:
        if self._plan.hard is not None:
            lacking, skewed = self._plan.hard.check(self._slots)
            self._rule_out("PodTopologySpread", NO_LABEL, lacking, final=True)
            self._rule_out("PodTopologySpread", NOT_MET, skewed, final=False)

    def _by_affinity(self) -> None:
        affinity = self._plan.affinity
        if "InterPodAffinity" in self._plan.profile.filters and affinity.filters:
            lonely, unwanted, minded = affinity.check(self._slots)
            self._rule_out("InterPodAffinity", NOT_NEAR, lonely, final=True)
            self._rule_out("InterPodAffinity", NOT_AWAY, unwanted, final=False)
            self._rule_out("InterPodAffinity", MINDED, minded, final=False)

    def _by_nominations(self) -> None:
        """Nodes that would be possible, but are promised to others."""
        for slot in self._state.nominated:
            if self._left[slot]:
                trial = Trial(self._state, self._plan, slot)
                refused = refusal_with_nominated(self._state, trial, self._uid, self._plan.facts.priority)
                if refused is not None:
                    self._left[slot] = False
                    self._plugins.add(refused.plugin)
                    self._open[slot] = self._open[slot] or not refused.final
                    for reason in refused.reasons:
                        self._reasons[reason] = self._reasons.get(reason, 0) + 1
