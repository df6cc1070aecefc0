"""PodTopologySpread: as many pods here as there.

The *skew* of a node is how many pods of the constraint's selector its topology value would have, less the fewest any
value has. A constraint with DoNotSchedule rules out nodes with too much of it; one with ScheduleAnyway only prefers
the others. Values count only over nodes that have all the labels asked for and, unless the pod says otherwise, that
its node affinity allows. Pods without constraints of their own get the defaults, with the selector of the services and
controllers they belong to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import Any, NamedTuple

import numpy as np

from ghostfleet.core.changes import Change, Object
from ghostfleet.core.labelindex import SelectorIndex
from ghostfleet.core.selectors import NOTHING, LabelSelector, Requirement, selector_from_object
from ghostfleet.schedulers.framework.arguments import ConfigError, only_fields, plugin_fields
from ghostfleet.schedulers.framework.nodetable import BoolArray, IntArray
from ghostfleet.schedulers.framework.plugin import MAX_SCORE, Filter, Objection, Plugin, Scope, Score, Slots
from ghostfleet.schedulers.framework.podinfo import PodInfo, SpecInfo
from ghostfleet.schedulers.framework.podtable import Counter, DomainCount
from ghostfleet.schedulers.framework.snapshot import Snapshot
from ghostfleet.schedulers.framework.terms import label_selector

__all__ = ["PodTopologySpread"]

NOT_MET = "node(s) didn't match pod topology spread constraints"
NO_LABEL = f"{NOT_MET} (missing required label)"
_HOSTNAME = "kubernetes.io/hostname"
_NO_MINIMUM = 2**31 - 1
_OWNERS = {
    ("v1", "ReplicationController"): "replicationcontrollers",
    ("apps/v1", "ReplicaSet"): "replicasets.apps",
    ("apps/v1", "StatefulSet"): "statefulsets.apps",
}
#: The system's default constraints (k8s.io/kubernetes pkg/scheduler/framework/plugins/podtopologyspread/plugin.go).
_SYSTEM: tuple[Mapping[str, Any], ...] = (
    {"topologyKey": _HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 3},
    {"topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 5},
)


class _Defaults(NamedTuple):
    """Constraints of pods that have none."""

    constraints: tuple[Mapping[str, Any], ...] = _SYSTEM
    by_system: bool = True


class PodTopologySpread(Plugin):
    """Spreads pods of a selector over the values of node labels."""

    name = "PodTopologySpread"
    weight = 2
    events = frozenset(("pods", "nodes"))
    kinds = ("services",)
    arguments: _Defaults

    @classmethod
    def read_arguments(cls, path: str, given: Mapping[str, Any]) -> _Defaults:
        plugin_fields(path, given, "defaultConstraints", "defaultingType")
        kind = given.get("defaultingType") or "System"
        if kind not in ("System", "List"):
            raise ConfigError(f"{path}.defaultingType: unknown type {kind!r}; known are System, List")
        listed = tuple(given.get("defaultConstraints") or ())
        if kind == "System" and listed:
            raise ConfigError(f"{path}.defaultConstraints: must be empty when defaultingType is System")
        known = ("maxSkew", "topologyKey", "whenUnsatisfiable", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy")
        for index, each in enumerate(listed):
            only_fields(f"{path}.defaultConstraints[{index}]", each, known)
        return _Defaults() if kind == "System" else _Defaults(listed, False)

    @classmethod
    def default_arguments(cls) -> _Defaults:
        return _Defaults()

    def __init__(self, snapshot: Snapshot, arguments: _Defaults) -> None:
        super().__init__(snapshot, arguments)
        #: Selectors of services, by namespace.
        self._services: dict[str, SelectorIndex] = {}
        for service in snapshot.store.list("services"):
            self._put_service(service["metadata"]["namespace"], service["metadata"]["name"], service)

    def notice(self, change: Change) -> None:
        self._put_service(change.namespace, change.name, change.new)

    def _put_service(self, namespace: str, name: str, service: Object | None) -> None:
        selector = ((service or {}).get("spec") or {}).get("selector")
        here = self._services.setdefault(namespace, SelectorIndex())
        if selector:
            here.add(name, selector)
        else:
            here.remove(name)
        if not here:
            del self._services[namespace]

    def sign(self, pod: Object, info: SpecInfo) -> tuple[object, ...] | None:
        if info.spread:
            return ()
        selector = self._default_selector(pod["metadata"])
        return None if selector is None else (self.name, str(selector))

    def pre_filter(self, pod: PodInfo) -> Filter | None:
        constraints = self._constraints_of(pod, "DoNotSchedule")
        return _Skewed(self.snapshot, pod, constraints) if constraints else None

    def pre_score(self, pod: PodInfo) -> Score | None:
        constraints = self._constraints_of(pod, "ScheduleAnyway")
        all_labels = bool(pod.info.spread) or not self.arguments.by_system
        return _LessCrowded(self.snapshot, pod, constraints, all_labels=all_labels) if constraints else None

    def _constraints_of(self, pod: PodInfo, action: str) -> list[_Constraint]:
        if pod.info.spread:
            return _constraints(pod.info.spread, pod.labels, action)
        selector = self._default_selector(pod.pod["metadata"])
        if selector is None:
            return []
        defaults = _constraints(self.arguments.constraints, pod.labels, action)
        return [each._replace(selector=selector) for each in defaults]

    def _default_selector(self, metadata: Object) -> LabelSelector | None:
        """What pods belong together with this one, by services and controllers; None when nothing says so."""
        if not self.arguments.constraints:
            return None
        namespace = metadata["namespace"]
        if namespace not in self._services and "ownerReferences" not in metadata:
            return None
        labels = metadata.get("labels") or {}
        merged: dict[str, str] = {}
        services = self._services.get(namespace)
        for _, chosen in services.matching(labels) if services is not None else ():
            merged.update(chosen)
        requirements = [Requirement(key, "=", (value,)) for key, value in merged.items()]
        if "ownerReferences" in metadata:
            requirements.extend(self._of_owner(metadata, merged))
        return LabelSelector(requirements) if requirements else None

    def _of_owner(self, metadata: Object, merged: dict[str, str]) -> tuple[Requirement, ...]:
        owner = next((each for each in metadata.get("ownerReferences") or () if each.get("controller")), None)
        resource = _OWNERS.get((owner.get("apiVersion", ""), owner.get("kind", ""))) if owner is not None else None
        if owner is None or resource is None:
            return ()
        found = self.snapshot.store.find(resource, metadata["namespace"], owner["name"])
        chosen = (found.get("spec") or {}).get("selector") if found is not None else None
        if not chosen:
            return ()
        if resource == "replicationcontrollers":
            return tuple(Requirement(key, "=", (value,)) for key, value in chosen.items() if key not in merged)
        return selector_from_object(chosen).requirements


class _Constraint(NamedTuple):
    """One topology spread constraint."""

    topology_key: str
    max_skew: int
    selector: LabelSelector
    min_domains: int
    honor_affinity: bool
    honor_taints: bool


def _constraints(listed: Sequence[Mapping[str, Any]], labels: Mapping[str, str], action: str) -> list[_Constraint]:
    """The constraints that do `action` (DoNotSchedule, ScheduleAnyway) for a pod with these labels."""
    return [
        _Constraint(
            each["topologyKey"],
            each.get("maxSkew", 1),
            _with_labels(label_selector(each.get("labelSelector")), each.get("matchLabelKeys") or (), labels),
            each.get("minDomains") or 1,
            each.get("nodeAffinityPolicy", "Honor") == "Honor",
            each.get("nodeTaintsPolicy", "Ignore") == "Honor",
        )
        for each in listed
        if each.get("whenUnsatisfiable", "DoNotSchedule") == action
    ]


def _with_labels(selector: LabelSelector, keys: Sequence[str], labels: Mapping[str, str]) -> LabelSelector:
    own = [Requirement(key, "=", (labels[key],)) for key in keys if key in labels]
    if not own or selector is NOTHING:
        return selector
    return LabelSelector([*own, *selector.requirements])


class _Spread:
    """What both kinds of constraints need to know: the pods that count, the nodes that count."""

    def __init__(self, snapshot: Snapshot, pod: PodInfo, keys: Sequence[str]) -> None:
        self.nodes = snapshot.nodes
        self._snapshot = snapshot
        self._info = pod.info
        self._namespace = pod.namespace
        self._keys = keys

    def counter(self, constraint: _Constraint) -> Counter:
        """Pods that the constraint's selector means, those being deleted left out."""
        selector, namespace = constraint.selector, self._namespace
        if not selector.requirements:
            return Counter(self.nodes, lambda *_: False)

        def asks(where: str, labels: Mapping[str, str], terminating: bool) -> bool:
            return where == namespace and not terminating and selector.matches(labels)

        return self._snapshot.pods.counter(("spread", namespace, str(selector)), asks, selector.equalities())

    def domains(self, constraint: _Constraint) -> DomainCount:
        """The same by topology value, over the nodes that count for the constraint."""
        matcher, info = self._snapshot.matcher, self._info
        masks = [self.nodes.labels(key).codes >= 0 for key in self._keys]
        parts: list[bytes] = [",".join(self._keys).encode()]
        if constraint.honor_affinity:
            parts.append(info.node_key)
            if (allowed := matcher.allowed(info)) is not None:
                masks.append(allowed)
        if constraint.honor_taints:
            parts.append(info.toleration_key)
            if (tolerated := matcher.tolerated(info)) is not None:
                masks.append(tolerated)
        eligible = None
        for mask in masks:
            eligible = mask if eligible is None else eligible & mask
        return self.counter(constraint).by(constraint.topology_key, eligible, b"|".join(parts))


