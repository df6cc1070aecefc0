"""A real control plane and the embedded cluster in one run: pods bound and Jobs completed a second, on 1,000 GPU nodes.

Four clusters have the same nodes and get the same objects: the real control plane (etcd, kube-apiserver,
kube-scheduler, kube-controller-manager, kwok) with the rate limits that its parts have by themselves, the same with
these raised so far that they do not count, the embedded cluster served over HTTPS, and the embedded cluster in process
on a virtual clock.
The first three are worked on by one client in a process of its own, which creates objects over 16 connections and sees
in a watch how far they are; in process the same is done by calls and listeners. All share the cores of this machine.
Times are by the clock on the wall (`benchmarks.throughput` says from what to what). Pods run at once and the pods of
Jobs end at once, by the stages `fast`, so that what is measured is the control plane. The slower a cluster is, the
fewer objects it gets, so that all take a few minutes together; more would not make it faster.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import orjson

from benchmarks.served import Place, place_of, run_client, running
from benchmarks.throughput import GOALS, Goal, Progress
from ghostfleet.api.options import WriteOptions
from ghostfleet.cluster import Cluster, add_nodes
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.core.collector import relax_collector, sparing_collector
from ghostfleet.kube.programs import CONTROLLERS, ETCD, KWOK, SCHEDULER, SERVER, ProgramsMissing, find_programs
from ghostfleet.stages.nodes import NodeShape

__all__ = ["Taken", "called", "observed", "raised_limits", "run"]

_NODES, _GPUS = 1_000, 8
#: Enough for each to take seconds at least, and for all together to take minutes at most.
_LIMITED = {"pods": 1_000, "jobs": 100}
_RAISED = {"pods": 1_500, "jobs": 1_000}
_EMBEDDED = {"pods": 5_000, "jobs": 5_000}
_WHAT = {"pods": ("pods", "bound"), "jobs": ("Jobs", "completed")}
_FLEET = ("--nodes", str(_NODES), "--gpus", str(_GPUS))
#: What `kwokctl create cluster --disable-qps-limits` gives these two, and workers to use it.
_RAISING = (
    f"{SCHEDULER}=--kube-api-qps=5000",
    f"{SCHEDULER}=--kube-api-burst=10000",
    f"{CONTROLLERS}=--kube-api-qps=5000",
    f"{CONTROLLERS}=--kube-api-burst=10000",
    f"{CONTROLLERS}=--concurrent-job-syncs=100",
)
#: kwok has no limit of requests, but plays four pods at a time. To a file it adds no defaults; the others are its own.
_RAISING_KWOK = """\
kind: KwokConfiguration
apiVersion: config.kwok.x-k8s.io/v1alpha1
options:
  podPlayStageParallelism: 64
  nodePlayStageParallelism: 64
  nodeLeaseParallelism: 4
  podsOnNodeSyncParallelism: 1
  enablePodsOnNodeSyncListPager: true
  cidr: 10.0.0.0/24
"""
_PATIENCE = 60 * SECOND
_DEFAULT_LIMITS, _RAISED_LIMITS = "real control plane, default rate limits", "real control plane, limits raised"


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds that so many objects took."""

    count: int
    created: float
    reached: float

    @property
    def rate(self) -> float:
        return self.count / self.reached


Row = dict[str, Taken]


def run() -> None:
    try:
        programs = find_programs((ETCD, SERVER, CONTROLLERS, SCHEDULER), (KWOK,))
    except ProgramsMissing as error:
        print(f"side_by_side is skipped: {error}")
        return
    player = KWOK if KWOK in programs else "our own agent, without kwok"
    print(f"{_NODES:,} nodes of {_GPUS} GPUs; the real control plane's nodes are played by {player}", flush=True)
    rows: dict[str, Row] = {}
    for name, row in _rows(kwok=KWOK in programs):
        rows[name] = row
        for goal, taken in row.items():
            what, done = _WHAT[goal]
            print(f"{name}: {taken.count:,} {what} created in {taken.created:.1f} s, {done} in {taken.reached:.1f} s")
        sys.stdout.flush()
    print(_table(rows))


