"""A list of 10,000 pods, from the request to the last byte at the client."""

from __future__ import annotations

import json
from collections.abc import Iterator

from benchmarks.figures import Baseline, Figure, at_most, best, seconds_of
from benchmarks.objects import pod
from benchmarks.served import cluster, run_client

__all__ = ["run"]

_PODS = 10_000
_TIMES = 5
_PROTOBUF = "application/vnd.kubernetes.protobuf"


def run() -> Iterator[Figure]:
    pods = {"items": [pod(f"pod-{number}") for number in range(_PODS)]}
    dumped = Baseline(
        "json.dumps of pods as sent", best(lambda: seconds_of(lambda: json.dumps(pods)), lowest=True) * 1e3
    )
    for tls in (False, True):
        with cluster(tls=tls) as place:
            took = run_client(place, do="list", count=_PODS, times=_TIMES)["seconds"] * 1e3
        how = "HTTPS" if tls else "HTTP"
        yield Figure(f"LIST of {_PODS:,} pods over {how}", took, "ms", dumped, None if tls else at_most(150))
    with cluster(tls=False) as place:
        found = run_client(place, do="list", count=_PODS, times=_TIMES, accept=_PROTOBUF)
    # The first list writes the messages, later ones find most of them written.
    yield Figure(f"first LIST of {_PODS:,} pods in protobuf over HTTP", found["first"] * 1e3, "ms", dumped)
    yield Figure(f"LIST of {_PODS:,} pods in protobuf over HTTP", found["seconds"] * 1e3, "ms", dumped, at_most(150))
