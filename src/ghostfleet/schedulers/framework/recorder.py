"""The event recorder of schedulers: what they tell about pods, as client-go tells it.

An event is written when something happens for the first time. When the same happens again to the same state of the
same object, the event becomes a *series*: its count is written once, at two, and only counted from then on, as
client-go does it. After six minutes of silence a series is over.
"""

from __future__ import annotations

from collections.abc import Iterable

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.errors import ApiError
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339_micro

__all__ = ["EventRecorder"]

_OVER_AFTER = 360 * SECOND
_NOTE_LIMIT = 1024
_KEPT = 4096


class _EventSeries:
    """An event that was recorded, and how often it has come since."""

    __slots__ = ("count", "last", "name")

    def __init__(self, name: str, last: int) -> None:
        self.name = name
        self.last = last
        self.count = 1


class EventRecorder:
    """Writes the events of one component."""

    def __init__(self, store: Store, component: str) -> None:
        self._store = store
        self._component = component
        self._instance = f"{component}-ghostfleet"
        self._event_cache: dict[tuple[str, ...], _EventSeries] = {}

    def record(
        self, pod: Object, type: str, reason: str, action: str, note: str, *, related: Object | None = None
    ) -> None:
        """Tell something about a pod."""
        now = self._store.clock.now()
        if self._is_repeated(pod["metadata"], reason, now):
            return
        event = self._event(pod, now, type, reason, action, note, related)
        name = self._create(event, pod["metadata"]["name"], now)
        self._remember(pod["metadata"], reason, _EventSeries(name, now))

    def record_bindings(self, placements: Iterable[tuple[Object, str]]) -> None:
        """Tell that pods got their nodes, which happens once to each."""
        now = self._store.clock.now()
        moment = rfc3339_micro(now)
        for pod, node in placements:
            metadata = pod["metadata"]
            namespace, name = metadata["namespace"], metadata["name"]
            event = {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": "", "namespace": namespace},
                "involvedObject": _reference(pod),
                "reason": "Scheduled",
                "message": f"Successfully assigned {namespace}/{name} to {node}",
                "source": {},
                "firstTimestamp": None,
                "lastTimestamp": None,
                "type": "Normal",
                "eventTime": moment,
                "action": "Binding",
                "reportingComponent": self._component,
                "reportingInstance": self._instance,
            }
            self._create(event, name, now)

    def _create(self, event: Object, subject: str, now: int) -> str:
        """Write an event under a name that is free: more than one thing may happen in a microsecond of the cluster."""
        nanoseconds = now * 1000
        while True:
            name = event["metadata"]["name"] = f"{subject}.{nanoseconds:x}"
            try:
                self._store.add("events", event)
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise
                nanoseconds += 1
            else:
                return name

    def _is_repeated(self, metadata: Object, reason: str, now: int) -> bool:
        """Whether the same was recorded of late; then it is counted."""
        series = self._event_cache.get((metadata["uid"], metadata["resourceVersion"], reason))
        if series is None or now - series.last > _OVER_AFTER:
            return False
        series.last = now
        series.count += 1
        if series.count == 2:
            self._begin_series(metadata["namespace"], series)
        return True

    def _remember(self, metadata: Object, reason: str, series: _EventSeries) -> None:
        if len(self._event_cache) >= _KEPT:
            del self._event_cache[next(iter(self._event_cache))]
        self._event_cache[metadata["uid"], metadata["resourceVersion"], reason] = series

    def _event(
        self, pod: Object, now: int, type: str, reason: str, action: str, note: str, related: Object | None
    ) -> Object:
        event: Object = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "", "namespace": pod["metadata"]["namespace"]},
            "involvedObject": _reference(pod),
            "reason": reason,
            "message": note if len(note) <= _NOTE_LIMIT else note[: _NOTE_LIMIT - 4] + " ...",
            "source": {},
            "firstTimestamp": None,
            "lastTimestamp": None,
            "type": type,
            "eventTime": rfc3339_micro(now),
            "action": action,
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
        }
        if related is not None:
            event["related"] = _reference(related)
        return event

    def _begin_series(self, namespace: str, series: _EventSeries) -> None:
        event = self._store.find("events", namespace, series.name)
        if event is None:
            return
        shown = {"count": series.count, "lastObservedTime": rfc3339_micro(series.last)}
        try:
            self._store.update("events", {**event, "series": shown})
        except ApiError:
            # Somebody removed the event; a series without its event is not worth a word.
            return


def _reference(pod: Object) -> Object:
    metadata = pod["metadata"]
    return {
        "kind": "Pod",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "apiVersion": "v1",
        "resourceVersion": metadata["resourceVersion"],
    }
