"""The history of KAI's queues over a run: what each had and was due, how long its pods waited, and who was evicted.

The objects that KAI looks at are mirrored by watches, and its own books are opened on the mirror, so that fair shares
are those of its next cycle. A *point* tells quota, fair share, allocation and request of every queue, in GPUs, at the
end of an instant at which something had changed. Points are at least a second apart at first; when there are too many,
every second one is dropped and the distance doubled. Each is exact for its instant.

A pod *waits* from its creation until it has a node. What is told of evictions is in `evictions`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ghostfleet.controllers.kai.constants import POD_GROUP_ANNOTATION, POD_GROUPS, QUEUES
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.core.store import Store
from ghostfleet.drive.interface import Cluster, Kind, Seen
from ghostfleet.lab.evictions import EvictionLog
from ghostfleet.lab.kaistate import KINDS, KaiState, has_kai, kai_configuration
from ghostfleet.lab.queues import states_of
from ghostfleet.schedulers.kai.cache import SchedulerCache

__all__ = ["QueueHistory"]

_MOST_POINTS = 512
_ENDS = ("Succeeded", "Failed")


class QueueHistory:
    """Watches a cluster that has KAI; on any other it sees nothing."""

    def __init__(self, cluster: Cluster, most_points: int = _MOST_POINTS) -> None:
        self._cluster = cluster
        self._most_points = most_points
        self._clock = VirtualClock(cluster.now())
        self._store = Store(self._clock, history=1)
        self._cache: SchedulerCache | None = None
        self._stops: list[Callable[[], None]] = []
        self._evictions = EvictionLog(cluster, self._queue_of)
        self._time = cluster.now()
        self._changed = False
        self._distance = SECOND
        self._points: list[tuple[int, dict[str, tuple[float, ...]]]] = []
        #: Since when pods of KAI's wait, by uid, and in which queue; and how long others waited, by queue.
        self._waiting: dict[str, tuple[int, str]] = {}
        self._waits: dict[str, list[float]] = {}

    async def start(self) -> None:
        """Begin to watch, if there is KAI."""
        if not await has_kai(self._cluster):
            return
        for resource, (api_version, kind_name) in KINDS.items():
            kind = await self._cluster.resolve(api_version, kind_name)
            if kind is not None:
                self._watch(resource, kind)
        self._stops += await self._evictions.start()
        config = kai_configuration(self._cluster, self._store)
        self._cache = SchedulerCache(self._store, config, self._note_change)

    def stop(self) -> None:
        """End the watches; the last point is of now."""
        while self._stops:
            self._stops.pop()()
        if self._cache is not None:
            self._time = max(self._time, self._cluster.now())
            self._write_point()

    @property
    def seen(self) -> bool:
        """Whether there was anything to see."""
        return bool(self._points)

    def written(self) -> dict[str, Any]:
        """What was seen as it stands in its file: times in microseconds, waits in seconds, all else in GPUs."""
        names = list(dict.fromkeys(name for _, point in self._points for name in point))
        nothing = (0.0, 0.0, 0.0, 0.0)
        series = {
            name: {
                field: [point.get(name, nothing)[index] for _, point in self._points]
                for index, field in enumerate(("quota", "fairShare", "allocated", "requested"))
            }
            for name in names
        }
        still: dict[str, int] = {}
        for _, queue in self._waiting.values():
            still[queue] = still.get(queue, 0) + 1
        return {
            "time": [time for time, _ in self._points],
            "queues": series,
            "parents": {each["metadata"]["name"]: _parent(each) for each in self._store.list(QUEUES)},
            "waits": self._waits,
            "waiting": still,
            "evictions": [each.written() for each in self._evictions.evictions],
        }

    # -- the mirror --------------------------------------------------------------------------------------------------

    def _watch(self, resource: str, kind: Kind) -> None:
        self._stops.append(self._cluster.watch(kind, "", "", self._mirror(resource)))

    def _mirror(self, resource: str) -> Seen:
        store = self._store

        def seen(now: int, event: str, obj: Object) -> None:
            self._at(now)
            own = obj["metadata"]
            namespace, name = own.get("namespace", ""), own["name"]
            old = store.find(resource, namespace, name)
            if event == "DELETED":
                if old is not None:
                    store.delete(resource, namespace, name)
            elif old is None:
                store.replace(resource, store.add(resource, _copied(obj)), _copied(obj))
            else:
                store.replace(resource, old, _copied(obj))
            if resource == "pods":
                self._see_pod(now, event, obj)

        return seen

    def _at(self, now: int) -> None:
        """Something happens now: what was true until now may be worth a point."""
        if now <= self._time:
            return
        last = self._points[-1][0] if self._points else None
        if self._changed and (last is None or self._time - last >= self._distance):
            self._write_point()
        self._time = now
        self._clock.advance(now - self._clock.now())

    def _note_change(self) -> None:
        self._changed = True

    # -- points ------------------------------------------------------------------------------------------------------

    def _write_point(self) -> None:
        assert self._cache is not None
        self._changed = False
        state = KaiState(self._store, self._cache.config, self._cache, self._time / SECOND)
        point: dict[str, tuple[float, ...]] = {
            each.name: (gpu.quota, gpu.fair_share, gpu.allocated, gpu.requested)
            for each in states_of(state)
            for gpu in (each.resources["gpu"],)
        }
        if self._points and self._points[-1][0] == self._time:
            self._points.pop()
        self._points.append((self._time, point))
        if len(self._points) > self._most_points:
            del self._points[1:-1:2]
            self._distance *= 2

    # -- waiting -----------------------------------------------------------------------------------------------------

    def _queue_of(self, pod: Object) -> str:
        """The queue of a pod, as its pod group says; "" where it is none of KAI's."""
        own = pod["metadata"]
        name = (own.get("annotations") or {}).get(POD_GROUP_ANNOTATION, "")
        group = self._store.find(POD_GROUPS, own["namespace"], name) if name else None
        queue: str = ((group or {}).get("spec") or {}).get("queue") or ""
        return queue

    def _see_pod(self, now: int, event: str, pod: Object) -> None:
        own = pod["metadata"]
        uid = own["uid"]
        since, queue = self._waiting.get(uid, (now, ""))
        if event == "DELETED" or pod["spec"].get("nodeName") or (pod.get("status") or {}).get("phase") in _ENDS:
            if self._waiting.pop(uid, None) is not None and pod["spec"].get("nodeName"):
                queue = queue or self._queue_of(pod)
                if queue:
                    self._waits.setdefault(queue, []).append((now - since) / SECOND)
        elif uid not in self._waiting or not queue:
            self._waiting[uid] = (since, self._queue_of(pod))


def _copied(obj: Object) -> Object:
    """An object with metadata of its own, which no finalizer holds back."""
    metadata = {name: value for name, value in obj["metadata"].items() if name != "finalizers"}
    return {**obj, "metadata": metadata}


def _parent(queue: Object) -> str:
    return (queue.get("spec") or {}).get("parentQueue") or ""
