"""The nodes for a task, best first: the sum of the plugins' scores, then the name.

Scores stand on steps that are far apart (`plugins.scores`), so that a plugin of a higher step decides before one of a lower. Three kinds: a
*score* depends on what the task asks for and on the node alone; a *packing* score must see all candidates first; a *group score* depends on
the part of the job that is being placed, and leaves a node out by None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.pod_info import PodInfo

__all__ = ["NodeOrder"]

Score = Callable[[PodInfo, NodeInfo], float]
GroupScore = Callable[[PodInfo, NodeInfo], "float | None"]
Prepare = Callable[[PodInfo, Sequence[NodeInfo]], None]


class NodeOrder:
    """What plugins say about nodes."""

    def __init__(self) -> None:
        self._scores: list[Score] = []
        self._packings: list[tuple[Prepare, Score]] = []
        self._group_scores: list[tuple[Callable[[PodInfo], bool], GroupScore]] = []

    def add_score(self, score: Score) -> None:
        self._scores.append(score)

    def add_packing(self, prepare: Prepare, score: Score) -> None:
        self._packings.append((prepare, score))

    def add_group_score(self, is_there: Callable[[PodInfo], bool], score: GroupScore) -> None:
        self._group_scores.append((is_there, score))

    def ordered(self, task: PodInfo, nodes: Sequence[NodeInfo]) -> list[NodeInfo]:
        """Nodes by score and name."""
        return [node for _score, _name, node in sorted(self.scored(task, nodes))]

    def scored(self, task: PodInfo, nodes: Sequence[NodeInfo]) -> list[tuple[float, str, NodeInfo]]:
        """Nodes with their score, which is negative so that the least is the best."""
        for prepare, _score in self._packings:
            prepare(task, nodes)
        group_scores = [score for is_there, score in self._group_scores if is_there(task)]
        found = []
        for node in nodes:
            total = self._sum(task, node)
            for score in group_scores:
                part = score(task, node)
                if part is None:
                    break
                total += part
            else:
                found.append((-total, node.name, node))
        return found

    def _sum(self, task: PodInfo, node: NodeInfo) -> float:
        return sum(score(task, node) for score in self._scores) + sum(score(task, node) for _, score in self._packings)
