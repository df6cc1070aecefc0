"""Watch fan-out: events per second that reach many watchers of the same pods over HTTP, together."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import Baseline, Figure, at_least, best
from benchmarks.served import cluster, run_client

__all__ = ["run"]

_EVENTS = 400_000
_PROTOBUF = "application/vnd.kubernetes.protobuf"


def run() -> Iterator[Figure]:
    one = Baseline("one watcher", best(lambda: _fan_out(1, 4000, tls=False)))
    for watchers in (200, 1000):
        rate = best(lambda watchers=watchers: _fan_out(watchers, _EVENTS // watchers, tls=False))
        yield Figure(f"watch fan-out over HTTP, {watchers} watchers", rate, "events/s", one, at_least(100_000))
    binary = best(lambda: _fan_out(200, _EVENTS // 200, tls=False, accept=_PROTOBUF))
    yield Figure("watch fan-out in protobuf over HTTP, 200 watchers", binary, "events/s", one, at_least(100_000))
    yield Figure("watch fan-out over HTTPS, 200 watchers", best(lambda: _fan_out(200, 2000, tls=True)), "events/s", one)


def _fan_out(watchers: int, writes: int, *, tls: bool, accept: str = "application/json") -> float:
    with cluster(tls=tls) as place:
        events: float = run_client(place, do="watch", watchers=watchers, writes=writes, accept=accept)["events"]
        return events
