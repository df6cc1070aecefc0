"""nodeplacement: nodes with the least left first (binpack), or with the greatest part left (spread).

What is left is what is idle or being released: GPUs for tasks that ask for GPUs, CPU for the others. Binpack gives 0 to
9 over the range of all candidates, so it must see them all first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.node_order import Ranking
from ghostfleet.schedulers.kai.plugins.scores import MAX_HIGH_DENSITY
from ghostfleet.schedulers.kai.pod_info import Pod, PodInfo
from ghostfleet.schedulers.kai.session import Session

__all__ = ["NodePlacement"]

SPREAD = "spread"


class NodePlacement:
    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._spread = {"gpu": arguments.get("gpu") == SPREAD, "cpu": arguments.get("cpu") == SPREAD}
        self._range = (0.0, 0.0)

    def on_session_open(self, session: Session) -> None:
        session.node_order.add_packing(self._prepare, self._score, Ranking(self._rank, self._least))

    def _rank(self, pod: Pod, node: NodeInfo) -> float:
        """Binpack orders by what is left, spread by the part that is left, backwards."""
        kind = _kind(pod)
        if self._spread[kind]:
            return -self._part_left(node, kind)
        return _left(node, kind) if _there(node, kind) else math.inf

    def _least(self, pod: Pod) -> float:
        """A node with less left than a pod asks for cannot take it; parts of GPUs may be left elsewhere."""
        kind = _kind(pod)
        if self._spread[kind] or pod.is_shared_request:
            return -math.inf
        return pod.request.device_gpus if kind == "gpu" else pod.request.cpu

    def _prepare(self, task: PodInfo, nodes: Sequence[NodeInfo]) -> None:
        """Find the least and the most that is left on the candidates."""
        kind = _kind(task.pod)
        if self._spread[kind]:
            return
        least, most = math.inf, 0.0
        for node in nodes:
            if _there(node, kind) == 0:
                continue
            left = _left(node, kind)
            least = min(least, left)
            most = max(most, left)
        self._range = (least, most)

    def _score(self, task: PodInfo, node: NodeInfo) -> float:
        kind = _kind(task.pod)
        if self._spread[kind]:
            return self._part_left(node, kind)
        least, most = self._range
        if _there(node, kind) == 0 or most == 0:
            return 0.0
        if least == most:
            return MAX_HIGH_DENSITY
        return MAX_HIGH_DENSITY * (1 - (_left(node, kind) - least) / (most - least))

    def _part_left(self, node: NodeInfo, kind: str) -> float:
        there = node.gpu_count if kind == "gpu" else node.allocatable.cpu
        return _left(node, kind) / there if there else 0.0


def _kind(pod: Pod) -> str:
    return "gpu" if pod.requires_gpu else "cpu"


def _there(node: NodeInfo, kind: str) -> float:
    return node.allocatable.gpus if kind == "gpu" else node.allocatable.cpu


def _left(node: NodeInfo, kind: str) -> float:
    if kind == "gpu":
        return node.idle.gpus + node.releasing.gpus
    return node.idle.cpu + node.releasing.cpu
