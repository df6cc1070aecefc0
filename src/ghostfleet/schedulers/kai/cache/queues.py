"""Queues and topologies, from objects to infos, and what is wrong with a queue that a job names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.durations import parse_duration
from ghostfleet.core.timestamps import parse_rfc3339
from ghostfleet.schedulers.kai.cluster_info import Topology
from ghostfleet.schedulers.kai.queue_info import DEFAULT_QUEUE_PRIORITY, QueueInfo, ResourceQuota

__all__ = ["QUEUE_DOES_NOT_EXIST", "queue_info", "queue_problem", "seconds_of", "topology_of"]

QUEUE_DOES_NOT_EXIST = "QueueDoesNotExist"


def seconds_of(stamp: str | None) -> float | None:
    """A time in seconds; None when it is not there or cannot be read."""
    if not stamp:
        return None
    try:
        return parse_rfc3339(stamp) / SECOND
    except ValueError:
        return None


def queue_info(queue: Object) -> QueueInfo:
    """A queue that is not linked to others yet."""
    name, spec = queue["metadata"]["name"], queue.get("spec") or {}
    resources = spec.get("resources") or {}
    priority = spec.get("priority")
    return QueueInfo(
        name,
        spec.get("parentQueue") or "",
        priority=DEFAULT_QUEUE_PRIORITY if priority is None else priority,
        created=seconds_of(queue["metadata"].get("creationTimestamp")) or 0.0,
        cpu=_quota(resources.get("cpu")),
        memory=_quota(resources.get("memory")),
        gpu=_quota(resources.get("gpu")),
        preempt_min_runtime=_duration(spec.get("preemptMinRuntime")),
        reclaim_min_runtime=_duration(spec.get("reclaimMinRuntime")),
    )


def _quota(stated: Mapping[str, Any] | None) -> ResourceQuota:
    stated = stated or {}
    return ResourceQuota(
        float(stated.get("quota") or 0), float(stated.get("limit") or 0), float(stated.get("overQuotaWeight") or 0)
    )


def _duration(stated: str | None) -> float | None:
    if not stated:
        return None
    try:
        return parse_duration(stated) / SECOND
    except ValueError:
        return None


def topology_of(topology: Object) -> Topology:
    """A topology."""
    levels = (topology.get("spec") or {}).get("levels") or ()
    return Topology(topology["metadata"]["name"], tuple(each.get("nodeLabel", "") for each in levels))


def queue_problem(queues: Mapping[str, QueueInfo], name: str) -> str:
    """Why no job of a queue is looked at; "" when nothing is wrong. KAI itself skips such jobs without a word."""
    queue = queues.get(name)
    if queue is None:
        return f"Queue {name!r} does not exist" if name else "The pod group names no queue"
    if not queue.is_rooted:
        return _uprooted(queues, queue)
    if queue.children:
        below = ", ".join(sorted(queue.children))
        return f"Queue {name!r} is not a leaf queue: jobs go to the queues below it ({below})"
    return ""


def _uprooted(queues: Mapping[str, QueueInfo], queue: QueueInfo) -> str:
    way = [queue.uid]
    while True:
        parent = queues[way[-1]].parent
        if parent not in queues:
            return f"Queue {way[-1]!r} has the parent queue {parent!r}, which does not exist"
        way.append(parent)
        if parent in way[:-1]:
            return f"Queue {queue.uid!r} has no root: its parents go round in a circle ({' -> '.join(way)})"
