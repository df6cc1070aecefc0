"""Groupers for the jobs of Kubeflow's training operator: one gang of all replicas, or of as many as are asked for.

A PyTorchJob has the sub groups `master` and `worker`; its workers may be divided into *segments* of equal size, each
near to each other. The launcher of an MPIJob that waits for its workers counts when it is there.
"""

from __future__ import annotations

from collections.abc import Sequence

from ghostfleet.controllers.kai.grouping.default import TOPOLOGY, DefaultGrouper
from ghostfleet.controllers.kai.grouping.metadata import (
    GroupingError,
    Metadata,
    SubGroup,
    TopologyConstraint,
    annotations_of,
    integer,
    labels_of,
    text,
)
from ghostfleet.core.changes import Object
from ghostfleet.core.store import Store

__all__ = [
    "SEGMENT_SIZE",
    "DistributedGrouper",
    "MpiGrouper",
    "PyTorchGrouper",
    "segment_topology",
    "whole_number",
    "worker_annotations",
]

_PREFIX = "training.kubeflow.org"
_REPLICA_TYPE, _REPLICA_INDEX = f"{_PREFIX}/replica-type", f"{_PREFIX}/replica-index"
_JOB_NAME, _JOB_ROLE = f"{_PREFIX}/job-name", f"{_PREFIX}/job-role"
_MASTER, _WORKER = "Master", "Worker"
SEGMENT_SIZE = "kai.scheduler/segment-size"
_SEGMENT_REQUIRED = "kai.scheduler/segment-topology-required-placement"
_SEGMENT_PREFERRED = "kai.scheduler/segment-topology-preferred-placement"


class DistributedGrouper:
    """A gang of all replicas; `field` of the spec holds them by type, of which some must be there."""

    def __init__(self, default: DefaultGrouper, field: str, *mandatory: str) -> None:
        self._default = default
        self._field = field
        self._mandatory = mandatory

    def __call__(self, owner: Object, pod: Object, _owners: Sequence[Object]) -> Metadata:
        metadata = self._default(owner, pod)
        wanted = integer(owner, "spec", "runPolicy", "schedulingPolicy", "minAvailable")
        metadata.min_available = wanted if wanted is not None else self._replicas(owner)
        return metadata

    def _replicas(self, owner: Object) -> int:
        job, field = owner["metadata"]["name"], self._field
        specs = (owner.get("spec") or {}).get(field)
        if not isinstance(specs, dict):
            raise GroupingError(f"the type of the job {job} doesn't have a {field} field. Please fix the replica field")
        for name in self._mandatory:
            if name not in specs:
                raise GroupingError(
                    f"the type of the job {job} doesn't have a {name} replica spec which is required. "
                    "Please fix the replica field"
                )
        total = 0
        for name in specs:
            replicas = integer(owner, "spec", field, name, "replicas")
            if not replicas:
                raise GroupingError(
                    f"the type of the job {job} doesn't allow for 0 {name} pods. Please fix the replica field"
                )
            total += replicas
        if total <= 0:
            raise GroupingError(
                f"failed calculate number of pods for a distributed job {job}. Must be greater than 0, but got {total}"
            )
        return total


class MpiGrouper(DistributedGrouper):
    """As the others, but for a launcher that comes later."""

    def __init__(self, default: DefaultGrouper, store: Store) -> None:
        super().__init__(default, "mpiReplicaSpecs", "Launcher", _WORKER)
        self._store = store

    def __call__(self, owner: Object, pod: Object, owners: Sequence[Object]) -> Metadata:
        metadata = super().__call__(owner, pod, owners)
        if text(owner, "spec", "launcherCreationPolicy") == "WaitForWorkersReady" and not self._has_launcher(owner):
            metadata.min_available -= integer(owner, "spec", "mpiReplicaSpecs", "Launcher", "replicas") or 0
        return metadata

    def _has_launcher(self, owner: Object) -> bool:
        sought = {_JOB_NAME: owner["metadata"]["name"], _JOB_ROLE: "launcher"}
        return any(
            sought.items() <= labels_of(pod).items() and "deletionTimestamp" not in pod["metadata"]
            for _, pod in self._store.owned_by(owner["metadata"]["uid"], "pods")
        )


