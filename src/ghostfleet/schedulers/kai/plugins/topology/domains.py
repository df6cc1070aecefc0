"""The domains of a topology: a tree over node labels, from the root down to the narrowest level.

A node belongs to a topology if it has the label of every level. A domain is named by its values from the top, joined by
points.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ghostfleet.schedulers.kai.cluster_info import Topology
from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.resources import Resource

__all__ = ["NOT_SET", "ROOT", "Domain", "TopologyTree", "is_part_of"]

ROOT = "root"
NOT_SET = -1


class Domain:
    """A domain with its children and nodes, and what was last found out about it for a job."""

    __slots__ = ("allocatable_pods", "children", "free", "id", "level", "nodes")

    def __init__(self, id_: str, level: str) -> None:
        self.id = id_
        self.level = level
        self.children: list[Domain] = []
        self.nodes: dict[str, NodeInfo] = {}
        self.allocatable_pods = NOT_SET
        self.free = Resource()

    def count_free(self) -> Resource:
        """Sum up what is idle or being released; parts of shared GPUs are left out."""
        if self.children:
            for child in self.children:
                self.free.add(child.count_free())
        else:
            for node in self.nodes.values():
                self.free.add(node.idle)
                self.free.add(node.releasing)
        return self.free

    def subtree(self) -> Iterator[Domain]:
        yield self
        for child in self.children:
            yield from child.subtree()

    def at_level(self, level: str) -> Iterator[Domain]:
        """The domains of a level below, in the order of the tree."""
        if self.level == level:
            yield self
        else:
            for child in self.children:
                yield from child.at_level(level)


class TopologyTree:
    """All domains of a topology, by level and name."""

    def __init__(self, topology: Topology, nodes: Iterable[NodeInfo]) -> None:
        self.name = topology.name
        self.levels = topology.levels
        self.root = Domain(ROOT, ROOT)
        self.by_level: dict[str, dict[str, Domain]] = {ROOT: {ROOT: self.root}}
        for node in nodes:
            if is_part_of(node, self.levels):
                self._add(node)

    def _add(self, node: NodeInfo) -> None:
        parent = self.root
        parent.nodes[node.name] = node
        values: list[str] = []
        for level in self.levels:
            values.append(node.labels[level])
            domains = self.by_level.setdefault(level, {})
            name = ".".join(values)
            domain = domains.get(name)
            if domain is None:
                domain = domains[name] = Domain(name, level)
                parent.children.append(domain)
            domain.nodes[node.name] = node
            parent = domain

    def reset(self) -> None:
        """Forget what was found out for the last job."""
        for domain in self.root.subtree():
            domain.allocatable_pods = NOT_SET
            domain.free = Resource()

    def from_the_bottom(self) -> list[Domain]:
        """Narrowest level first, each level in the order of the tree."""
        levels: list[list[Domain]] = [[self.root]]
        while levels[-1]:
            levels.append([child for domain in levels[-1] for child in domain.children])
        return [domain for level in reversed(levels) for domain in level]

    def lowest_common(self, nodes: Sequence[NodeInfo], preferred: str) -> Domain | None:
        """The narrowest domain that holds all nodes, not below the preferred level."""
        values: list[str] = []
        level = ROOT
        for each in self.levels:
            found = {node.labels[each] for node in nodes}
            if len(found) != 1 or "" in found:
                break
            values += found
            level = each
            if each == preferred:
                break
        return self.by_level.get(level, {}).get(".".join(values) or ROOT)


def is_part_of(node: NodeInfo, levels: Sequence[str]) -> bool:
    return all(level in node.labels for level in levels)
