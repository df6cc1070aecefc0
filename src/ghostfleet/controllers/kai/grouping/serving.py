"""Groupers for what serves: Knative's revisions, and the pod gangs of Grove, which Dynamo stands on."""

from __future__ import annotations

from collections.abc import Sequence

from ghostfleet.controllers.kai.constants import POD_GROUP_ANNOTATION, POD_GROUPS
from ghostfleet.controllers.kai.grouping.default import INFERENCE, TOPOLOGY, DefaultGrouper, group_name
from ghostfleet.controllers.kai.grouping.metadata import (
    GroupingError,
    Metadata,
    SubGroup,
    TopologyConstraint,
    annotations_of,
    integer,
    items,
    labels_of,
    reference,
    text,
)
from ghostfleet.controllers.kai.grouping.owners import Owners
from ghostfleet.core.changes import Object
from ghostfleet.core.store import Store

__all__ = ["GroveGrouper", "KnativeGrouper"]

_REVISION, _MIN_SCALE = "serving.knative.dev/revision", "autoscaling.knative.dev/min-scale"
_POD_GANG, _GROVE_TOPOLOGY = "grove.io/podgang", "grove.io/topology-name"


class KnativeGrouper:
    """A gang for each revision, of as many pods as it never goes below; or a group for each pod."""

    def __init__(self, default: DefaultGrouper, owners: Owners, store: Store, *, gang: bool) -> None:
        self._default = default
        self._owners = owners
        self._store = store
        self._gang = gang

    def __call__(self, _owner: Object, pod: Object, _owners: Sequence[Object]) -> Metadata:
        own = pod["metadata"]
        name = labels_of(pod).get(_REVISION)
        if name is None:
            raise GroupingError(f"revisionName not found for knative service pod {own['namespace']}/{own['name']}")
        revision = self._owners.find("serving.knative.dev/v1", "Revision", own["namespace"], name)
        if revision is None:
            raise GroupingError(f'Revision "{name}" not found')
        metadata = self._default(revision, pod)
        metadata.topology, metadata.preemptibility = TopologyConstraint(), ""
        if self._gang and not self._has_group_per_pod(revision):
            least = annotations_of(revision).get(_MIN_SCALE, "1")
            metadata.min_available = int(least) if least.isascii() and least.isdigit() else 1
            metadata.priority_class = self._default.priority_class(revision, pod, INFERENCE)
        else:
            metadata.owner, metadata.name = reference(pod), group_name(pod)
            metadata.priority_class = INFERENCE
        return metadata

    def _has_group_per_pod(self, revision: Object) -> bool:
        """Whether pods of the revision were grouped one by one, which is then kept."""
        own = revision["metadata"]
        groups = [
            annotations_of(pod)[POD_GROUP_ANNOTATION]
            for pod in self._store.list("pods", own["namespace"])
            if labels_of(pod).get(_REVISION) == own["name"] and POD_GROUP_ANNOTATION in annotations_of(pod)
        ]
        if len(groups) != 1:
            return len(set(groups)) == len(groups) > 1
        group = self._store.find(POD_GROUPS, own["namespace"], groups[0])
        return group is not None and group["metadata"]["ownerReferences"][0]["kind"] == "Pod"


class GroveGrouper:
    """A group as the PodGang that a pod names says, with a sub group for each of its pod groups."""

    def __init__(self, default: DefaultGrouper, owners: Owners) -> None:
        self._default = default
        self._owners = owners

    def __call__(self, _owner: Object, pod: Object, _owners: Sequence[Object]) -> Metadata:
        own = pod["metadata"]
        name = labels_of(pod).get(_POD_GANG)
        where = f"{own['namespace']}/{name}"
        if name is None:
            raise GroupingError(
                f"label for podgang name (key: {_POD_GANG}) not found in pod {own['namespace']}/{own['name']}"
            )
        gang = self._owners.find("scheduler.grove.io/v1alpha1", "PodGang", own["namespace"], name)
        if gang is None:
            raise GroupingError(f'failed to get PodGang {where}. Err: PodGang "{name}" not found')
        metadata = self._default(gang, pod)
        notes = annotations_of(gang)
        topology = notes.get(_GROVE_TOPOLOGY) or notes.get(TOPOLOGY, "")
        metadata.topology = _packed(gang, topology, "spec") or metadata.topology
        metadata.priority_class = text(gang, "spec", "priorityClassName") or metadata.priority_class
        parents: dict[str, str] = {}
        above = []
        for config in items(gang, "spec", "topologyConstraintGroupConfigs"):
            names = config.get("podGroupNames") or ()
            if names:
                parents |= dict.fromkeys(names, _required_text(config, "name"))
                above.append(SubGroup(config["name"], topology=_packed(config, topology)))
        below = [_sub_group(each, topology, parents) for each in items(gang, "spec", "podgroups")]
        metadata.sub_groups = [*above, *below]
        metadata.min_available = sum(each.min_available for each in below)
        return metadata


def _sub_group(spec: Object, topology: str, parents: dict[str, str]) -> SubGroup:
    name = _required_text(spec, "name")
    least = integer(spec, "minReplicas")
    if least is None:
        raise GroupingError("missing required 'minReplicas' field")
    if least <= 0:
        raise GroupingError("invalid 'minReplicas' field. Must be greater than 0")
    if spec.get("podReferences") is None:
        raise GroupingError("missing required 'podReferences' field")
    pods = [_required_text(each, "name") for each in items(spec, "podReferences")]
    return SubGroup(name, least, parents.get(name, ""), _packed(spec, topology), pods)


def _required_text(obj: Object, field: str) -> str:
    found = text(obj, field)
    if found is None:
        raise GroupingError(f"missing required '{field}' field")
    return found


def _packed(obj: Object, topology: str, *path: str) -> TopologyConstraint | None:
    """The pack constraint of a gang or of a part of it."""
    at = (*path, "topologyConstraint", "packConstraint")
    preferred, required = text(obj, *at, "preferred"), text(obj, *at, "required")
    if preferred is None and required is None:
        return None
    if not topology:
        raise GroupingError("topology name cannot be empty when topology constraints are defined")
    return TopologyConstraint(topology, required or "", preferred or "")
