"""The whole life of Jobs: created, pod made, bound, running, succeeded, complete, on a large fleet and a virtual clock.

The baseline is the bare store: the fewest writes a pod's life can have (create, bind, running, succeeded) and nothing
that decides anything. Rates are by the time of the process itself, which others on the machine disturb less; the rate
by the clock on the wall is told along with it. A Job's life is eleven or twelve writes: Job, pod and three events are
created, the pod is bound, runs, succeeds and is let go, the Job begins, may become ready, and is complete; of the ended
pods all but the newest 12,500 are removed on the way.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks.figures import Baseline, Figure, at_least, at_most, cpu_seconds_of
from ghostfleet.api.options import WriteOptions
from ghostfleet.cluster import Cluster, add_nodes
from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.core.collector import relax_collector, sparing_collector
from ghostfleet.core.store import Store
from ghostfleet.stages.nodes import NodeShape

__all__ = ["run"]

_NODES = 10_000
_JOBS = int(os.environ.get("GHOSTFLEET_TESTS_JOBS", "100000"))
_TEMPLATE = {
    "spec": {
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "trainer", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
    }
}


def run() -> Iterator[Figure]:
    done = subprocess.run([sys.executable, "-m", "benchmarks.fleet"], stdout=subprocess.PIPE, check=True, text=True)
    rate, wall, bare, resident = (float(word) for word in done.stdout.split())
    lives = Baseline("pod lives in a bare store", bare)
    name = f"{_JOBS:,} one-GPU Jobs on {_NODES:,} nodes"
    yield Figure(f"{name}, whole life", rate, "jobs a CPU second", lives, at_least(4000))
    yield Figure(f"{name}, whole life, by the clock on the wall", wall, "jobs/s", lives)
    yield Figure(f"{name}, memory", resident, "MiB", Baseline("goal", 2048), at_most(2048))


def _bare_lives(count: int) -> float:
    store = Store(VirtualClock())
    spec = _TEMPLATE["spec"]

    def live(number: int) -> None:
        name = f"p{number}"
        pod = store.create("pods", {"metadata": {"name": name, "namespace": "default"}, "spec": spec})
        store.update("pods", {**pod, "spec": {**spec, "nodeName": f"n{number}"}})
        store.patch_status("pods", "default", name, {"phase": "Running"})
        store.patch_status("pods", "default", name, {"phase": "Succeeded"})

    return count / cpu_seconds_of(lambda: [live(number) for number in range(count)])


def _whole_lives() -> tuple[float, float]:
    """Jobs a second of the process, and by the clock on the wall."""
    cluster = Cluster()
    add_nodes(cluster, NodeShape(count=_NODES, gpus=8, fake_taint=False))
    clock = cluster.clock
    assert isinstance(clock, VirtualClock)
    clock.run(clock.now() + 2 * SECOND)
    jobs = cluster.registry.by_key("jobs.batch")
    assert jobs is not None
    relax_collector()

    def work() -> None:
        for number in range(_JOBS):
            body = {"metadata": {"name": f"j{number}"}, "spec": {"template": _TEMPLATE}}
            cluster.api.create(jobs, jobs.storage, "default", body, WriteOptions())
            if number % 1000 == 999:
                clock.run(clock.now() + SECOND // 10)
        clock.run(clock.now() + 60 * SECOND)

    began = time.perf_counter()
    with sparing_collector():
        rate = _JOBS / cpu_seconds_of(work)
    wall = _JOBS / (time.perf_counter() - began)
    finished = sum(each["status"].get("succeeded", 0) for each in cluster.store.list("jobs.batch"))
    assert finished == _JOBS, f"{finished} of {_JOBS} Jobs finished"
    return rate, wall


if __name__ == "__main__":
    import resource

    relax_collector()
    measured = _bare_lives(20_000)
    print(*_whole_lives(), measured, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