class _Skewed(Filter):
    """Nodes on which a pod would make the skew too large."""

    scope = Scope.CLUSTER

    def __init__(self, snapshot: Snapshot, pod: PodInfo, constraints: Sequence[_Constraint]) -> None:
        self._spread = _Spread(snapshot, pod, [each.topology_key for each in constraints])
        self._constraints = constraints
        self._labels = pod.labels

    def objections(self, slots: Slots) -> Sequence[Objection]:
        lacking: BoolArray = np.zeros(len(slots), np.bool_)
        skewed: BoolArray = np.zeros(len(slots), np.bool_)
        for constraint in self._constraints:
            codes = self._spread.nodes.labels(constraint.topology_key).codes[slots]
            missing = (codes < 0) & ~skewed
            lacking |= missing
            skewed |= ~lacking & self._too_full(constraint, codes)
        return Objection(NO_LABEL, lacking, False), Objection(NOT_MET, skewed, True)

    def _too_full(self, constraint: _Constraint, codes: IntArray) -> BoolArray:
        domain = self._spread.domains(constraint)
        least = domain.least()
        if int(domain.present.sum()) < constraint.min_domains:
            least = 0
        own = int(constraint.selector.matches(self._labels))
        return domain.sums[codes] + (own - (_NO_MINIMUM if least is None else least)) > constraint.max_skew