class PyTorchGrouper(DistributedGrouper):
    """With sub groups, and fewer pods than all where the job is elastic."""

    def __init__(self, default: DefaultGrouper) -> None:
        super().__init__(default, "pytorchReplicaSpecs")

    def __call__(self, owner: Object, pod: Object, owners: Sequence[Object]) -> Metadata:
        metadata = super().__call__(owner, pod, owners)
        elastic = integer(owner, "spec", "elasticPolicy", "minReplicas")
        if elastic is not None and integer(owner, "spec", "runPolicy", "schedulingPolicy", "minAvailable") is None:
            metadata.min_available = elastic
        specs = owner["spec"].get("pytorchReplicaSpecs") or {}
        masters = integer(specs, _MASTER, "replicas") or 0
        if masters:
            metadata.sub_groups.append(SubGroup(_MASTER.lower(), masters, pods=_if_of(pod, _MASTER)))
        if _WORKER in specs:
            metadata.sub_groups += _workers(owner, pod, specs[_WORKER], max(0, metadata.min_available - masters))
        return metadata


def _if_of(pod: Object, role: str) -> list[str]:
    """The pod, if that is its role."""
    return [pod["metadata"]["name"]] if labels_of(pod).get(_REPLICA_TYPE) == role.lower() else []


def _workers(owner: Object, pod: Object, spec: Object, min_available: int) -> list[SubGroup]:
    """One sub group of workers, or one with a segment each below it."""
    whole = SubGroup(_WORKER.lower(), min_available, pods=_if_of(pod, _WORKER))
    notes = worker_annotations(pod, spec.get("template") or {})
    size = whole_number(notes.get(SEGMENT_SIZE), "segment size") if notes.get(SEGMENT_SIZE) else 0
    if not size:
        return [whole]
    replicas = integer(spec, "replicas")
    topology = segment_topology(notes, owner)
    index = _segment_index(pod, size)
    segments = [
        SubGroup(f"worker-{each}", size, whole.name, topology, whole.pods if each == index else [])
        for each in range((1 if replicas is None else replicas) // size)
    ]
    return [SubGroup(whole.name), *segments]


def worker_annotations(pod: Object, template: Object) -> dict[str, str]:
    """The pod's annotations, and where it has none those of the workers' template."""
    given = (template.get("metadata") or {}).get("annotations") or {}
    return {**given, **{key: value for key, value in annotations_of(pod).items() if value}}


def segment_topology(notes: dict[str, str], owner: Object) -> TopologyConstraint | None:
    """How near the pods of a segment are to be, by what a worker's annotations say."""
    topology = notes.get(TOPOLOGY) or annotations_of(owner).get(TOPOLOGY, "")
    required, preferred = notes.get(_SEGMENT_REQUIRED, ""), notes.get(_SEGMENT_PREFERRED, "")
    if not topology or not (required or preferred):
        return None
    return TopologyConstraint(topology, required, preferred)


def _segment_index(pod: Object, size: int) -> int:
    """In which segment a worker is; -1 for other pods."""
    if not _if_of(pod, _WORKER):
        return -1
    own = pod["metadata"]
    index = labels_of(pod).get(_REPLICA_INDEX)
    if index is None:
        raise GroupingError(f"replica index label not found on pod {own['namespace']}/{own['name']}")
    return whole_number(index, "replica index") // size


def whole_number(stated: str | None, what: str) -> int:
    if stated is None or not (stated.isascii() and stated.isdigit()):
        raise GroupingError(f'invalid {what} {stated}, err: strconv.Atoi: parsing "{stated}": invalid syntax')
    return int(stated)
