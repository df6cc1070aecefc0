"""Pod groups, from objects to infos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ghostfleet.controllers.kai.podgroups import is_preemptible, priority_of
from ghostfleet.core.changes import Object
from ghostfleet.core.store import Store
from ghostfleet.schedulers.kai.cache.queues import seconds_of
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.subgroup_info import DEFAULT_SUB_GROUP, PodSet, SubGroupSet, TopologyConstraint

__all__ = ["LAST_START", "STALE", "job_key", "pod_group_info"]

#: Published: pkg/common/constants/constants.go.
LAST_START = "kai.scheduler/last-start-timestamp"
STALE = "kai.scheduler/stale-podgroup-timestamp"


def job_key(namespace: str, name: str) -> str:
    """By what a pod group is known in the snapshot."""
    return f"{namespace}/{name}"


def pod_group_info(store: Store, pod_group: Object) -> PodGroupInfo:
    """A pod group without tasks."""
    metadata, spec = pod_group["metadata"], pod_group.get("spec") or {}
    job = PodGroupInfo(
        job_key(metadata["namespace"], metadata["name"]),
        spec.get("queue") or "",
        name=metadata["name"],
        namespace=metadata["namespace"],
        priority=priority_of(store, pod_group),
        preemptible=is_preemptible(store, pod_group),
        created=seconds_of(metadata.get("creationTimestamp")) or 0.0,
        root=_tree(spec),
    )
    notes = metadata.get("annotations") or {}
    job.last_start = seconds_of(notes.get(LAST_START))
    job.stale_since = seconds_of(notes.get(STALE))
    return job


def _tree(spec: Object) -> SubGroupSet:
    """The sub groups: those that others name as parent are sets, the others hold pods."""
    root = SubGroupSet("", _constraint(spec.get("topologyConstraint")))
    stated: Sequence[Object] = spec.get("subGroups") or ()
    if not stated:
        root.add_pod_set(PodSet(DEFAULT_SUB_GROUP, max(spec.get("minMember") or 1, 1)))
        return root
    below: dict[str, list[Object]] = {}
    for each in stated:
        below.setdefault(each.get("parent") or "", []).append(each)
    _hang(root, "", below)
    return root


def _hang(group: SubGroupSet, name: str, below: Mapping[str, list[Object]]) -> None:
    for each in below.get(name, ()):
        constraint = _constraint(each.get("topologyConstraint"))
        if each["name"] in below:
            child = SubGroupSet(each["name"], constraint)
            group.add_group(child)
            _hang(child, each["name"], below)
        else:
            group.add_pod_set(PodSet(each["name"], max(each.get("minMember") or 1, 1), constraint))


def _constraint(stated: Object | None) -> TopologyConstraint | None:
    if not stated or not stated.get("topology"):
        return None
    return TopologyConstraint(
        stated["topology"], stated.get("requiredTopologyLevel") or "", stated.get("preferredTopologyLevel") or ""
    )
