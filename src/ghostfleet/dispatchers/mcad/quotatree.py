"""Quota trees: who may use how much, and who lends to whom.

A *consumer* belongs to a leaf of the tree and is *placed* on that leaf or on a node above it; it counts on the node
where it is placed and on all nodes above. A leaf without enough quota *borrows*: the consumer is placed higher up,
unless a *hard* node stands in the way. When the rightful owner of quota comes, borrowers *slide up* to make room, and
those who slide off the root are *victims*: they must give their resources back. When quota becomes free, consumers
slide down again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ghostfleet.dispatchers.mcad.amounts import NOTHING, Amounts
from ghostfleet.dispatchers.mcad.wrapper import Key

__all__ = ["Consumer", "QuotaNode", "QuotaTree"]


@dataclass(eq=False, slots=True)
class Consumer:
    """Who uses quota of one tree."""

    key: Key
    leaf: str
    asks: Amounts
    priority: int
    preemptable: bool
    node: QuotaNode | None = None


@dataclass(eq=False, slots=True)
class QuotaNode:
    """A node of a quota tree."""

    name: str
    quota: Amounts
    hard: bool = False
    parent: QuotaNode | None = None
    children: list[QuotaNode] = field(default_factory=list)
    #: What consumers placed here and below use.
    used: Amounts = NOTHING
    #: Those placed right here, in the order in which they came.
    consumers: dict[Key, Consumer] = field(default_factory=dict)

    def path(self) -> list[QuotaNode]:
        """This node and all above it, up to the root."""
        path, node = [self], self.parent
        while node is not None:
            path.append(node)
            node = node.parent
        return path

    def has_leaf(self, name: str) -> bool:
        """Whether a leaf of this name is here or below."""
        if not self.children:
            return self.name == name
        return any(child.has_leaf(name) for child in self.children)

    def can_fit(self, asks: Amounts) -> bool:
        return self.used.plus(asks).fits(self.quota)

    def place(self, consumer: Consumer) -> None:
        """Put a consumer here; the nodes above must count it too."""
        self.used = self.used.plus(consumer.asks)
        self.consumers[consumer.key] = consumer
        consumer.node = self

    def slide_up(self, newcomer: Consumer, victims: list[Key], *, by_priority: bool) -> bool:
        """Make room for a newcomer by moving consumers up; answers whether that was enough, else nothing moves."""
        if self.hard and self.parent is not None:
            return False
        used, movers = self.used, []
        for consumer in self.consumers.values():
            if by_priority and newcomer.priority <= consumer.priority:
                continue
            if self.parent is None and not consumer.preemptable:
                continue
            used = used.minus(consumer.asks)
            movers.append(consumer)
            if used.plus(newcomer.asks).fits(self.quota):
                break
        else:
            return False
        for consumer in movers:
            self.used = self.used.minus(consumer.asks)
            del self.consumers[consumer.key]
            consumer.node = self.parent
            if self.parent is not None:
                self.parent.consumers[consumer.key] = consumer
            else:
                victims.append(consumer.key)
        return True

    def slide_down(self) -> None:
        """Take back consumers of leaves below that were placed on the parent for want of quota."""
        if self.parent is None:
            return
        for consumer in list(self.parent.consumers.values()):
            if self.has_leaf(consumer.leaf) and self.can_fit(consumer.asks):
                del self.parent.consumers[consumer.key]
                self.place(consumer)


class QuotaTree:
    """One tree, and the consumers in it."""

    def __init__(self, name: str, root: QuotaNode | None = None) -> None:
        self.name = name
        self.root = root
        self.nodes: dict[str, QuotaNode] = {node.name: node for node in _below(root)} if root is not None else {}
        self.consumers: dict[Key, Consumer] = {}

    def leaf(self, name: str) -> QuotaNode | None:
        """The leaf of this name; a node with children is none."""
        node = self.nodes.get(name)
        return node if node is not None and not node.children else None

    def allocate(self, consumer: Consumer) -> list[Key] | None:
        """Place a consumer; answers the victims of it, or None when there is no quota for it and nothing changed."""
        before = self.checkpoint()
        victims: list[Key] = []
        if not self._allocate(consumer, victims):
            self.restore(before)
            consumer.node = None
            return None
        self.consumers[consumer.key] = consumer
        for key in victims:
            self.consumers.pop(key, None)
        return victims

    def _allocate(self, consumer: Consumer, victims: list[Key]) -> bool:
        leaf = self.leaf(consumer.leaf)
        if leaf is None:
            return False
        reached = self._climb(leaf, consumer, victims)
        if reached is None:
            return True
        if consumer.priority <= 0:
            return False
        return self._preempt(leaf, reached, consumer, victims)

    def _climb(self, leaf: QuotaNode, consumer: Consumer, victims: list[Key]) -> QuotaNode | None:
        """Place a consumer on the lowest node that takes it; answers the node that was tried last if none does."""
        start = self.checkpoint()
        placed, met_hard = False, False
        node = leaf
        for node in leaf.path():
            met_hard = met_hard or node.hard
            if not placed:
                if node.can_fit(consumer.asks) or node.slide_up(consumer, victims, by_priority=True):
                    node.place(consumer)
                    placed = True
                elif node.hard:
                    break
            elif node.can_fit(consumer.asks) or node.slide_up(consumer, victims, by_priority=False):
                node.used = node.used.plus(consumer.asks)
            else:
                self.restore(start)
                consumer.node = None
                victims.clear()
                placed = False
                if met_hard:
                    break
        return None if placed else node

    def _preempt(self, leaf: QuotaNode, reached: QuotaNode, consumer: Consumer, victims: list[Key]) -> bool:
        """Take less important consumers off the way to the root, from the node that was tried last downwards."""
        for node in reversed(leaf.path()):
            if node is not reached and reached not in node.path():
                continue
            for other in list(node.consumers.values()):
                if consumer.priority <= other.priority or not other.preemptable:
                    continue
                self._take_off(other)
                victims.append(other.key)
                if reached.can_fit(consumer.asks):
                    return self._allocate(consumer, victims)
        return False

    def _take_off(self, consumer: Consumer) -> None:
        assert consumer.node is not None
        del consumer.node.consumers[consumer.key]
        for node in consumer.node.path():
            node.used = node.used.minus(consumer.asks)
        consumer.node = None

    def force(self, consumer: Consumer, name: str) -> bool:
        """Place a consumer on a node whether there is quota or not; false when there is no such node."""
        node = self.nodes.get(name)
        if node is None:
            return False
        node.consumers[consumer.key] = consumer
        consumer.node = node
        for each in node.path():
            each.used = each.used.plus(consumer.asks)
        self.consumers[consumer.key] = consumer
        return True

    def release(self, key: Key) -> bool:
        """Take a consumer out, and let others slide down; false when it is not here."""
        consumer = self.consumers.pop(key, None)
        if consumer is None or consumer.node is None:
            return False
        node = consumer.node
        del node.consumers[key]
        for each in node.path():
            each.used = each.used.minus(consumer.asks)
            each.slide_down()
        consumer.node = None
        return True

    # -- undoing -----------------------------------------------------------------------------------------------------

    def checkpoint(self) -> list[tuple[QuotaNode, Amounts, list[Consumer]]]:
        """What `restore` needs to bring back the present state."""
        return [(node, node.used, list(node.consumers.values())) for node in self.nodes.values()]

    def restore(self, state: Iterable[tuple[QuotaNode, Amounts, list[Consumer]]]) -> None:
        for node, used, consumers in state:
            node.used = used
            node.consumers = {consumer.key: consumer for consumer in consumers}
            for consumer in consumers:
                consumer.node = node


def _below(root: QuotaNode) -> Iterator[QuotaNode]:
    yield root
    for child in root.children:
        yield from _below(child)
