"""CycleState, kept between cycles: what plugins have worked out for the pods of one scheduling signature.

Filters and scores that look at one node and the pods on it give each node one number, its *value*: the weighed score,
or -1 when the node is ruled out. Values are kept for all nodes, and after each bind only the node it touched is looked
at again. Filters that look at the whole cluster, and scores that compare nodes, are asked for the nodes at hand.

A CycleState that is used for the first times is *cold*: it works out the values of the nodes at hand only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ghostfleet.core.changes import Object
from ghostfleet.schedulers.framework.nodetable import BoolArray, IntArray
from ghostfleet.schedulers.framework.plugin import Aborted, Filter, Objection, Plugin, Rejected, Scope, Score
from ghostfleet.schedulers.framework.podinfo import PodInfo

if TYPE_CHECKING:
    from ghostfleet.schedulers.framework.runtime import Framework, Signature

__all__ = ["CycleState", "Refusal", "enough_nodes"]

#: As kube-scheduler has it (k8s.io/kubernetes pkg/scheduler/schedule_one.go).
_LEAST_NODES, _LEAST_PERCENT = 100, 5
_WARM_AFTER = 2
_ONE_BY_ONE = 24
_EVERYWHERE = slice(None)


class Refusal(NamedTuple):
    """Why one node is not possible."""

    plugin: str
    reasons: tuple[str, ...]
    #: Whether it may become possible when pods leave.
    resolvable: bool


class CycleState:
    """What is known for the pods of one signature."""

    def __init__(self, framework: Framework, pod: PodInfo, signature: Signature) -> None:
        self.framework = framework
        self.snapshot = framework.snapshot
        self._nodes = framework.snapshot.nodes
        self.profile = framework.profile
        #: The first of these pods.
        self.pod = pod
        self.info = pod.info
        self.signature = signature
        #: The plugin that rejects the pods as such, and why.
        self.rejection: tuple[str, str] | None = None
        #: The plugin that finds something wrong with them, and what.
        self.aborted: tuple[str, str] | None = None
        #: Filters by the names of their plugins, in the order of these.
        self.filters: list[tuple[str, Filter]] = []
        #: Whether they depend on what is written for pods before them.
        self.sequential = False
        #: The only nodes to look at, when the pods name them, and the plugins that say so.
        self.named: frozenset[str] | None = None
        self.named_by: list[str] = []
        #: Whether none of that is the case.
        self._plain = True
        self._make_filters()
        #: Plugins that take part when such a pod is bound.
        self._binders = [
            plugin for plugin in framework.binders if not plugin.skips(pod.info) and plugin.concerns(pod.info)
        ]
        #: How many requests these make before that.
        self.requests = sum(plugin.requests(pod.info) for plugin in self._binders)
        self._local_scores: list[tuple[int, Score]] = []
        self._comparing: list[tuple[int, Score]] = []
        for weight, plugin in framework.scores:
            score = None if plugin.skips(pod.info) else plugin.pre_score(pod)
            if score is not None:
                (self._local_scores if score.local else self._comparing).append((weight, score))
        self._on_pods = [each for _, each in self.filters if each.scope is Scope.PODS]
        #: Filters whose answers change with pods, by the names of their plugins.
        self._with_pods = [(name, each) for name, each in self.filters if each.scope is not Scope.NODE]
        self._on_cluster = [each for _, each in self.filters if each.scope is Scope.CLUSTER]
        self.uses = 0
        #: How far the last search had to go.
        self.reach = 0
        self._version = -1
        #: The nodes in their order (twice over), their number, and how many possible ones to look for.
        self.order: IntArray = np.empty(0, np.int64)
        self.node_count = self.enough = 0
        self._seen = 0
        self._warm = False
        self._values: IntArray = np.empty(0, np.int64)
        #: What filters that look at nodes alone object to, by plugin.
        self._by_node: dict[str, list[Objection]] = {}
        self._base: BoolArray = np.empty(0, np.bool_)
        #: The parts of one node's value: filters, and weights with scores.
        self._allows: list[Callable[[int], bool]] = [each.allows for each in self._on_pods]
        self._worth: list[tuple[int, Callable[[int], int]]] = []
        self._scores: list[tuple[int, Score]] = []
        self._compared: list[tuple[int, Score]] = []

    def _make_filters(self) -> None:
        for plugin in self.framework.filters:
            if plugin.skips(self.info):
                continue
            name = plugin.name
            try:
                each = plugin.pre_filter(self.pod)
            except Aborted as aborted:
                self.aborted = self.aborted or (name, str(aborted))
                continue
            except Rejected as rejected:
                if self.rejection is None and self.profile.is_on(name, "preFilter"):
                    self.rejection = (name, str(rejected))
                continue
            if each is None:
                continue
            self.filters.append((name, each))
            self.sequential = self.sequential or each.sequential
            names = each.node_names()
            if names is not None and self.profile.is_on(name, "preFilter"):
                self.named = names if self.named is None else self.named & names
                self.named_by.append(name)
        open_ = self.rejection is None and self.aborted is None
        self._plain = self.named is None and not self.sequential and open_

    @property
    def error(self) -> tuple[str, str] | None:
        """The plugin whose filter found something wrong with such pods while it looked at nodes, and what."""
        slots = [slot for _, each in self.filters for slot in each.errors()]
        return next((found for slot in slots if (found := self.error_on(slot)) is not None), None)

    def error_on(self, slot: int) -> tuple[str, str] | None:
        """The same for one node; a plugin is not asked about a node that one before it has ruled out."""
        for name, each in self.filters:
            wrong = each.errors().get(slot)
            if wrong is not None and (refusal := self.refusal(slot)) is not None and refusal.plugin == name:
                return name, wrong
        return None

    def reserve(self, pod: Object, node: str) -> bool | None:
        """Let plugins take what a pod, which has been assumed there, needs on its node; whether it can be bound at
        once, None when it cannot have the node."""
        return self.framework.reserve(self, pod, node) if self._binders else True

    def concerned(self, plugins: list[Plugin]) -> list[Plugin]:
        """Those of the plugins that take part when such a pod is bound."""
        return [plugin for plugin in plugins if plugin in self._binders]

    # -- what only nodes decide --------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        """Work out again what changes with nodes only."""
        nodes = self._nodes
        self._version = nodes.version
        self._warm = False
        self.order = nodes.tree.order()
        self.node_count = len(nodes)
        self.enough = enough_nodes(self.node_count, self.profile.percentage)
        base: BoolArray = nodes.present.copy()
        self._by_node = {}
        for name, each in self.filters:
            if each.scope is Scope.NODE:
                found = [objection for objection in each.objections(_EVERYWHERE) if objection.nodes.any()]
                self._by_node[name] = found
                for objection in found:
                    base &= ~objection.nodes
        if self.named is not None:
            named = np.zeros(len(base), np.bool_)
            named[[nodes.slots[name] for name in self.named if name in nodes.slots]] = True
            base &= named
        self._base = base
        self._scores = [(weight, score) for weight, score in self._local_scores if score.refresh()]
        self._worth = [(weight, score.one) for weight, score in self._scores]
        self._compared = [(weight, score) for weight, score in self._comparing if score.refresh()]

    # -- values ------------------------------------------------------------------------------------------------------

    def current(self) -> IntArray | None:
        """The values of all nodes by slot, up to date; None while it is cold."""
        nodes = self._nodes
        if self._version != nodes.version:
            self._refresh()
        if not self._warm:
            if self.uses <= _WARM_AFTER:
                return None
            self._warm_up()
        elif self._seen != nodes.log_start + len(nodes.log):
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
        self.framework.keep_warm(self)
        self._values = self._work_out(np.arange(self._nodes.capacity))
        self._seen = self._nodes.log_end()
        self._warm = True

    def cool_down(self) -> None:
        """Let go of the values, which take much room when nodes are many."""
        self._warm = False
        self.uses = 0
        self._values = np.empty(0, np.int64)

    def _catch_up(self) -> None:
        nodes = self._nodes
        behind = self._seen - nodes.log_start
        if behind < 0:
            self._warm_up()
            return
        touched = nodes.log[behind:] if behind else nodes.log
        self._seen = nodes.log_end()
        values = self._values
        if len(touched) <= _ONE_BY_ONE:
            for slot in touched:
                values[slot] = self.value(slot)
        else:
            slots = np.unique(np.array(touched, np.int64))
            values[slots] = self._work_out(slots)

    def value(self, slot: int) -> int:
        """The value of one node."""
        if self._version != self._nodes.version:
            self._refresh()
        if not self._base[slot]:
            return -1
        for allows in self._allows:
            if not allows(slot):
                return -1
        worth = 0
        for weight, one in self._worth:
            worth += weight * one(slot)
        return worth

    def _work_out(self, slots: IntArray) -> IntArray:
        possible = self.possible(slots)
        worth: IntArray = np.zeros(len(slots), np.int64)
        for weight, score in self._scores:
            worth += weight * score.many(slots)
        worth[~possible] = -1
        return worth

    def possible(self, slots: IntArray) -> BoolArray:
        """Whether these nodes are possible as far as they and the pods on them decide it."""
        if self._version != self._nodes.version:
            self._refresh()
        mask: BoolArray = self._base[slots]
        for each in self._on_pods:
            mask = mask & each.allowed(slots)
        return mask

    # -- the whole cluster -------------------------------------------------------------------------------------------

    @property
    def alone(self) -> bool:
        """Whether nodes are judged one by one, without a look at any other: the usual case, made fast."""
        if self._version != self._nodes.version:
            self._refresh()
        if not self._plain or self.snapshot.pods.existing_terms:
            return False
        for each in self._on_cluster:
            if each.active:
                return False
        for _, score in self._compared:  # noqa: SIM110 - it is faster than all()
            if score.active:
                return False
        return True

    @property
    def may_preempt(self) -> bool:
        """Whether there are pods on nodes that would have to make room for the pod."""
        lowest = self.snapshot.pods.lowest_priority()
        if lowest is None or lowest >= self.info.priority or not self.info.preempts:
            return False
        return self.profile.is_on("DefaultPreemption", "postFilter")

    @property
    def hopeless(self) -> bool:
        """Whether it is plain that no node is possible now, nor could be made so."""
        if not self.alone or self.may_preempt:
            return False
        values = self.current()
        if values is None:
            return not self.possible(np.arange(self._nodes.capacity)).any()
        return not (values >= 0).any()

    def ruled_out_by_cluster(self, slots: IntArray) -> BoolArray | None:
        """Nodes that pods on other nodes rule out; None when there are no such filters."""
        out: BoolArray | None = None
        for each in self._on_cluster:
            if each.active:
                here = ~each.allowed(slots)
                out = here if out is None else out | here
        return out

    def compared(self, slots: IntArray) -> IntArray:
        """The part of the scores that depends on the nodes to choose from, for exactly these."""
        total: IntArray = np.zeros(len(slots), np.int64)
        for weight, score in self._compared:
            if score.active:
                total += weight * score.normalise(score.many(slots))
        return total

    # -- reasons -----------------------------------------------------------------------------------------------------

    def objections(self, name: str, each: Filter, slots: IntArray) -> list[Objection]:
        """What one filter objects to nodes, as things are."""
        if self._version != self._nodes.version:
            self._refresh()
        if each.scope is Scope.NODE:
            return [objection._replace(nodes=objection.nodes[slots]) for objection in self._by_node[name]]
        return list(each.objections(slots)) if each.active else []

    @property
    def by_amounts(self) -> bool:
        """Whether pods on nodes matter by the amounts of resources they take alone, as things are."""
        for _, each in self._with_pods:  # noqa: SIM110 - it is faster than all()
            if not each.by_amounts and each.active:
                return False
        return True

    def fits(self, slot: int) -> bool:
        """Whether nobody objects to a node."""
        if self._version != self._nodes.version:
            self._refresh()
        if not self._base[slot]:
            return False
        for _, each in self._with_pods:  # noqa: SIM110 - it is faster than all()
            if each.active and not each.allows(slot):
                return False
        return True

    def refusal(self, slot: int) -> Refusal | None:
        """The first plugin that objects to a node, and all its reasons; None when the pod fits."""
        if self.fits(slot):
            return None
        slots = np.array((slot,))
        if self.named is not None and self._nodes.names[slot] not in self.named:
            return Refusal(self.named_by[0], (self.not_named(),), False)
        for name, each in self.filters:
            found = [objection for objection in self.objections(name, each, slots) if objection.nodes[0]]
            if found:
                reasons = tuple(dict.fromkeys(objection.reason for objection in found))
                return Refusal(name, reasons, all(objection.resolvable for objection in found))
        return None

    def not_named(self) -> str:
        """What is said of nodes that the pods do not name."""
        return f"node(s) didn't satisfy plugin(s) [{' '.join(self.named_by)}]"


def enough_nodes(nodes: int, percentage: int) -> int:
    """How many possible nodes are looked for."""
    if nodes < _LEAST_NODES:
        return nodes
    if not percentage:
        percentage = max(50 - nodes // 125, _LEAST_PERCENT)
    return max(nodes * percentage // 100, _LEAST_NODES)
