"""Groupers for Ray: one gang of the head and the least number of workers of each group.

The pods of a RayJob or RayService are those of a RayCluster that is made for it, which its status names.
"""

from __future__ import annotations

from collections.abc import Sequence

from ghostfleet.controllers.kai.grouping.default import DefaultGrouper
from ghostfleet.controllers.kai.grouping.metadata import (
    GroupingError,
    Metadata,
    SubGroup,
    integer,
    items,
    labels_of,
    text,
)
from ghostfleet.controllers.kai.grouping.owners import Owners
from ghostfleet.core.changes import Object

__all__ = ["RayGrouper"]

_HEAD = "headgroup"
_GROUP_LABEL, _CLASS_LABEL = "ray.io/group", "ray.io/priority-class-name"


class RayGrouper:
    """Groups by a RayCluster; `paths` lead to its name, none where the owner is the cluster itself."""

    def __init__(self, default: DefaultGrouper, owners: Owners, *paths: tuple[str, ...]) -> None:
        self._default = default
        self._owners = owners
        self._paths = paths

    def __call__(self, owner: Object, pod: Object, _owners: Sequence[Object]) -> Metadata:
        metadata = self._default(owner, pod)
        metadata.sub_groups = _sub_groups(self._cluster(owner))
        metadata.min_available = sum(each.min_available for each in metadata.sub_groups)
        metadata.priority_class = labels_of(owner).get(_CLASS_LABEL, metadata.priority_class)
        for each in metadata.sub_groups:
            if each.name == labels_of(pod).get(_GROUP_LABEL):
                each.pods.append(pod["metadata"]["name"])
        return metadata

    def _cluster(self, owner: Object) -> Object:
        if not self._paths:
            return owner
        own = owner["metadata"]
        name = next(filter(None, (text(owner, *path) for path in self._paths)), None)
        if name is None:
            raise GroupingError(
                f"failed to extract rayClusterName for {own['namespace']}/{own['name']} of kind {owner['kind']}. "
                "Please make sure that the ray-operator is up and a rayCluster child-object has been created"
            )
        cluster = self._owners.find(owner["apiVersion"], "RayCluster", own["namespace"], name)
        if cluster is None:
            raise GroupingError(f'RayCluster "{name}" not found')
        return cluster


def _sub_groups(cluster: Object) -> list[SubGroup]:
    groups = [SubGroup(_HEAD, 1)]
    for index, spec in enumerate(items(cluster, "spec", "workerGroupSpecs")):
        if spec.get("suspended"):
            continue
        wanted, least = integer(spec, "replicas") or 0, integer(spec, "minReplicas") or 0
        if least > wanted:
            raise GroupingError(
                "ray-cluster replicas for a workerGroupsSpec can't be less than minReplicas. "
                f"Given {wanted} replicas and {least} minReplicas. "
                f"Please fix the replicas field for group number {index}"
            )
        hosts = integer(spec, "numOfHosts")
        pods = (least or wanted) * (1 if hosts is None else hosts)
        if pods:
            groups.append(SubGroup(text(spec, "groupName") or f"worker-group-{index}", pods))
    return groups
