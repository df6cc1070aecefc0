"""Quota faults: which node of which tree has too little for a wrapper."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ghostfleet.core.changes import Object
from ghostfleet.dispatchers.mcad.amounts import Amounts
from ghostfleet.dispatchers.mcad.conditions import last_condition
from ghostfleet.dispatchers.mcad.demand import demand_of
from ghostfleet.dispatchers.mcad.quotaforest import Forest
from ghostfleet.dispatchers.mcad.quotatree import QuotaNode, QuotaTree
from ghostfleet.dispatchers.mcad.reasons import shortfall_text
from ghostfleet.dispatchers.mcad.wrapper import Wrapper, key_of, read_wrapper

__all__ = ["QuotaFault", "find_quota_fault"]


@dataclass(frozen=True, slots=True)
class QuotaFault:
    """A tree that refuses a wrapper."""

    tree: str
    leaf: str
    #: The node that has too little; empty when the leaf does not exist, or leads to no root.
    node: str
    shortfall: dict[str, int]

    @property
    def text(self) -> str:
        if not self.node:
            return f"quota tree {self.tree} has no leaf {self.leaf!r} that leads to its root"
        missing = shortfall_text(self.shortfall)
        return f"quota tree {self.tree}: node {self.node!r} is short of {missing} for leaf {self.leaf!r}"


def find_quota_fault(
    wrapper: Wrapper, asks: Amounts, objects: Iterable[Object], subtrees: Iterable[Object]
) -> QuotaFault | None:
    """What is at fault if the quota is not enough; None when it is, or there is no quota."""
    forest = Forest()
    forest.replant(subtrees)
    if not forest.trees:
        return None
    running = [each for each in objects if (each.get("status") or {}).get("canrun")]
    running.sort(key=lambda each: last_condition(each.get("status") or {}, "Dispatched") or 0)
    for obj in running:
        if key_of(obj) != wrapper.key:
            _place(forest, obj)
    leaves = forest.leaves_of(wrapper.labels)
    answer = forest.allocate(wrapper.key, leaves, asks, priority=wrapper.priority, preemptable=True)
    if answer.granted:
        return None
    return _fault(forest.trees[answer.tree], leaves[answer.tree], asks)


def _place(forest: Forest, obj: Object) -> None:
    try:
        other = read_wrapper(obj)
        asks = demand_of(other).total
    except ValueError:
        return
    leaves = forest.leaves_of(other.labels)
    answer = forest.allocate(other.key, leaves, asks, priority=other.priority, preemptable=False)
    if not answer.granted:
        forest.force(other.key, leaves, asks, priority=other.priority, preemptable=False)


def _fault(tree: QuotaTree, name: str, asks: Amounts) -> QuotaFault:
    leaf = tree.leaf(name)
    at_fault: QuotaNode | None = None
    for node in leaf.path() if leaf is not None else ():
        if not node.can_fit(asks):
            at_fault = node
            if node.hard:
                break
    if at_fault is None:
        return QuotaFault(tree.name, name, "", {})
    return QuotaFault(tree.name, name, at_fault.name, at_fault.used.plus(asks).shortfall(at_fault.quota))
