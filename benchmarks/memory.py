"""Memory of a stored pod: how much this process grows by 100,000 pods that are made from one template."""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson

from benchmarks.figures import Baseline, Figure, at_most
from benchmarks.objects import pod
from ghostfleet.api.options import WriteOptions
from ghostfleet.cluster import BARE, Cluster

__all__ = ["run"]

_PODS = 100_000
#: Pods that come first, so that what is made once is not counted.
_WARM_UP = 2000


def run() -> Iterator[Figure]:
    alone = Baseline("pods read with orjson, as sent", _measured("parsed"))
    yield Figure("memory of a stored pod", _measured("stored"), "bytes", alone, at_most(3000))


def _measured(what: str) -> float:
    """Bytes a pod, measured in a fresh process."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.memory", what], stdout=subprocess.PIPE, check=True)
    return float(done.stdout)


def _grow(what: str) -> float:
    kept = []
    cluster = Cluster(config=BARE, history=_WARM_UP)
    pods = cluster.registry.by_key("pods")
    assert pods is not None
    options = WriteOptions(manager="bench")

    def make(number: int) -> None:
        if what == "parsed":
            kept.append(orjson.loads(orjson.dumps(pod(f"pod-{number}"))))
        else:
            cluster.api.create(pods, pods.storage, "default", pod(f"pod-{number}"), options)

    for number in range(_WARM_UP):
        make(number)
    before = _resident()
    for number in range(_WARM_UP, _WARM_UP + _PODS):
        make(number)
    return (_resident() - before) / _PODS


def _resident() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    print(_grow(sys.argv[1]))