def _rows(*, kwok: bool) -> Iterator[tuple[str, Row]]:
    real = ("--runtime", "kubernetes", *_FLEET)
    yield _DEFAULT_LIMITS, _served(_LIMITED, *real)
    with raised_limits(kwok=kwok) as arguments:
        yield _RAISED_LIMITS, _served(_RAISED, *real, *arguments)
    yield "embedded, served over HTTPS", _served(_EMBEDDED, *_FLEET)
    yield "embedded, in process", _in_process()


@contextmanager
def raised_limits(*, kwok: bool) -> Iterator[list[str]]:
    """What `ghostfleet up` is told so that the rate limits of a real control plane do not count."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(_RAISING_KWOK)
        file.flush()
        raising = (*_RAISING, f"{KWOK}=--config={file.name}") if kwok else _RAISING
        yield [word for each in raising for word in ("--component-arg", each)]


def _served(counts: dict[str, int], *options: str) -> Row:
    with running(*options) as instance:
        place = place_of(instance)
        return {goal: observed(place, goal, count) for goal, count in counts.items()}


def observed(place: Place, goal: str, count: int) -> Taken:
    return Taken(count, **run_client(place, "benchmarks.throughput", do="reach", goal=goal, count=count))


def _in_process() -> Row:
    command = [sys.executable, "-m", "benchmarks.side_by_side"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return {goal: Taken(**taken) for goal, taken in orjson.loads(done.stdout).items()}


def called(cluster: Cluster, goal: Goal, name: str, count: int) -> Taken:
    """The same by calls of the API in this process."""
    clock = cluster.clock
    assert isinstance(clock, VirtualClock)
    progress = Progress(goal, count)
    if goal.before is not None:
        key, _, needed = goal.before
        _create(cluster, key, needed)

    def notice(change: Change) -> None:
        if change.new is not None:
            progress.note(change.new)

    deaf = cluster.store.listen(goal.resource, notice)
    with sparing_collector():
        began = time.perf_counter()
        for number in range(count):
            _create(cluster, goal.resource, goal.make(f"{name}-{number}"))
        created = time.perf_counter() - began
        clock.run(clock.now() + _PATIENCE, stop=lambda: progress.settled)
    deaf()
    assert progress.settled, progress
    return Taken(count, created, progress.last_came - began)


def _create(cluster: Cluster, key: str, obj: Object) -> None:
    resource = cluster.registry.by_key(key)
    assert resource is not None
    cluster.api.create(resource, resource.storage, "default", obj, WriteOptions())


def _measure_in_process() -> Row:
    cluster = Cluster()
    add_nodes(cluster, NodeShape(count=_NODES, gpus=_GPUS, fake_taint=False))
    clock = cluster.clock
    assert isinstance(clock, VirtualClock)
    clock.run(clock.now() + 2 * SECOND)
    relax_collector()
    return {name: called(cluster, GOALS[name], name, count) for name, count in _EMBEDDED.items()}


def _table(rows: dict[str, Row]) -> str:
    """What was measured, and how many times as fast as either real one that is."""
    heads = [head for what, done in _WHAT.values() for head in (f"{what} {done}/s", "x raised", "x default")]
    lines = [["cluster", *heads], ["---"] * (len(heads) + 1)]
    for name, row in rows.items():
        cells = [name]
        for goal, taken in row.items():
            ratios = (taken.rate / rows[base][goal].rate for base in (_RAISED_LIMITS, _DEFAULT_LIMITS))
            cells += [_number(taken.rate), *map(_number, ratios)]
        lines.append(cells)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 20 else f"{value:.2g}" if value < 1 else f"{value:.1f}"


if __name__ == "__main__":
    relax_collector()
    sys.stdout.buffer.write(orjson.dumps({name: asdict(taken) for name, taken in _measure_in_process().items()}))
