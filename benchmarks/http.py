"""Writes over HTTP: small pods created and patched over kept connections, plain and with TLS."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import REPETITIONS, Baseline, Figure, at_least
from benchmarks.served import bare_server, cluster, run_client

__all__ = ["run"]

_COUNT = 4000
_CONNECTIONS = 16


def run() -> Iterator[Figure]:
    with bare_server() as place:
        echoes = [run_client(place, do="echo", count=_COUNT * 2, connections=_CONNECTIONS) for _ in range(REPETITIONS)]
    bare = Baseline("bare ASGI application", _best(echoes, "requests"))
    bare_by_processor = Baseline("bare ASGI application", _best(echoes, "by processor"))
    for tls in (False, True):
        with cluster(tls=tls) as place:
            runs = [
                run_client(place, do="write", first=number * _COUNT, count=_COUNT, connections=_CONNECTIONS)
                for number in range(REPETITIONS)
            ]
        how = "HTTPS" if tls else "HTTP"
        for what, goal in (("creates", at_least(4000)), ("patches", at_least(5000))):
            yield Figure(f"{what} over {how}", _best(runs, what), f"{what}/s", bare, None if tls else goal)
            rate = _best(runs, f"{what} by processor")
            yield Figure(f"{what} over {how}, a second of the server's processor", rate, what, bare_by_processor)


def _best(runs: list[dict[str, float]], what: str) -> float:
    return max(each[what] for each in runs)
