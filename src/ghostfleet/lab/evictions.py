"""Evictions over a run, as events and pods tell of them, and what they cost.

An *eviction* is a pod that a scheduler deletes so that another gets its place, or because its gang is broken: KAI tells
of it by an event `Evict` on the pod group that names the pod, the default scheduler by `Preempted` on the pod. It costs
the *work lost*, GPUs times the time for which the pod ran. A *bare* pod has no owner that makes it anew. A pod is
*protected* if a PodDisruptionBudget allows no more disruptions of its kind: KAI does not ask for it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.selectors import selector_from_object
from ghostfleet.drive.interface import EVENTS, PODS, Cluster, Kind, Refused
from ghostfleet.lab.survey import GPU_RESOURCES
from ghostfleet.schedulers.framework.podinfo import pod_requests

__all__ = ["Eviction", "EvictionLog"]

_KEPT = 4096
_BUDGETS = Kind("policy", "v1", "poddisruptionbudgets")
#: The pod that an `Evict` event names.
_NAMED = re.compile(r"[Pp]od:? (?P<namespace>[a-z0-9.-]+)/(?P<name>[a-z0-9.-]+)")
_ACTIONS = {
    "due to bin packing": "consolidation",
    "by higher priority workload": "preempt",
    "minimum required number of pods": "stalegangeviction",
}


@dataclass(frozen=True, slots=True)
class Eviction:
    """One pod that had to go; the time is in microseconds, how long it ran in seconds."""

    time: int
    pod: str
    queue: str
    action: str
    gpus: int
    ran: float
    bare: bool
    protected: bool

    def written(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(slots=True)
class _Pod:
    object: Object
    gpus: int
    runs_since: int | None = None


class EvictionLog:
    """Watches pods, budgets and events; `queue_of` says in which queue a pod is."""

    def __init__(self, cluster: Cluster, queue_of: Callable[[Object], str]) -> None:
        self._cluster = cluster
        self._queue_of = queue_of
        self._pods: dict[str, _Pod] = {}
        self._uids: dict[tuple[str, str], str] = {}
        self._gone: deque[str] = deque()
        self._budgets: dict[str, Object] = {}
        self._told: set[str] = set()
        self.evictions: list[Eviction] = []

    async def start(self) -> list[Callable[[], None]]:
        """Begin to watch; answers how to stop."""
        stops = [self._cluster.watch(PODS, "", "", self._see_pod)]
        try:
            await self._cluster.list(_BUDGETS)
        except Refused as refusal:
            if refusal.code not in (403, 404):
                raise
        else:
            stops.append(self._cluster.watch(_BUDGETS, "", "", self._see_budget))
        # What was told before is no part of this run.
        self._told = {each["metadata"]["uid"] for each in await self._cluster.list(EVENTS)}
        stops.append(self._cluster.watch(EVENTS, "", "", self._see_event))
        return stops

    def _see_pod(self, now: int, event: str, obj: Object) -> None:
        own = obj["metadata"]
        if event == "DELETED":
            self._forget(own["uid"])
            return
        pod = self._pods.get(own["uid"])
        if pod is None:
            asked = pod_requests(obj["spec"]).asked
            pod = self._pods[own["uid"]] = _Pod(obj, sum(asked.get(name, 0) for name in GPU_RESOURCES))
            self._uids[own["namespace"], own["name"]] = own["uid"]
        pod.object = obj
        if pod.runs_since is None and (obj.get("status") or {}).get("phase") == "Running":
            pod.runs_since = now

    def _forget(self, uid: str) -> None:
        """A pod is gone; the event that tells of its eviction may come later, so it is kept for a while."""
        if uid in self._pods:
            self._gone.append(uid)
            if len(self._gone) > _KEPT:
                old = self._pods.pop(self._gone.popleft()).object["metadata"]
                if self._uids.get((old["namespace"], old["name"])) == old["uid"]:
                    del self._uids[old["namespace"], old["name"]]

    def _see_budget(self, _now: int, event: str, obj: Object) -> None:
        uid = obj["metadata"]["uid"]
        if event == "DELETED":
            self._budgets.pop(uid, None)
        else:
            self._budgets[uid] = obj

    def _see_event(self, now: int, event: str, obj: Object) -> None:
        uid = obj["metadata"]["uid"]
        if event != "ADDED" or uid in self._told:
            return
        self._told.add(uid)
        reason, message, involved = obj.get("reason"), obj.get("message", ""), obj["involvedObject"]
        if reason == "Evict":
            named = _NAMED.search(message)
            pod = self._uids.get((named["namespace"], named["name"].rstrip("."))) if named is not None else None
            self._evicted(now, pod, next((name for words, name in _ACTIONS.items() if words in message), "reclaim"))
        elif reason == "Preempted":
            self._evicted(now, involved.get("uid"), "preempt")

    def _evicted(self, now: int, uid: str | None, action: str) -> None:
        pod = self._pods.get(uid or "")
        if pod is None:
            return
        own = pod.object["metadata"]
        ran = (now - pod.runs_since) / SECOND if pod.runs_since is not None else 0.0
        bare = not any(owner.get("controller") for owner in own.get("ownerReferences") or ())
        name, queue = f"{own['namespace']}/{own['name']}", self._queue_of(pod.object)
        self.evictions.append(Eviction(now, name, queue, action, pod.gpus, ran, bare, self._is_protected(pod.object)))

    def _is_protected(self, pod: Object) -> bool:
        own = pod["metadata"]
        return any(
            budget["metadata"]["namespace"] == own["namespace"]
            and (budget.get("status") or {}).get("disruptionsAllowed", 0) <= 0
            and selector_from_object((budget.get("spec") or {}).get("selector")).matches(own.get("labels") or {})
            for budget in self._budgets.values()
        )
