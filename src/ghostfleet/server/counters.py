"""Counters: what the server has done and holds, for Prometheus at `/metrics`.

Names and labels are those of the real API server where it has the same figure, so that existing dashboards show them.
"""

from __future__ import annotations

from collections.abc import Iterator

from ghostfleet.api.verbs import Api
from ghostfleet.core.clock import Clock, WallClock
from ghostfleet.server.responses import Answer
from ghostfleet.server.streams import WatchStreams

__all__ = ["Counters"]

_MEDIA = "text/plain; version=0.0.4; charset=utf-8"


class Counters:
    """Counts requests."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, str, int], int] = {}

    def count(self, verb: str, resource: str, code: int) -> None:
        key = (verb, resource, code)
        self._requests[key] = self._requests.get(key, 0) + 1

    def answer(self, api: Api, streams: WatchStreams) -> Answer:
        lines = [*self._request_lines(), *_cluster_lines(api, streams)]
        return Answer(200, "".join(f"{line}\n" for line in lines).encode(), _MEDIA)

    def _request_lines(self) -> Iterator[str]:
        yield from _header("apiserver_request_total", "counter", "Requests by verb, resource and HTTP code.")
        for (verb, resource, code), count in sorted(self._requests.items()):
            yield f'apiserver_request_total{{verb="{verb}",resource="{resource}",code="{code}"}} {count}'


def _cluster_lines(api: Api, streams: WatchStreams) -> Iterator[str]:
    yield from _header("apiserver_longrunning_requests", "gauge", "Open watches and followed logs.")
    yield f"apiserver_longrunning_requests {len(streams)}"
    yield from _header("apiserver_storage_objects", "gauge", "Objects in the store by resource.")
    for resource in api.store.resources():
        yield f'apiserver_storage_objects{{resource="{resource}"}} {api.store.count(resource)}'
    yield from _header("ghostfleet_store_revision", "counter", "The newest revision: how many writes there were.")
    yield f"ghostfleet_store_revision {api.store.revision}"
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
