"""The quota forest: all quota trees together.

QuotaSubtree objects with one label `tree` make up one tree, each with a part of its nodes. A wrapper names a leaf of a
tree by a label with the tree's name, and needs quota in every tree; where it names none it belongs to the leaf
`default`. When trees change, consumers stay where they are if that node still leads to their leaf.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ghostfleet.core.changes import Object
from ghostfleet.dispatchers.mcad.amounts import Amounts, listed
from ghostfleet.dispatchers.mcad.quotatree import Consumer, QuotaNode, QuotaTree
from ghostfleet.dispatchers.mcad.wrapper import Key

__all__ = ["DEFAULT_LEAF", "Allocation", "Forest", "grow_trees"]

DEFAULT_LEAF = "default"


@dataclass(frozen=True, slots=True)
class Allocation:
    """What became of a request for quota."""

    granted: bool
    message: str = ""
    #: Who must give back what they have.
    victims: tuple[Key, ...] = ()
    #: The tree that refused.
    tree: str = ""


@dataclass(slots=True)
class Grown:
    """Trees made from QuotaSubtrees, and the nodes that could not be connected, by tree."""

    trees: dict[str, QuotaTree]
    dangling: dict[str, list[str]] = field(default_factory=dict)


def grow_trees(subtrees: Iterable[Object]) -> Grown:
    """The trees that QuotaSubtree objects describe. A tree has one root; what does not lead to it dangles."""
    stated: dict[str, dict[str, tuple[str, Object]]] = {}
    for subtree in subtrees:
        name = (subtree["metadata"].get("labels") or {}).get("tree")
        if not name:
            continue
        spec = subtree.get("spec") or {}
        nodes = stated.setdefault(name, {})
        for child in spec.get("children") or ():
            nodes[child["name"]] = (spec.get("parent") or "", child.get("quotas") or {})
    grown = Grown({})
    for name in sorted(stated):
        grown.trees[name], dangling = _grow(name, stated[name])
        if dangling:
            grown.dangling[name] = dangling
    return grown


def _grow(name: str, stated: Mapping[str, tuple[str, Object]]) -> tuple[QuotaTree, list[str]]:
    nodes = {
        each: QuotaNode(each, listed(quotas.get("requests")), bool(quotas.get("hardLimit")))
        for each, (_, quotas) in sorted(stated.items())
    }
    roots = [each for each in nodes if not stated[each][0]]
    if not roots:
        return QuotaTree(name), sorted(nodes)
    for each, node in nodes.items():
        parent = nodes.get(stated[each][0])
        if parent is not None:
            node.parent = parent
            parent.children.append(node)
    tree = QuotaTree(name, nodes[roots[0]])
    return tree, [each for each in nodes if each not in tree.nodes]


class Forest:
    """All trees, and who uses their quota."""

    def __init__(self) -> None:
        self.trees: dict[str, QuotaTree] = {}
        #: Nodes that lead to no root, by tree.
        self.dangling: dict[str, list[str]] = {}

    def replant(self, subtrees: Iterable[Object]) -> None:
        """Grow the trees anew from QuotaSubtrees, and move consumers over."""
        grown = grow_trees(subtrees)
        for name, tree in grown.trees.items():
            old = self.trees.get(name)
            for consumer in old.consumers.values() if old is not None else ():
                _move(consumer, tree)
        self.trees, self.dangling = grown.trees, grown.dangling

    def leaves_of(self, labels: Mapping[str, str]) -> dict[str, str]:
        """The leaf that labels name in each tree."""
        return {tree: labels.get(tree, DEFAULT_LEAF) for tree in self.trees}

    def holds(self, key: Key) -> bool:
        return any(key in tree.consumers for tree in self.trees.values())

    def allocate(
        self, key: Key, leaves: Mapping[str, str], asks: Amounts, *, priority: int, preemptable: bool
    ) -> Allocation:
        """Ask for quota in all trees; when one refuses, nothing changes.

        Who has to go in one tree is gone for the next ones, so the order matters. The real thing takes any order, and
        another one when it tries again, until it finds one that does; here they are all tried, first the one by name.
        """
        names = sorted(self.trees)
        orders = [names]
        if preemptable:
            orders += [names[first:] + names[:first] for first in range(1, len(names))]
        refusals: list[Allocation] = []
        for order in orders:
            answer = self._allocate(key, order, leaves, asks, priority, preemptable)
            if answer.granted:
                return answer
            refusals.append(answer)
        return refusals[0]

    def _allocate(
        self, key: Key, order: list[str], leaves: Mapping[str, str], asks: Amounts, priority: int, preemptable: bool
    ) -> Allocation:
        before = self.checkpoint()
        victims: dict[Key, None] = {}
        for name in order:
            tree = self.trees[name]
            for victim in victims:
                tree.release(victim)
            found = tree.allocate(Consumer(key, leaves.get(name, DEFAULT_LEAF), asks, priority, preemptable))
            if found is None:
                self.restore(before)
                return Allocation(False, f"Failed to allocate quota on quota designation '{name}'", (), name)
            victims.update(dict.fromkeys(found))
        for victim in victims:
            self.release(victim)
        return Allocation(True, "", tuple(victims))

    def force(self, key: Key, leaves: Mapping[str, str], asks: Amounts, *, priority: int, preemptable: bool) -> None:
        """Place one that runs already, on its leaves, whether there is quota or not."""
        for name, tree in self.trees.items():
            leaf = leaves.get(name, DEFAULT_LEAF)
            tree.force(Consumer(key, leaf, asks, priority, preemptable), leaf)

    def release(self, key: Key) -> bool:
        """Give back all quota of a wrapper; false when it had none."""
        released = [tree.release(key) for tree in self.trees.values()]
        return any(released)

    def checkpoint(
        self,
    ) -> list[tuple[QuotaTree, list[tuple[QuotaNode, Amounts, list[Consumer]]], dict[Key, Consumer]]]:
        """What `restore` needs to bring back the present state."""
        return [(tree, tree.checkpoint(), dict(tree.consumers)) for tree in self.trees.values()]

    def restore(
        self, state: Iterable[tuple[QuotaTree, list[tuple[QuotaNode, Amounts, list[Consumer]]], dict[Key, Consumer]]]
    ) -> None:
        for tree, nodes, consumers in state:
            tree.restore(nodes)
            tree.consumers = consumers


def _move(consumer: Consumer, tree: QuotaTree) -> None:
    """Place a consumer in the new shape of its tree."""
    before = consumer.node.name if consumer.node is not None else ""
    node = tree.nodes.get(before)
    if consumer.leaf not in tree.nodes:
        place = tree.root.name if tree.root is not None else ""
    elif node is not None and node.has_leaf(consumer.leaf):
        place = before
    else:
        place = consumer.leaf
    tree.force(consumer, place)
