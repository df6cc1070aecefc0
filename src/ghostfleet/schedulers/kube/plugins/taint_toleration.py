"""TaintToleration: nodes with taints that a pod does not tolerate are ruled out, or count less."""

from __future__ import annotations

from collections.abc import Sequence

from ghostfleet.schedulers.framework.nodematcher import NodeMatcher
from ghostfleet.schedulers.framework.nodetable import IntArray
from ghostfleet.schedulers.framework.plugin import MAX_SCORE, Filter, Objection, Plugin, Score, Slots
from ghostfleet.schedulers.framework.podinfo import PodInfo, SpecInfo
from ghostfleet.schedulers.kube.plugins.normalising import as_share

__all__ = ["TaintToleration"]


class TaintToleration(Plugin):
    """NoSchedule and NoExecute taints rule nodes out; PreferNoSchedule taints lower their score."""

    name = "TaintToleration"
    weight = 3

    def pre_filter(self, pod: PodInfo) -> Filter | None:
        return _Untolerated(self.snapshot.matcher, pod.info)

    def pre_score(self, pod: PodInfo) -> Score | None:
        return _FewerTaints(self.snapshot.matcher, pod.info)


class _Untolerated(Filter):
    def __init__(self, matcher: NodeMatcher, info: SpecInfo) -> None:
        self._matcher = matcher
        self._info = info

    def objections(self, slots: Slots) -> Sequence[Objection]:
        tolerated = self._matcher.tolerated(self._info)
        if tolerated is None:
            return ()
        return (Objection("node(s) had untolerated taint(s)", ~tolerated[slots], False),)


class _FewerTaints(Score):
    local = False

    def __init__(self, matcher: NodeMatcher, info: SpecInfo) -> None:
        self._matcher = matcher
        self._info = info
        self._untolerated: IntArray | None = None

    def refresh(self) -> bool:
        self._untolerated = self._matcher.untolerated_preferences(self._info)
        return self._untolerated is not None

    def many(self, slots: Slots) -> IntArray:
        assert self._untolerated is not None
        answer: IntArray = self._untolerated[slots]
        return answer

    def normalise(self, scores: IntArray) -> IntArray:
        return MAX_SCORE - as_share(scores)
