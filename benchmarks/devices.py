"""DRA against a real control plane in one run, and what a large fleet of devices takes: memory, and the cost of a pod.

Pods with one claim each, made from a template, come to 500 nodes with 8 devices each. The real control plane (etcd,
kube-apiserver, kube-scheduler, kube-controller-manager, kwok) has its rate limits raised so far that they do not count
and gets fewer of them, for it is slower; more would not make it faster. The embedded cluster gets as many as there are
devices, served over HTTPS and in process. Times are by the clock on the wall, from the first creation to the last bind
(`benchmarks.throughput`), so that what else the machine does slows all of them down; in process there is also a figure
in seconds of the processor, which it changes less. Without the programs of Kubernetes only the rest is measured.

*Memory* is the peak of a process in which 80,000 pods with a claim each run on 10,000 nodes with 8 devices each; more
than 6 GiB it cannot get. *Growth* is what a pod costs on 5,000 nodes, of the processor, against 500 nodes: once with
ten times as many pods, so that all devices are held on both, and once with the same number of pods.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.figures import Baseline, Figure, at_least, at_most, cpu_seconds_of
from benchmarks.served import place_of, running
from benchmarks.side_by_side import Taken, called, observed, raised_limits
from benchmarks.throughput import GOALS
from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.core.collector import relax_collector
from ghostfleet.kube.programs import CONTROLLERS, ETCD, KWOK, SCHEDULER, SERVER, ProgramsMissing, find_programs

__all__ = ["run"]

_NODES, _DEVICES = 500, 8
#: Enough for each to take seconds at least.
_REAL, _EMBEDDED = 1_000, _NODES * _DEVICES
_LARGE = 10_000
_MOST_MEMORY = 6 << 30
_FLEET = ("--nodes", str(_NODES), "--gpus", str(_DEVICES), "--dra", "example")
_WHAT = f"pods with a claim bound, {_NODES} nodes x {_DEVICES} devices"


def run() -> Iterator[Figure]:
    yield from _speed()
    yield from _growth()
    yield from _memory()


def _speed() -> Iterator[Figure]:
    gate = Baseline("kube-scheduler's own gate, on 6 CPUs", 56)
    try:
        programs = find_programs((ETCD, SERVER, CONTROLLERS, SCHEDULER), (KWOK,))
    except ProgramsMissing as error:
        print(f"the real control plane is left out: {error}")
        baseline = gate
    else:
        with raised_limits(kwok=KWOK in programs) as raised:
            baseline = Baseline("real control plane, limits raised", _served(_REAL, "--runtime", "kubernetes", *raised))
    yield Figure(f"{_WHAT}, served over HTTPS", _served(_EMBEDDED), "pods/s", baseline)
    yield Figure(f"{_WHAT}, in process", _measured("speed", _NODES, _EMBEDDED), "pods/s", baseline)
    spent = _measured("cost", _NODES, _EMBEDDED)
    yield Figure(f"{_WHAT}, in process, of the processor", 1 / spent, "pods/s", gate, at_least(1_000))


def _served(count: int, *options: str) -> float:
    with running(*_FLEET, *options) as instance:
        return observed(place_of(instance), "claims", count).rate


def _growth() -> Iterator[Figure]:
    small = _measured("cost", _NODES, _EMBEDDED)
    baseline = Baseline(f"us on {_NODES} nodes, all devices held", small * 1e6)
    for what, count in (("all devices held", 10 * _EMBEDDED), ("as many pods", _EMBEDDED)):
        large = _measured("cost", 10 * _NODES, count)
        yield Figure(
            f"cost of a pod on {10 * _NODES:,} nodes, {what}", large * 1e6, "us", baseline, at_most(1.5 * small * 1e6)
        )


def _memory() -> Iterator[Figure]:
    peak = _measured("memory", _LARGE, _LARGE * _DEVICES) / (1 << 20)
    empty = Baseline("MiB of a cluster without pods", _measured("memory", _LARGE, 0) / (1 << 20))
    what = f"{_LARGE:,} nodes x {_DEVICES} devices, {_LARGE * _DEVICES:,} claims"
    yield Figure(f"memory of {what}", peak, "MiB", empty, at_most(4096))


def _measured(what: str, nodes: int, pods: int) -> float:
    """A figure of a cluster in a fresh process, which can get so much memory at most."""
    command = [sys.executable, "-m", "benchmarks.devices", what, str(nodes), str(pods)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def _measure(what: str, nodes: int, pods: int) -> float:
    cluster = Cluster(config=ClusterConfig(nodes=nodes, gpus=_DEVICES, dra="example"))
    clock = cluster.clock
    assert isinstance(clock, VirtualClock)
    clock.run(clock.now() + 2 * SECOND)
    relax_collector()
    taken: list[Taken] = []
    spent = cpu_seconds_of(lambda: taken.append(called(cluster, GOALS["claims"], "pod", pods)) if pods else None)
    if what == "memory":
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return spent / pods if what == "cost" else taken[0].rate


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    print(_measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
