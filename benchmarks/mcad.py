"""The whole life of AppWrappers under the better dispatcher: submitted, dispatched, two pods each run, complete.

The baseline is the same number of Jobs without a dispatcher in front of them. Rates are by the time of the process
itself, and the collector of cyclic garbage is spared as it is in a run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.figures import Baseline, Figure, at_least, cpu_seconds_of
from ghostfleet.api.options import WriteOptions
from ghostfleet.cluster import Cluster, ClusterConfig, add_nodes
from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.core.collector import relax_collector, sparing_collector
from ghostfleet.stages.nodes import NodeShape

__all__ = ["run"]

_NODES = 1_000
_WRAPPERS = int(os.environ.get("GHOSTFLEET_TESTS_WRAPPERS", "10000"))
_TEMPLATE = {
    "metadata": {"labels": {"app": "trainer"}},
    "spec": {
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "trainer", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
    },
}
_JOB = {"parallelism": 2, "completions": 2, "template": _TEMPLATE}


def run() -> Iterator[Figure]:
    done = subprocess.run([sys.executable, "-m", "benchmarks.mcad"], stdout=subprocess.PIPE, check=True, text=True)
    rate, plain = (float(word) for word in done.stdout.split())
    name = f"{_WRAPPERS:,} AppWrappers of two pods on {_NODES:,} nodes, whole life"
    yield Figure(name, rate, "wrappers a CPU second", Baseline("Jobs without a dispatcher", plain), at_least(1000))


def _job(number: int) -> dict[str, object]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"w{number}", "namespace": "default"},
        "spec": _JOB,
    }


def _wrapper(number: int) -> dict[str, object]:
    items = [{"completionstatus": "Complete", "generictemplate": _job(number)}]
    return {
        "apiVersion": "workload.codeflare.dev/v1beta1",
        "kind": "AppWrapper",
        "metadata": {"name": f"w{number}"},
        "spec": {"resources": {"GenericItems": items}},
    }


def _measure(dispatcher: str) -> float:
    cluster = Cluster(config=ClusterConfig(dispatcher=dispatcher))
    add_nodes(cluster, NodeShape(count=_NODES, gpus=8, fake_taint=False))
    clock = cluster.clock
    assert isinstance(clock, VirtualClock)
    clock.run(clock.now() + 2 * SECOND)
    resource = cluster.registry.by_key("appwrappers.workload.codeflare.dev" if dispatcher else "jobs.batch")
    assert resource is not None
    relax_collector()

    def work() -> None:
        for number in range(_WRAPPERS):
            body = _wrapper(number) if dispatcher else _job(number)
            cluster.api.create(resource, resource.storage, "default", body, WriteOptions())
            if number % 1000 == 999:
                clock.run(clock.now() + SECOND // 10)
        clock.run(clock.now() + 600 * SECOND)

    with sparing_collector():
        rate = _WRAPPERS / cpu_seconds_of(work)
    jobs = sum(bool(each["status"].get("completionTime")) for each in cluster.store.list("jobs.batch"))
    assert jobs == _WRAPPERS, f"{jobs} of {_WRAPPERS} Jobs finished"
    if dispatcher:
        states = [each["status"]["state"] for each in cluster.store.list(resource.key)]
        assert states.count("Completed") == _WRAPPERS, f"{states.count('Completed')} of {_WRAPPERS} are complete"
    return rate


if __name__ == "__main__":
    relax_collector()
    plain_rate = _measure("")
    print(_measure("better"), plain_rate)
