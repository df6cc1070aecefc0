"""Counters: what the server has done and holds, for Prometheus at `/metrics`.

Names and labels are those of the real API server where it has the same figure, so that existing dashboards show them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ghostfleet.api.verbs import Api
from ghostfleet.core.clock import Clock, WallClock, real_seconds
from ghostfleet.core.metrics import exposition
from ghostfleet.server.requestfigures import Key, RequestFigures
from ghostfleet.server.responses import Answer
from ghostfleet.server.streams import Stream

__all__ = ["Counters"]

_MEDIA = "text/plain; version=0.0.4; charset=utf-8"
_LONGRUNNING = ("component", "group", "resource", "scope", "subresource", "verb", "version")
#: group, resource, version
_Watched = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Open:
    """A request whose answer goes on."""

    key: Key
    began: float

    @property
    def watched(self) -> _Watched:
        _, group, resource, _, _, _, version = self.key
        return group, resource, version


class Counters:
    """Counts requests, and knows which go on."""

    def __init__(self) -> None:
        self.requests = RequestFigures()
        #: Requests that are being read or answered.
        self.in_flight = {"mutating": 0, "readOnly": 0}
        self._open: dict[Stream, _Open] = {}
        #: Events sent by watches that have ended.
        self._sent: dict[_Watched, int] = {}

    def begin(self, stream: Stream, key: Key, began: float) -> None:
        """An answer goes on."""
        self._open[stream] = _Open(key, began)

    def end(self, stream: Stream) -> None:
        """An answer that went on has ended."""
        ended = self._open.pop(stream, None)
        if ended is not None:
            self.requests.count(ended.key, 200, real_seconds() - ended.began)
            self._sent[ended.watched] = self._sent.get(ended.watched, 0) + stream.sent

    def answer(self, api: Api) -> Answer:
        lines = [*self.requests.lines(), *self._open_lines(), *_store_lines(api), *api.clock.metrics.lines()]
        return Answer(200, "".join(f"{line}\n" for line in lines).encode(), _MEDIA)

    def _open_lines(self) -> Iterator[str]:
        in_flight = (("", (kind,), "", number) for kind, number in self.in_flight.items())
        yield from exposition(
            "apiserver_current_inflight_requests",
            "gauge",
            "Requests that are being served.",
            ("request_kind",),
            in_flight,
        )
        going_on = self._count(lambda each: ("apiserver", *each.key[1:]))
        yield from _family("apiserver_longrunning_requests", "gauge", "Open watches and logs.", _LONGRUNNING, going_on)
        watchers = self._count(lambda each: each.watched if each.key[5] == "WATCH" else ())
        watchers.pop((), None)
        labels = ("group", "resource", "version")
        yield from _family("apiserver_registered_watchers", "gauge", "Open watches.", labels, watchers)
        sent = dict(self._sent)
        for stream, each in self._open.items():
            sent[each.watched] = sent.get(each.watched, 0) + stream.sent
        yield from _family("apiserver_watch_events_total", "counter", "Events sent to watchers.", labels, sent)

    def _count(self, labels_of: Callable[[_Open], tuple[str, ...]]) -> dict[tuple[str, ...], int]:
        counts: dict[tuple[str, ...], int] = {}
        for each in self._open.values():
            labels = labels_of(each)
            counts[labels] = counts.get(labels, 0) + 1
        return counts


def _family(
    name: str, sort: str, meaning: str, labels: tuple[str, ...], samples: dict[tuple[str, ...], int]
) -> Iterator[str]:
    return exposition(name, sort, meaning, labels, (("", values, "", samples[values]) for values in sorted(samples)))


def _store_lines(api: Api) -> Iterator[str]:
    store = api.store
    by_key: dict[tuple[str, ...], int] = {(resource,): store.count(resource) for resource in store.resources()}
    yield from _family("apiserver_storage_objects", "gauge", "Objects in the store.", ("resource",), by_key)
    by_group: dict[tuple[str, ...], int] = {
        (group, resource): count for (key,), count in by_key.items() for resource, _, group in (key.partition("."),)
    }
    yield from _family("apiserver_resource_objects", "gauge", "Objects in the store.", ("group", "resource"), by_group)
    yield from _header("ghostfleet_store_revision", "counter", "The newest revision: how many writes there were.")
    yield f"ghostfleet_store_revision {store.revision}"
    yield from _clock_lines(api.clock)


def _clock_lines(clock: Clock) -> Iterator[str]:
    yield from _header("ghostfleet_clock_callbacks_total", "counter", "Callbacks that the clock was asked for.")
    yield f"ghostfleet_clock_callbacks_total {clock.armed}"
    if not isinstance(clock, WallClock):
        return
    yield from _header("ghostfleet_clock_lag_seconds", "gauge", "Real seconds by which the clock is behind.")
    yield f"ghostfleet_clock_lag_seconds {clock.lag()[0]:.6f}"
    watchdog = clock.watchdog
    yield from _header("ghostfleet_component_failures_total", "counter", "Unexpected exceptions by component.")
    for component, count in sorted(watchdog.failures.items()):
        yield f'ghostfleet_component_failures_total{{component="{component}"}} {count}'
    yield from _header("ghostfleet_slow_callbacks_total", "counter", "Callbacks that took over a second, by component.")
    for component, (count, _) in sorted(watchdog.slow.items()):
        yield f'ghostfleet_slow_callbacks_total{{component="{component}"}} {count}'
    yield from _header("ghostfleet_slowest_callback_seconds", "gauge", "The longest of the slow callbacks.")
    for component, (_, longest) in sorted(watchdog.slow.items()):
        yield f'ghostfleet_slowest_callback_seconds{{component="{component}"}} {longest:.3f}'


def _header(name: str, sort: str, meaning: str) -> tuple[str, str]:
    return f"# HELP {name} {meaning}", f"# TYPE {name} {sort}"
