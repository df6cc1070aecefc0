"""Metadata: what a pod group is to be, as a grouper works it out from a pod and its top owner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.errors import ApiError

__all__ = [
    "Grouper",
    "GroupingError",
    "Metadata",
    "SubGroup",
    "TopologyConstraint",
    "annotations_of",
    "integer",
    "items",
    "labels_of",
    "reference",
    "text",
]


class GroupingError(ApiError):
    """Why a pod cannot be grouped now."""

    def __init__(self, message: str) -> None:
        super().__init__(500, "InternalError", message)


@dataclass(frozen=True, slots=True)
class TopologyConstraint:
    """How near to each other pods are placed; "" where nothing is asked for."""

    topology: str = ""
    required_level: str = ""
    preferred_level: str = ""

    def spec(self) -> Object:
        fields = {
            "preferredTopologyLevel": self.preferred_level,
            "requiredTopologyLevel": self.required_level,
            "topology": self.topology,
        }
        return {name: value for name, value in fields.items() if value}


@dataclass(slots=True)
class SubGroup:
    """A part of a pod group: pods, or other sub groups below it."""

    name: str
    min_available: int = 0
    parent: str = ""
    topology: TopologyConstraint | None = None
    #: Names of pods that are known to be in it.
    pods: list[str] = field(default_factory=list)

    def spec(self) -> Object:
        spec: Object = {"name": self.name}
        if self.min_available:
            spec["minMember"] = self.min_available
        if self.parent:
            spec["parent"] = self.parent
        if self.topology is not None:
            spec["topologyConstraint"] = self.topology.spec()
        return spec


@dataclass(slots=True)
class Metadata:
    """A pod group as it is to be."""

    name: str
    namespace: str
    owner: Object
    annotations: dict[str, str]
    labels: dict[str, str]
    queue: str
    priority_class: str
    preemptibility: str = ""
    min_available: int = 1
    sub_groups: list[SubGroup] = field(default_factory=list)
    topology: TopologyConstraint = field(default_factory=TopologyConstraint)

    def spec(self) -> Object:
        spec: Object = {"minMember": self.min_available} if self.min_available else {}
        spec |= {"queue": self.queue, "priorityClassName": self.priority_class}
        if self.preemptibility:
            spec["preemptibility"] = self.preemptibility
        if self.sub_groups:
            spec["subGroups"] = [each.spec() for each in self.sub_groups]
        spec["topologyConstraint"] = self.topology.spec()
        return spec

    def pod_group(self) -> Object:
        metadata: Object = {"name": self.name, "namespace": self.namespace, "generation": 1}
        metadata["ownerReferences"] = [self.owner]
        metadata["annotations"] = self.annotations
        if self.labels:
            metadata["labels"] = self.labels
        api_version = "scheduling.run.ai/v2alpha2"
        return {"apiVersion": api_version, "kind": "PodGroup", "metadata": metadata, "spec": self.spec()}


#: From a top owner, a pod and all its owners, nearest first, to what its pod group is to be.
Grouper = Callable[[Object, Object, Sequence[Object]], Metadata]


def reference(obj: Object) -> Object:
    """The owner reference by which a pod group names its owner."""
    metadata = obj["metadata"]
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": metadata["name"], "uid": metadata["uid"]}


def labels_of(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def annotations_of(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("annotations") or {}


def _field(obj: Object, path: Sequence[str]) -> Any:
    """A field that custom resources may have; None when it is not there."""
    found: Any = obj
    for index, name in enumerate(path):
        if not isinstance(found, dict):
            where = ".".join(path[:index])
            raise GroupingError(f".{where} accessor error: {found} is not an object")
        found = found.get(name)
        if found is None:
            return None
    return found


def integer(obj: Object, *path: str) -> int | None:
    found = _field(obj, path)
    if found is not None and (not isinstance(found, int) or isinstance(found, bool)):
        raise GroupingError(f".{'.'.join(path)} accessor error: {found} is not an integer")
    return found


def text(obj: Object, *path: str) -> str | None:
    found = _field(obj, path)
    if found is not None and not isinstance(found, str):
        raise GroupingError(f".{'.'.join(path)} accessor error: {found} is not a string")
    return found


def items(obj: Object, *path: str) -> list[Object]:
    """A list of objects; empty when it is not there."""
    found = _field(obj, path)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise GroupingError(f".{'.'.join(path)} accessor error: {found} is not a list of objects")
    return found
