"""Plans: how pods of one kind are placed, worked out once and kept up to date.

Two pods are of one *kind* when nothing that matters to scheduling tells them apart. The plan of a kind knows which
nodes are possible and what they are worth. *Local* plugins look at one node and the pods on it only (taints,
resources, ports); their verdict on a node is one number, its *value*: the weighed score, or -1 when the node is ruled
out. Values are kept for all nodes, and after each bind only the node it touched is looked at again. *Wide* plugins
(spread, pod affinity) look at other nodes too and are asked for the nodes at hand.

A plan that is used for the first times is *cold*: it works out the values of the nodes at hand only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ghostfleet.schedulers.kube.affinity import PodAffinity
from ghostfleet.schedulers.kube.facts import Facts
from ghostfleet.schedulers.kube.fitting import BalanceScorer, FitScorer, fit_needs, fits, fits_all
from ghostfleet.schedulers.kube.matching import node_names
from ghostfleet.schedulers.kube.profile import Profile
from ghostfleet.schedulers.kube.spreading import HardSpread, SoftSpread
from ghostfleet.schedulers.kube.surroundings import Surroundings
from ghostfleet.schedulers.kube.table import BoolArray, IntArray
from ghostfleet.schedulers.kube.terms import SpreadConstraint, pod_terms
from ghostfleet.schedulers.kube.volumes import VolumeVerdict

__all__ = ["Plan", "Ruling", "enough_nodes"]

_LEAST_NODES, _LEAST_PERCENT = 100, 5
_WARM_AFTER = 2
_ONE_BY_ONE = 24


class Ruling(NamedTuple):
    """Nodes that a plugin allows whatever runs on them; all that it rules out, it does for good."""

    plugin: str
    reason: str
    allowed: BoolArray


class Plan:
    """The plan of one kind of pods under one profile."""

    def __init__(
        self,
        around: Surroundings,
        profile: Profile,
        facts: Facts,
        namespace: str,
        labels: Mapping[str, str],
        hard: list[SpreadConstraint],
        soft: list[SpreadConstraint],
        *,
        own_spread: bool,
        volumes: VolumeVerdict | None,
    ) -> None:
        table = around.table
        self._around = around
        self._table = table
        self.profile = profile
        self.facts = facts
        self.namespace = namespace
        self.labels = labels
        self.volumes = volumes
        on = profile.filters
        self.needs = fit_needs(table, facts, profile.ignores)
        self.ports = facts.ports if "NodePorts" in on else ()
        self._fit = FitScorer(table, facts, profile.fit)
        self._balance = BalanceScorer(table, facts, profile.balance)
        self._fits = "NodeResourcesFit" in on
        self._weights = profile.weights
        self._fit_weight = profile.weights.get("NodeResourcesFit", 0)
        balance = profile.weights.get("NodeResourcesBalancedAllocation", 0)
        self._balance_weight = balance if self._balance.applies else 0
        place = (table, around.census, around.matcher, facts, namespace, labels)
        self.hard = HardSpread(*place, hard) if hard and "PodTopologySpread" in on else None
        all_labels = own_spread or not profile.system_defaulted
        self.soft = SoftSpread(*place, soft, all_labels=all_labels) if soft else None
        self.affinity = PodAffinity(
            table,
            around.census,
            namespace,
            labels,
            pod_terms(facts.affinity, namespace),
            hard_weight=profile.hard_weight,
            ignore_held_wishes=profile.ignore_held_wishes,
        )
        self._affine = "InterPodAffinity" in on
        terms = (facts.node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get(
            "nodeSelectorTerms"
        ) or ()
        #: The only nodes to look at, when the pod names them.
        self.named = node_names(terms) if "NodeAffinity" in on else None
        #: What tells the kind from others.
        self.key: tuple[object, ...] = ()
        self.uses = 0
        #: How far the last search had to go.
        self.reach = 0
        self._version = -1
        #: The nodes in their order (twice over), their number, and how many possible ones to look for.
        self.order: IntArray = np.empty(0, np.int64)
        self.nodes = self.enough = 0
        self._seen = 0
        self._warm = False
        self._values: IntArray = np.empty(0, np.int64)
        self.rulings: list[Ruling] = []
        self._base: BoolArray = np.empty(0, np.bool_)
        self._images: IntArray | None = None
        self._disliked: IntArray | None = None
        self._preferred: IntArray | None = None
        self._plain = False

    # -- what only nodes decide --------------------------------------------------------------------------------------

    def _look_at_nodes(self) -> None:
        """Work out again what changes with nodes only."""
        around, facts = self._around, self.facts
        self._version = self._table.version
        self._warm = False
        self.order = self._table.tree.order()
        self.nodes = len(self._table)
        self.enough = enough_nodes(self.nodes, self.profile.percentage)
        self.rulings = [each for each in self._all_rulings() if not each.allowed.all()]
        base: BoolArray = self._table.present.copy()
        for ruling in self.rulings:
            base &= ruling.allowed
        if self.named is not None:
            named = np.zeros(len(base), np.bool_)
            named[[self._table.slots[name] for name in self.named if name in self._table.slots]] = True
            base &= named
        if self.volumes is not None and self.volumes.allowed is not None:
            base &= self.volumes.allowed
        self._base = base
        weights = self._weights
        added = self.profile.added_affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        self._images = around.image_scores(facts) if weights.get("ImageLocality") else None
        self._disliked = around.matcher.disliked(facts) if weights.get("TaintToleration") else None
        self._preferred = around.matcher.preferred(facts, added) if weights.get("NodeAffinity") else None
        compares = self._disliked is not None or self._preferred is not None or self.soft is not None
        wide = self.hard is not None or self.affinity.terms.any
        self._plain = not (compares or wide or self.named is not None or self.volumes is not None)

    def _all_rulings(self) -> list[Ruling]:
        around, facts, on = self._around, self.facts, self.profile.filters
        matcher = around.matcher
        found = []
        if "NodeUnschedulable" in on and (cordoned := matcher.cordoned(facts)) is not None:
            found.append(Ruling("NodeUnschedulable", "node(s) were unschedulable", ~cordoned))
        if "TaintToleration" in on and (tolerated := matcher.tolerated(facts)) is not None:
            found.append(Ruling("TaintToleration", "node(s) had untolerated taint(s)", tolerated))
        if "NodeAffinity" in on:
            added = self.profile.added_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
            if added is not None:
                allowed = matcher.any_term(added.get("nodeSelectorTerms") or ())
                reason = "node(s) didn't match scheduler-enforced node affinity"
                found.append(Ruling("NodeAffinity", reason, allowed))
            if (wanted := matcher.allowed(facts)) is not None:
                found.append(Ruling("NodeAffinity", "node(s) didn't match Pod's node affinity/selector", wanted))
        return found

    # -- values ------------------------------------------------------------------------------------------------------

    def current(self) -> IntArray | None:
        """The values of all nodes by slot, up to date; None while the plan is cold."""
        table = self._table
        if self._version != table.version:
            self._look_at_nodes()
        if not self._warm:
            if self.uses <= _WARM_AFTER:
                return None
            self._warm_up()
        elif self._seen != table.log_start + len(table.log):
            self._catch_up()
        return self._values

    def values(self, window: IntArray) -> IntArray:
        """The values of the nodes in a window."""
        known = self.current()
        if known is None:
            return self._work_out(window)
        answer: IntArray = known[window]
        return answer

    def _warm_up(self) -> None:
        self._around.keep_warm(self)
        self._values = self._work_out(np.arange(self._table.capacity))
        self._seen = self._table.log_end()
        self._warm = True

    def cool_down(self) -> None:
        """Let go of the values, which take much room when nodes are many."""
        self._warm = False
        self.uses = 0
        self._values = np.empty(0, np.int64)

    def _catch_up(self) -> None:
        table = self._table
        behind = self._seen - table.log_start
        if behind < 0:
            self._warm_up()
            return
        touched = table.log[behind:] if behind else table.log
        self._seen = table.log_end()
        values = self._values
        if len(touched) <= _ONE_BY_ONE:
            for slot in touched:
                values[slot] = self.value(slot)
        else:
            slots = np.unique(np.array(touched, np.int64))
            values[slots] = self._work_out(slots)

    def value(self, slot: int) -> int:
        """The value of one node."""
        if self._version != self._table.version:
            self._look_at_nodes()
        table = self._table
        allocatable, used = table.allocatable[slot], table.used[slot]
        if not self._base[slot] or (self._fits and not fits(allocatable, used, self.needs)):
            return -1
        if (self.ports or self.facts.disks) and not self._has_room(slot):
            return -1
        worth = self._fit_weight * self._fit.one(allocatable, used) if self._fit_weight else 0
        if self._balance_weight:
            worth += self._balance_weight * self._balance.one(allocatable, used)
        if self._images is not None:
            worth += self._weights["ImageLocality"] * int(self._images[slot])
        return worth

    def _has_room(self, slot: int) -> bool:
        if self.ports and not self._around.ports.free(slot, self.ports):
            return False
        return not self.facts.disks or self._around.disks_free(slot, self.facts)

    def _work_out(self, slots: IntArray) -> IntArray:
        possible = self.possible(slots)
        worth: IntArray = np.zeros(len(slots), np.int64)
        if self._fit_weight:
            worth += self._fit_weight * self._fit.many(slots)
        if self._balance_weight:
            worth += self._balance_weight * self._balance.many(slots)
        if self._images is not None:
            worth += self._weights["ImageLocality"] * self._images[slots]
        worth[~possible] = -1
        return worth

    def possible(self, slots: Any) -> BoolArray:
        """Whether local plugins allow the nodes at `slots`."""
        if self._version != self._table.version:
            self._look_at_nodes()
        mask: BoolArray = self._base[slots]
        if self._fits:
            mask = mask & fits_all(self._table, self.needs, slots)
        if self.ports:
            mask = mask & self._around.ports.free_on(self.ports, self._table.capacity)[slots]
        if self.facts.disks:
            chosen = np.arange(self._table.capacity)[slots]
            mask = mask & np.array([self._around.disks_free(int(slot), self.facts) for slot in chosen], np.bool_)
        return mask

    # -- wide plugins ------------------------------------------------------------------------------------------------

    @property
    def alone(self) -> bool:
        """Whether nodes are judged one by one, without a look at any other: the usual case, made fast."""
        if self._version != self._table.version:
            self._look_at_nodes()
        return self._plain and not self._around.census.held

    @property
    def may_preempt(self) -> bool:
        """Whether there are pods on nodes that would have to make room for the pod."""
        lowest = self._around.census.lowest_priority()
        return lowest is not None and lowest < self.facts.priority and self.facts.preempts and self.profile.preempts

    @property
    def hopeless(self) -> bool:
        """Whether it is plain that no node is possible now, nor could be made so."""
        if not self.alone or self.may_preempt:
            return False
        values = self.current()
        if values is None:
            return not self.possible(slice(None)).any()
        return not (values >= 0).any()

    @property
    def wide(self) -> bool:
        """Whether other nodes can rule a node out."""
        return self.hard is not None or (self._affine and self.affinity.filters)

    def ruled_out_widely(self, slots: IntArray) -> BoolArray:
        """Nodes at `slots` that wide plugins rule out."""
        out: BoolArray = np.zeros(len(slots), np.bool_)
        if self.hard is not None:
            lacking, skewed = self.hard.check(slots)
            out |= lacking | skewed
        if self._affine and self.affinity.filters:
            lonely, unwanted, minded = self.affinity.check(slots)
            out |= lonely | unwanted | minded
        return out

    @property
    def compares(self) -> bool:
        """Whether some score depends on the other nodes to choose from."""
        return (
            self._disliked is not None
            or self._preferred is not None
            or self.soft is not None
            or (bool(self._weights.get("InterPodAffinity")) and self.affinity.scoring)
        )

    def compared(self, slots: IntArray) -> IntArray:
        """The part of the scores that depends on the nodes to choose from, for exactly these."""
        weights = self._weights
        total: IntArray = np.zeros(len(slots), np.int64)
        if self._disliked is not None:
            total += weights["TaintToleration"] * (100 - _share(self._disliked[slots]))
        if self._preferred is not None:
            total += weights["NodeAffinity"] * _share(self._preferred[slots])
        if self.soft is not None and (weight := weights.get("PodTopologySpread")):
            total += weight * self.soft.scores(slots)
        if (weight := weights.get("InterPodAffinity")) and self.affinity.scoring:
            total += weight * self.affinity.scores(slots)
        return total


def enough_nodes(nodes: int, percentage: int) -> int:
    """How many possible nodes are looked for."""
    if nodes < _LEAST_NODES:
        return nodes
    if not percentage:
        percentage = max(50 - nodes // 125, _LEAST_PERCENT)
    return max(nodes * percentage // 100, _LEAST_NODES)


def _share(counts: IntArray) -> IntArray:
    """Counts as percent of the largest."""
    most = int(counts.max())
    return counts * 100 // most if most else counts
