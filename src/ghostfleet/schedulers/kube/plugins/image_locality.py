"""ImageLocality: nodes that have a pod's images already are better, the more so the larger these are."""

from __future__ import annotations

import numpy as np

from ghostfleet.schedulers.framework.nodetable import IntArray, NodeTable
from ghostfleet.schedulers.framework.plugin import MAX_SCORE, Plugin, Score, Slots
from ghostfleet.schedulers.framework.podinfo import PodInfo, SpecInfo

__all__ = ["ImageLocality"]

_MEGABYTE = 1024 * 1024
#: Sums of sizes below the least count nothing, those above the most (for each container) no more
#: (k8s.io/kubernetes pkg/scheduler/framework/plugins/imagelocality/image_locality.go).
_LEAST, _MOST = 23 * _MEGABYTE, 1000 * _MEGABYTE


class ImageLocality(Plugin):
    """Scores nodes by the images they have; what few nodes have counts less, lest all pods go there."""

    name = "ImageLocality"
    weight = 1

    def pre_score(self, pod: PodInfo) -> Score | None:
        return _ImageSizes(self.snapshot.nodes, pod.info)


class _ImageSizes(Score):
    def __init__(self, nodes: NodeTable, info: SpecInfo) -> None:
        self._nodes = nodes
        self._info = info
        self._scores: IntArray = np.empty(0, np.int64)

    def refresh(self) -> bool:
        nodes = self._nodes
        known = [nodes.images[name] for name in self._info.images if name in nodes.images]
        if not known:
            return False
        sums: IntArray = np.zeros(nodes.capacity, np.int64)
        count = len(nodes)
        for sizes in known:
            spread = len(sizes) / count if count else 0.0
            for slot, size in sizes.items():
                sums[slot] += int(size * spread)
        most = _MOST * self._info.containers
        self._scores = MAX_SCORE * (np.clip(sums, _LEAST, most) - _LEAST) // (most - _LEAST)
        return True

    def many(self, slots: Slots) -> IntArray:
        answer: IntArray = self._scores[slots]
        return answer

    def one(self, slot: int) -> int:
        return int(self._scores[slot])
