"""What schedulers decided, a line each, as far as the cluster's pods and events tell it.

Every scheduler tells of pods that got a node, of pods that got none and of pods that had to go; KAI tells of pods whose
place is being freed too. A *narrator* puts that together: it remembers where pods were, and what they asked for, so
that it can say from where one moves. Events are kept for an hour, as in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.quantity import parse
from ghostfleet.drive.interface import EVENTS, PODS, Cluster

__all__ = ["Decision", "decisions", "follow_decisions"]

_GPU = "nvidia.com/gpu"
_NANO = 10**9
_ASSIGNED = " to node "
_QUEUE_LABELS = ("kai.scheduler/queue", "runai/queue")
#: Pods of the cluster itself are no workloads.
_NOT_TOLD = ("kube-system", "kai-resource-reservation")
_CONSOLIDATION = "(resource consolidation)"
_LOOK = SECOND // 4


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
    narrator = await _narrator(cluster)
    return list(narrator.told(await cluster.list(PODS), await cluster.list(EVENTS)))


async def follow_decisions(cluster: Cluster, tell: Callable[[Decision], None]) -> None:
    """Tell all of them, and every new one as it is taken, until somebody breaks it off."""
    narrator = await _narrator(cluster)
    pods: list[Object] = []
    events: list[Object] = []
    stops = [
        cluster.watch(PODS, "", "", lambda _now, change, obj: pods.append(obj) if change == "ADDED" else None),
        cluster.watch(EVENTS, "", "", lambda _now, change, obj: events.append(obj) if change != "DELETED" else None),
    ]
    try:
        while True:
            await cluster.sleep(_LOOK)
            seen, told = pods[:], events[:]
            del pods[: len(seen)], events[: len(told)]
            for each in narrator.told(seen, told):
                tell(each)
    finally:
        for stop in stops:
            stop()


async def _narrator(cluster: Cluster) -> _Narrator:
    kind = await cluster.resolve("scheduling.run.ai/v2", "Queue")
    queues = await cluster.list(kind) if kind is not None else []
    return _Narrator({each["metadata"]["name"]: (each.get("spec") or {}).get("priority", 100) for each in queues})


class _Narrator:
    """Tells what pods and events mean, given in pieces; `priorities` are those of queues."""

    def __init__(self, priorities: Mapping[str, int]) -> None:
        self._priorities = priorities
        self._workloads: set[tuple[str, str]] = set()
        self._asked: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._nodes: dict[str, str] = {}
        self._consolidated = ""

    def told(self, pods: Iterable[Object], events: Iterable[Object]) -> Iterator[Decision]:
        """What is new, the oldest first."""
        found: list[tuple[tuple[str, int], Decision | Object]] = []
        for pod in pods:
            self._remember(pod)
            submitted = self._submitted(pod)
            if submitted is not None:
                found.append(((submitted.time[:_SECONDS], 0), submitted))
        found += [(_moment(event), event) for event in events]
        for _, each in sorted(found, key=lambda pair: pair[0]):
            if isinstance(each, Decision):
                yield each
            else:
                yield from self._decisions(each)

    def _remember(self, pod: Object) -> None:
        own = pod["metadata"]
        asked = _gpus_told(pod)
        # A pod that is gone is known by its name, or by the beginning of it that its kind share.
        for name in (own["name"], own.get("generateName", "")):
            self._asked[f"{own['namespace']}/{name}"] = asked
        self._asked[own["uid"]] = asked
        self._names[own["uid"]] = own["name"]

    def _submitted(self, pod: Object) -> Decision | None:
        own, spec = pod["metadata"], pod["spec"]
        owner = next((each for each in own.get("ownerReferences") or () if each.get("controller")), None)
        name = owner["name"] if owner is not None else own["name"]
        if own["namespace"] in _NOT_TOLD or (own["namespace"], name) in self._workloads:
            return None
        self._workloads.add((own["namespace"], name))
        labels = own.get("labels") or {}
        queue = next((labels[label] for label in _QUEUE_LABELS if label in labels), "")
        priority = f", Priority {self._priorities[queue]}" if queue in self._priorities else ""
        line = f"New workload submitted: {name}" + (f" ({queue}{priority})" if queue else "")
        scheduler = spec.get("schedulerName", "default-scheduler")
        return Decision(own.get("creationTimestamp") or "", scheduler, "Submitted", own["namespace"], name, line)

    def _decisions(self, event: Object) -> Iterator[Decision]:
        by = event.get("reportingComponent") or (event.get("source") or {}).get("component") or ""
        involved, time = event["involvedObject"], _time(event)
        place = (involved.get("namespace", ""), involved.get("name", ""))
        for line in self._lines(event, involved, time):
            yield Decision(time, by, event.get("reason", ""), *place, line)

    def _lines(self, event: Object, involved: Object, time: str) -> Iterator[str]:
        reason, message = event.get("reason", ""), event.get("message", "")
        name, uid = involved.get("name", ""), involved.get("uid", "")
        first = message.strip().partition("\n")[0]
        if reason == "Scheduled":
            node = self._nodes[uid] = _node(message)
            yield f"Allocating {self._gpus(involved) or 'room'} to {name} on node {node}"
        elif reason == "Pipelined" and message.endswith("moves there"):
            from_node = f" from {self._nodes[uid]}" if uid in self._nodes else ""
            yield f"Moving {self._with_gpus(involved)}{from_node} to {_node(message)}"
        elif reason == "Pipelined":
            yield f"Scheduling {self._with_gpus(involved)} on {_node(message)} when pods have left it"
        elif reason == "Evict" and _CONSOLIDATION in message:
            if self._consolidated != time:
                self._consolidated = time
                yield "Initiating resource consolidation"
        elif reason == "Evict":
            yield f"Evicting: {first}"
        elif reason == "Preempted":
            yield f"Evicting {self._with_gpus(involved)}: {self._named(first)}"
        elif reason in ("Unschedulable", "FailedScheduling") and involved.get("kind") == "Pod":
            yield f"Attempting to schedule {self._with_gpus(involved)}: {first}"

    def _named(self, message: str) -> str:
        """A message with the name of a pod in place of its uid."""
        return " ".join(self._names.get(word, word) for word in message.split())

    def _with_gpus(self, involved: Object) -> str:
        gpus = self._gpus(involved)
        return f"{involved.get('name', '')} ({gpus})" if gpus else str(involved.get("name", ""))

    def _gpus(self, involved: Object) -> str:
        place = f"{involved.get('namespace', '')}/{involved.get('name', '')}"
        for key in (involved.get("uid", ""), place, place[:-_SUFFIX]):
            if key in self._asked:
                return self._asked[key]
        return ""


_SECONDS = len("2026-01-01T00:00:00")
#: Letters that generateName adds to a name.
_SUFFIX = 5


def _moment(event: Object) -> tuple[str, int]:
    """The second of an event, and its place within it."""
    revision = event["metadata"].get("resourceVersion", "")
    return _time(event)[:_SECONDS], int(revision) if revision.isdigit() else 1


def _time(event: Object) -> str:
    time: str = event.get("eventTime") or event.get("lastTimestamp") or event["metadata"].get("creationTimestamp", "")
    return time


def _node(message: str) -> str:
    """The node that a message names: the word after `to node`, or the last one."""
    rest = message.partition(_ASSIGNED)[2]
    return (rest.split() or message.split() or [""])[0 if rest else -1].rstrip(":")


def _gpus_told(pod: Object) -> str:
    gpus = sum(_gpus(pod["spec"].get("containers") or ()))
    return f"{gpus} GPU{'' if gpus == 1 else 's'}"


def _gpus(containers: Iterable[Object]) -> Iterator[int]:
    for each in containers:
        resources = each.get("resources") or {}
        stated = (resources.get("requests") or {}).get(_GPU, (resources.get("limits") or {}).get(_GPU))
        if stated is not None:
            yield parse(str(stated)).nano // _NANO
