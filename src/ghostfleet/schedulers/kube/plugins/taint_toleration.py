"""TaintToleration: nodes with taints that a pod does not tolerate are ruled out, or count less."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ghostfleet.schedulers.framework.nodematcher import NodeMatcher
from ghostfleet.schedulers.framework.nodetable import IntArray
from ghostfleet.schedulers.framework.plugin import MAX_SCORE, Filter, Objection, Plugin, Score, Slots
from ghostfleet.schedulers.framework.podinfo import PodInfo, SpecInfo
from ghostfleet.schedulers.framework.snapshot import Snapshot
from ghostfleet.schedulers.kube.plugins.normalising import as_share

__all__ = ["TaintToleration"]

_SHARED = 4096


class TaintToleration(Plugin):
    """NoSchedule and NoExecute taints rule nodes out; PreferNoSchedule taints lower their score."""

    name = "TaintToleration"
    weight = 3

    def __init__(self, snapshot: Snapshot, arguments: Any = None) -> None:
        super().__init__(snapshot, arguments)
        #: Pods with the same tolerations share them.
        self._shared: dict[bytes, tuple[Filter, Score]] = {}

    def pre_filter(self, pod: PodInfo) -> Filter | None:
        return self._of(pod.info)[0]

    def pre_score(self, pod: PodInfo) -> Score | None:
        return self._of(pod.info)[1]

    def _of(self, info: SpecInfo) -> tuple[Filter, Score]:
        found = self._shared.get(info.toleration_key)
        if found is None:
            if len(self._shared) >= _SHARED:
                self._shared.clear()
            matcher = self.snapshot.matcher
            found = self._shared[info.toleration_key] = (_Untolerated(matcher, info), _FewerTaints(matcher, info))
        return found


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
