"""NodeAffinity: the nodes that a pod's node selector and node affinity ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ghostfleet.schedulers.framework.arguments import plugin_fields
from ghostfleet.schedulers.framework.nodematcher import NodeMatcher, node_names
from ghostfleet.schedulers.framework.nodetable import BoolArray, IntArray
from ghostfleet.schedulers.framework.plugin import Filter, Objection, Plugin, Rejected, Score, Slots
from ghostfleet.schedulers.framework.podinfo import PodInfo, SpecInfo
from ghostfleet.schedulers.kube.plugins.normalising import as_share

__all__ = ["NodeAffinity"]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class NodeAffinity(Plugin):
    """Required terms rule nodes out, preferred ones raise scores; the profile may add terms to those of all pods."""

    name = "NodeAffinity"
    weight = 2
    fields = frozenset(("affinity", "nodeSelector"))

    @classmethod
    def read_arguments(cls, path: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
        plugin_fields(path, given, "addedAffinity")
        return dict(given.get("addedAffinity") or {})

    @classmethod
    def default_arguments(cls) -> Mapping[str, Any]:
        return {}

    def pre_filter(self, pod: PodInfo) -> Filter | None:
        info, added = pod.info, self.arguments.get(_REQUIRED)
        required = info.node_affinity.get(_REQUIRED)
        if required is None and added is None and not info.node_selector:
            return None
        names = node_names((required or {}).get("nodeSelectorTerms") or ())
        if names is not None and not names:
            raise Rejected("pod affinity terms conflict")
        return _Required(self.snapshot.matcher, info, added, names)

    def pre_score(self, pod: PodInfo) -> Score | None:
        terms = (*(self.arguments.get(_PREFERRED) or ()), *(pod.info.node_affinity.get(_PREFERRED) or ()))
        return _Preferred(self.snapshot.matcher, terms) if terms else None


class _Required(Filter):
    def __init__(
        self, matcher: NodeMatcher, info: SpecInfo, added: Mapping[str, Any] | None, names: set[str] | None
    ) -> None:
        self._matcher = matcher
        self._info = info
        self._added = added
        self._names = None if names is None else frozenset(names)

    def node_names(self) -> frozenset[str] | None:
        return self._names

    def objections(self, slots: Slots) -> Sequence[Objection]:
        found: list[Objection] = []
        by_profile: BoolArray | None = None
        if self._added is not None:
            by_profile = self._matcher.any_term(self._added.get("nodeSelectorTerms") or ())[slots]
            found.append(Objection("node(s) didn't match scheduler-enforced node affinity", ~by_profile, False))
        wanted = self._matcher.allowed(self._info)
        if wanted is not None:
            out = ~wanted[slots] if by_profile is None else by_profile & ~wanted[slots]
            found.append(Objection("node(s) didn't match Pod's node affinity/selector", out, False))
        return found


class _Preferred(Score):
    local = False

    def __init__(self, matcher: NodeMatcher, terms: Sequence[Mapping[str, Any]]) -> None:
        self._matcher = matcher
        self._terms = terms

    def many(self, slots: Slots) -> IntArray:
        answer: IntArray = self._matcher.preferred(self._terms)[slots]
        return answer

    def normalise(self, scores: IntArray) -> IntArray:
        return as_share(scores)