class _LessCrowded(Score):
    """Prefers nodes in topology values with fewer pods; -1 stands for nodes that are not scored."""

    local = False

    def __init__(
        self, snapshot: Snapshot, pod: PodInfo, constraints: Sequence[_Constraint], *, all_labels: bool
    ) -> None:
        #: Whether only nodes that have all labels are scored; not so for the system's defaults.
        self._keys = [each.topology_key for each in constraints] if all_labels else []
        self._spread = _Spread(snapshot, pod, self._keys)
        self._constraints = constraints

    def many(self, slots: Slots) -> IntArray:
        nodes = self._spread.nodes
        scored: BoolArray = np.ones(len(slots), np.bool_)
        for key in self._keys:
            scored &= nodes.labels(key).codes[slots] >= 0
        total = np.zeros(len(slots))
        for constraint in self._constraints:
            total += self._crowd(constraint, slots, scored)
        answer: IntArray = np.floor(total + 0.5).astype(np.int64)
        answer[~scored] = -1
        return answer

    def _crowd(self, constraint: _Constraint, slots: IntArray, scored: BoolArray) -> Any:
        key = constraint.topology_key
        codes = self._spread.nodes.labels(key).codes[slots]
        if key == _HOSTNAME:
            counts = self._spread.counter(constraint).at(slots)
            size = int(scored.sum())
        else:
            counts = self._spread.domains(constraint).sums[codes]
            # A node without the label counts as a value of its own, the empty one.
            size = len(np.unique(codes[scored]))
        crowd = counts * log(size + 2) + (constraint.max_skew - 1)
        return np.where(scored & (codes >= 0), crowd, 0.0)

    def normalise(self, scores: IntArray) -> IntArray:
        scored = scores >= 0
        counted = scores[scored]
        most = max(int(counted.max()), 0) if len(counted) else 0
        if most == 0:
            return np.where(scored, MAX_SCORE, 0)
        return np.where(scored, MAX_SCORE * (most + int(counted.min()) - scores) // most, 0)
