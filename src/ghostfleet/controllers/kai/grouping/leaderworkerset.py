"""The grouper for LeaderWorkerSets: a gang for each group of a leader and its workers.

While workers wait for their leader to be ready, the leader alone is enough. Workers may be divided into segments, with
the leader among the first one or apart; the index of a pod says in which it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from ghostfleet.controllers.kai.grouping.default import DefaultGrouper
from ghostfleet.controllers.kai.grouping.kubeflow import (
    SEGMENT_SIZE,
    segment_topology,
    whole_number,
    worker_annotations,
)
from ghostfleet.controllers.kai.grouping.metadata import (
    GroupingError,
    Metadata,
    SubGroup,
    annotations_of,
    integer,
    labels_of,
    text,
)
from ghostfleet.core.changes import Object

__all__ = ["WORKER_INDEX", "LeaderWorkerSetGrouper"]

_PREFIX = "leaderworkerset.sigs.k8s.io"
_SIZE, _GROUP_INDEX = f"{_PREFIX}/size", f"{_PREFIX}/group-index"
WORKER_INDEX = f"{_PREFIX}/worker-index"
_LEADER, _WORKERS = "leader", "workers"


class LeaderWorkerSetGrouper:
    """Groups by the index of the group."""

    def __init__(self, default: DefaultGrouper) -> None:
        self._default = default

    def __call__(self, owner: Object, pod: Object, _owners: Sequence[Object]) -> Metadata:
        metadata = self._default(owner, pod)
        metadata.min_available = size = _members(owner, pod)
        segment = _segment_size(owner, size)
        metadata.sub_groups = _segmented(owner, pod, size, segment) if segment else _plain(pod, size)
        index = labels_of(pod).get(_GROUP_INDEX, "")
        if index.isascii() and index.isdigit():
            metadata.name = f"{metadata.name}-group-{int(index)}"
        return metadata


def _named(owner: Object) -> str:
    return f"{owner['metadata']['namespace']}/{owner['metadata']['name']}"


def _members(owner: Object, pod: Object) -> int:
    """How many pods of a group must be placed together."""
    size = integer(owner, "spec", "leaderWorkerTemplate", "size")
    if size is None:
        raise GroupingError(f"leaderWorkerTemplate.size not found in LWS {_named(owner)}")
    if size <= 0:
        raise GroupingError(f"invalid leaderWorkerTemplate.size {size} in LWS {_named(owner)}")
    policy = text(owner, "spec", "startupPolicy")
    if policy in (None, "LeaderCreated"):
        return size
    if policy != "LeaderReady":
        raise GroupingError(f"unknown startupPolicy: {policy}")
    if _is_leader(pod) and not pod["spec"].get("nodeName"):
        return 1
    stated = annotations_of(pod).get(_SIZE, "")
    return int(stated) if stated.isascii() and stated.isdigit() else size


def _is_leader(pod: Object) -> bool:
    return labels_of(pod).get(WORKER_INDEX) == "0"


def _plain(pod: Object, size: int) -> list[SubGroup]:
    """The leader, and all workers."""
    own = [pod["metadata"]["name"]]
    groups = [SubGroup(_LEADER, 1, pods=own if _is_leader(pod) else [])]
    if size > 1:
        groups.append(SubGroup(_WORKERS, size - 1, pods=[] if _is_leader(pod) else own))
    return groups


def _segment_size(owner: Object, size: int) -> int:
    """How many pods a segment has; 0 where there are none."""
    found = integer(owner, "spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupSize")
    if found is None:
        stated = annotations_of(owner).get(SEGMENT_SIZE)
        if stated is None:
            return 0
        found = whole_number(stated, "segment size annotation")
    if found <= 1:
        raise GroupingError(f"segmentSize {found} is not valid. It must be greater than 1")
    if found > size:
        raise GroupingError(f"segmentSize {found} is greater than replicasSize {size}")
    return found


def _segmented(owner: Object, pod: Object, size: int, segment: int) -> list[SubGroup]:
    even = (size - 1) % segment == 0

    def segment_of(index: int) -> int:
        # Where workers divide evenly, the leader comes on top in the first segment.
        return 0 if index == 0 else (index - 1 if even else index) // segment

    template = owner["spec"]["leaderWorkerTemplate"].get("workerTemplate") or {}
    topology = segment_topology(worker_annotations(pod, template), owner)
    counts = [0] * (segment_of(size - 1) + 1)
    for index in range(size):
        counts[segment_of(index)] += 1
    groups = [SubGroup(f"segment-{index}", count, topology=topology) for index, count in enumerate(counts)]
    place = segment_of(whole_number(labels_of(pod).get(WORKER_INDEX), "worker index"))
    own = [pod["metadata"]["name"]]
    if text(owner, "spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupPolicyType") == "LeaderExcluded":
        if not even:
            raise GroupingError(
                f"replicasSize {size} is not divisible by segmentSize {segment}. "
                "LeaderExcluded policy is only supported when replicasSize is divisible by segmentSize."
            )
        groups[0].min_available -= 1
        leader = SubGroup(_LEADER, 1, pods=own if _is_leader(pod) else [])
        if not _is_leader(pod):
            groups[place].pods += own
        return [leader, *groups]
    first = groups[0]
    inner = [
        SubGroup(_LEADER, 1, first.name, pods=own if _is_leader(pod) else []),
        SubGroup(_WORKERS, first.min_available - 1, first.name, pods=own if place == 0 and not _is_leader(pod) else []),
    ]
    if place:
        groups[place].pods += own
    return [*groups, *inner]
