"""What schedulers decided, a line each, as far as the cluster's events tell it.

Every scheduler tells of pods that got a node, of pods that got none and of pods that had to go; KAI tells of pods whose
place is being freed too. Events are kept for an hour, as in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import parse
from ghostfleet.drive.interface import EVENTS, PODS, Cluster

__all__ = ["Decision", "decisions"]

_GPU = "nvidia.com/gpu"
_NANO = 10**9
_ASSIGNED = " to node "


@dataclass(frozen=True)
class Decision:
    """A decision: when, by whom, about what, and what it was."""

    time: str
    scheduler: str
    reason: str
    namespace: str
    object: str
    line: str


async def decisions(cluster: Cluster) -> list[Decision]:
    """All of them, the oldest first."""
    events = await cluster.list(EVENTS)
    pods = {each["metadata"]["uid"]: each for each in await cluster.list(PODS)}
    told = [(_moment(event), each) for event in events if (each := _decision(event, pods)) is not None]
    return [each for _, each in sorted(told, key=lambda pair: pair[0])]


def _moment(event: Object) -> tuple[str, int]:
    """The second of an event, and its place within it."""
    revision = event["metadata"].get("resourceVersion", "")
    return _time(event)[: len("2026-01-01T00:00:00")], int(revision) if revision.isdigit() else 0


def _time(event: Object) -> str:
    time: str = event.get("eventTime") or event.get("lastTimestamp") or event["metadata"].get("creationTimestamp", "")
    return time


def _decision(event: Object, pods: Mapping[str, Object]) -> Decision | None:
    involved, reason, message = event["involvedObject"], event.get("reason", ""), event.get("message", "")
    by = event.get("reportingComponent") or (event.get("source") or {}).get("component") or ""
    if not by.endswith("scheduler"):
        return None
    name = involved.get("name", "")
    first = message.strip().partition("\n")[0]
    if reason == "Scheduled":
        line = f"Allocating {_asked(pods.get(involved.get('uid', '')))} to {name} on node {_node(message)}"
    elif reason == "Pipelined" and message.endswith("moves there"):
        line = f"Moving {name} to {_node(message)}"
    elif reason == "Pipelined":
        line = f"Scheduling {name} on {_node(message)} when pods have left it"
    elif reason in ("Evict", "Preempted"):
        line = f"Evicting: {first}"
    elif reason in ("Unschedulable", "FailedScheduling") and involved.get("kind") == "Pod":
        line = f"{name} pending - {first}"
    else:
        return None
    return Decision(_time(event), by, reason, involved.get("namespace", ""), name, line)


def _node(message: str) -> str:
    """The node that a message names: the word after `to node`, or the last one."""
    rest = message.partition(_ASSIGNED)[2]
    return (rest.split() or message.split() or [""])[0 if rest else -1].rstrip(":")


def _asked(pod: Object | None) -> str:
    if pod is None:
        return "room"
    gpus = sum(_gpus(pod["spec"].get("containers") or ()))
    return f"{gpus} GPU{'' if gpus == 1 else 's'}"


def _gpus(containers: Iterable[Object]) -> Iterable[int]:
    for each in containers:
        stated = ((each.get("resources") or {}).get("requests") or {}).get(_GPU)
        if stated is not None:
            yield parse(str(stated)).nano // _NANO
