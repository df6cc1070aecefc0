"""The nodes for a task, best first: the sum of the plugins' scores, then the name.

Scores stand on steps that are far apart (`plugins.scores`), so that a plugin of a higher step decides before one of a
lower. Three kinds: a *score* depends on the shape of the task and on the node alone, so it is kept until something is
booked on the node; a *packing* score must see all candidates first; a *group score* depends on the part of the job that
is being placed, and leaves a node out by None.

A packing that ranks nodes by one figure alone (`Ranking`), the least first, need not see the others to be ordered: the
sum of scores orders nodes as (kept score, rank, name) does, since no packing reaches the lowest step. Nodes are kept in
that order by shape, and one on which something was booked is moved.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.pod_info import Pod, PodInfo

__all__ = ["NodeOrder", "Ranking"]

Score = Callable[[PodInfo, NodeInfo], float]
GroupScore = Callable[[PodInfo, NodeInfo], "float | None"]
Prepare = Callable[[PodInfo, Sequence[NodeInfo]], None]


class Ranking(NamedTuple):
    """The figure that a packing orders nodes by, and what it must be at least for a pod to have a chance."""

    rank: Callable[[Pod, NodeInfo], float]
    least: Callable[[Pod], float]


#: Negative score, rank, name: the least is the best.
Key = tuple[float, float, str]


class NodeOrder:
    """What plugins say about nodes. `bookings` is the session's log of nodes on which something was booked."""

    def __init__(self, nodes: dict[str, NodeInfo], bookings: list[NodeInfo]) -> None:
        self._nodes = nodes
        self._bookings = bookings
        self._scores: list[Score] = []
        self._packings: list[tuple[Prepare, Score]] = []
        self._group_scores: list[tuple[Callable[[PodInfo], bool], GroupScore]] = []
        self._ranking: Ranking | None = None
        self._orders: dict[tuple[object, ...], _ShapeOrder] = {}

    def add_score(self, score: Score) -> None:
        self._scores.append(score)

    def add_packing(self, prepare: Prepare, score: Score, ranking: Ranking | None = None) -> None:
        """Add a packing; with a ranking if it orders nodes by a figure of theirs alone."""
        self._packings.append((prepare, score))
        self._ranking = ranking if len(self._packings) == 1 else None

    def add_group_score(self, is_there: Callable[[PodInfo], bool], score: GroupScore) -> None:
        self._group_scores.append((is_there, score))

    def ordered(self, task: PodInfo, nodes: Sequence[NodeInfo]) -> Iterable[NodeInfo]:
        """Nodes by score and name; some that cannot take the task may be left out."""
        group_scores = [score for is_there, score in self._group_scores if is_there(task)]
        if group_scores or task.pod.storage_claims or (self._packings and self._ranking is None):
            return [node for _score, _name, node in sorted(self._scored(task, nodes, group_scores))]
        order = self._orders.get(task.pod.shape)
        if order is None:
            order = self._orders[task.pod.shape] = _ShapeOrder(self._nodes, self._bookings)
        least = -math.inf if self._ranking is None else self._ranking.least(task.pod)
        return order.ordered(nodes, lambda node: self._key(task, node), least)

    def scores(self, task: PodInfo, nodes: Sequence[NodeInfo]) -> dict[str, float]:
        """The score of every node that is not left out."""
        group_scores = [score for is_there, score in self._group_scores if is_there(task)]
        return {name: -score for score, name, _node in self._scored(task, nodes, group_scores)}

    def _key(self, task: PodInfo, node: NodeInfo) -> Key:
        rank = 0.0 if self._ranking is None else self._ranking.rank(task.pod, node)
        return (-sum(score(task, node) for score in self._scores), rank, node.name)

    def _scored(
        self, task: PodInfo, nodes: Sequence[NodeInfo], group_scores: Sequence[GroupScore]
    ) -> list[tuple[float, str, NodeInfo]]:
        for prepare, _score in self._packings:
            prepare(task, nodes)
        found = []
        for node in nodes:
            total = sum(score(task, node) for score in self._scores)
            total += sum(score(task, node) for _, score in self._packings)
            for group_score in group_scores:
                part = group_score(task, node)
                if part is None:
                    break
                total += part
            else:
                found.append((-total, node.name, node))
        return found


def _first(pair: tuple[Key, NodeInfo]) -> Key:
    return pair[0]


class _ShapeOrder:
    """All nodes in their order for tasks of one shape."""

    def __init__(self, nodes: dict[str, NodeInfo], bookings: list[NodeInfo]) -> None:
        self._nodes = nodes
        self._bookings = bookings
        self._seen = 0
        self._keys: dict[str, Key] = {}
        self._ordered: list[Key] = []

    def ordered(self, nodes: Sequence[NodeInfo], key: Callable[[NodeInfo], Key], least: float) -> Iterable[NodeInfo]:
        """These nodes in order, as far as their rank is not below the least."""
        self._refresh(key)
        if len(nodes) == len(self._nodes):
            return self._all(least)
        keys = self._keys
        chosen = [(keys[node.name], node) for node in nodes if keys[node.name][1] >= least]
        chosen.sort(key=_first)
        return [node for _key, node in chosen]

    def _all(self, least: float) -> Iterator[NodeInfo]:
        nodes, ordered = self._nodes, self._ordered
        index = 0
        while index < len(ordered):
            score, rank, name = ordered[index]
            if rank < least:
                # The others of that score and too low a rank come right after it.
                index = bisect_left(ordered, (score, least, ""), index)
                continue
            yield nodes[name]
            index += 1

    def _refresh(self, key: Callable[[NodeInfo], Key]) -> None:
        """Move the nodes on which something was booked since the last time."""
        bookings = self._bookings
        if not self._ordered:
            self._keys = {node.name: key(node) for node in self._nodes.values()}
            self._ordered = sorted(self._keys.values())
        elif self._seen < len(bookings):
            changed = {node.name: node for node in bookings[self._seen :]}
            for name, node in changed.items():
                old, new = self._keys[name], key(node)
                if old != new:
                    del self._ordered[bisect_left(self._ordered, old)]
                    insort(self._ordered, new)
                    self._keys[name] = new
        self._seen = len(bookings)
