"""Scheduling alone: pods that wait, a cluster of nodes, decisions and the writes that follow from them.

Times are those of the process itself; the collector of cyclic garbage is spared as it is in a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from benchmarks.figures import REPETITIONS, Baseline, Figure, at_least, at_most, best, cpu_seconds_of
from ghostfleet.api.subresources import bound
from ghostfleet.core.bucket import index_by_node
from ghostfleet.core.clock import VirtualClock
from ghostfleet.core.collector import sparing_collector
from ghostfleet.core.quantity import milli, value
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.schedulers.framework import Bind, Decision, Session
from ghostfleet.schedulers.framework.own import OwnScheduler
from ghostfleet.schedulers.framework.podinfo import pod_requests
from ghostfleet.schedulers.kube import KubeScheduler

__all__ = ["run"]

_FEW_NODES, _NODES = 1_000, 10_000
_PODS, _UNIQUE_PODS, _NAIVE_PODS = 10_000, 2_000, 20
_OWN_PODS, _OWN_CYCLES = 10_000, 20
_GPU = "nvidia.com/gpu"


def run() -> Iterator[Figure]:
    naive = Baseline("looking at all nodes for each pod", best(_naive))
    repeated = best(lambda: _scheduled(_NODES, _PODS, _same))
    yield Figure("pods of one shape, 10,000 nodes", repeated, "pods/s", naive, at_least(20_000))
    shapes = best(lambda: _scheduled(_NODES, _UNIQUE_PODS, _unique))
    yield Figure("pods of a shape each, 10,000 nodes", shapes, "pods/s", naive, at_least(2_000))
    few = Baseline("1,000 nodes, pods/s", best(lambda: _scheduled(_FEW_NODES, _FEW_NODES * 7, _same)))
    growth = few.value / repeated
    yield Figure(
        "time a pod at 10,000 nodes over that at 1,000", growth, "times", Baseline("1,000 nodes", 1), at_most(1.5)
    )
    yield Figure("ten shapes in turns, 10,000 nodes", best(lambda: _scheduled(_NODES, _PODS, _ten)), "pods/s", naive)
    yield Figure("pods of a replica set, 10,000 nodes", best(lambda: _spread(_NODES, 2_000)), "pods/s", naive)
    anew = Baseline(
        "listing and summing all of it in each cycle, ms", _shortest(lambda: _own_cycle(_OWN_PODS, anew=True))
    )
    large = _shortest(lambda: _own_cycle(_OWN_PODS))
    yield Figure("an own scheduler's cycle for a new pod, 1,000 nodes, 10,000 pods", large, "ms", anew, at_most(1))
    small = Baseline("1,000 nodes, 1,000 pods, ms", _shortest(lambda: _own_cycle(_OWN_PODS // 10)))
    yield Figure("the same over that at 1,000 pods", large / small.value, "times", small, at_most(2))


def _node(index: int) -> dict[str, Any]:
    name = f"node-{index:05}"
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{index % 3}"}
    allocatable = {"cpu": "64", "memory": "512Gi", "pods": "110", _GPU: "8"}
    metadata = {"name": name, "labels": labels}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": {},
        "status": {"allocatable": allocatable},
    }


def _pod(index: int, memory: str, cpu: str = "1") -> dict[str, Any]:
    requests = {"cpu": cpu, "memory": memory, _GPU: "1"}
    container = {"name": "main", "image": "trainer:1", "resources": {"requests": requests, "limits": {_GPU: "1"}}}
    spec = {"schedulerName": "default-scheduler", "priority": 0, "containers": [container]}
    metadata = {"name": f"pod-{index:06}", "namespace": "default", "labels": {"job-name": f"job-{index:06}"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def _same(index: int) -> dict[str, Any]:
    return _pod(index, "4Gi")


def _unique(index: int) -> dict[str, Any]:
    return _pod(index, f"{1000 + index}Mi")


def _ten(index: int) -> dict[str, Any]:
    return _pod(index, "4Gi", str(index % 10 + 1))


def _store(nodes: int) -> Store:
    store = Store(VirtualClock())
    store.register("pods", {"node": index_by_node()})
    for index in range(nodes):
        store.create("nodes", _node(index))
    return store


def _scheduled(nodes: int, pods: int, make: Callable[[int], dict[str, Any]]) -> float:
    """Pods scheduled and bound a second."""
    store = _store(nodes)
    return _measured(store, pods, make)


def _measured(store: Store, pods: int, make: Callable[[int], dict[str, Any]]) -> float:
    clock = store.clock
    assert isinstance(clock, VirtualClock)
    KubeScheduler(store, clock, Random(1))
    clock.settle()
    for index in range(pods):
        store.create("pods", make(index))
    with sparing_collector():
        taken = cpu_seconds_of(clock.settle)
    assert all(pod["spec"].get("nodeName") for pod in store.list("pods"))
    return pods / taken


def _spread(nodes: int, pods: int) -> float:
    """Pods that the system's default constraints spread over zones and nodes."""
    store = _store(nodes)
    labels = {"app": "web"}
    spec = {"selector": {"matchLabels": labels}}
    store.create("replicasets.apps", {"metadata": {"name": "web", "namespace": "default"}, "spec": spec})
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}

    def owned(index: int) -> dict[str, Any]:
        pod = _same(index)
        return {**pod, "metadata": {**pod["metadata"], "labels": labels, "ownerReferences": [owner]}}

    return _measured(store, pods, owned)


def _shortest(measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(REPETITIONS))


class _Packing:
    """The example's scheduler; with `anew` it looks at the cluster as one would without a snapshot kept by events."""

    name = "packing"

    def __init__(self, store: Store, *, anew: bool) -> None:
        self._store = store
        self._anew = anew

    def schedule(self, session: Session) -> Iterator[Decision]:
        if self._anew:
            free = {
                node["metadata"]["name"]: _amounts(node["status"]["allocatable"]) for node in self._store.list("nodes")
            }
            for other in self._store.list("pods"):
                if "nodeName" in other["spec"]:
                    for resource, amount in pod_requests(other["spec"]).asked.items():
                        free[other["spec"]["nodeName"]][resource] -= amount
        for pod in session.pending:
            node = session.pick(pod, least=session.free(_GPU))
            assert node is not None
            yield Bind(pod, node)


def _own_cycle(pods: int, *, anew: bool = False) -> float:
    """Milliseconds of one cycle with one new pod, while so many are on nodes."""
    store = _store(_FEW_NODES)
    clock = store.clock
    assert isinstance(clock, VirtualClock)
    OwnScheduler(store, clock, _Packing(store, anew=anew))
    for index in range(pods):
        pod = _pod(index, "1Gi", "100m")
        spec = {**pod["spec"], "nodeName": f"node-{index % _FEW_NODES:05}"}
        spec["containers"] = [{**spec["containers"][0], "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}}}]
        store.create("pods", {**pod, "spec": spec})
    clock.settle()
    times = []
    with sparing_collector():
        for index in range(_OWN_CYCLES):
            pod = _pod(pods + index, "1Gi")
            store.create("pods", {**pod, "spec": {**pod["spec"], "schedulerName": "packing"}})
            times.append(cpu_seconds_of(clock.settle))
    return 1000 * min(times)


def _naive() -> float:
    """The simplest scheduler: for each pod it looks at every node, and at what is on it."""
    store = _store(_NODES)
    pods = [store.create("pods", _same(index)) for index in range(_NAIVE_PODS)]

    def schedule() -> None:
        for pod in pods:
            node = max(store.list("nodes"), key=lambda node: _naive_score(store, pod, node))
            store.update("pods", bound(pod, node["metadata"]["name"], rfc3339(store.clock.now()), {}))

    return len(pods) / cpu_seconds_of(schedule)


def _naive_score(store: Store, pod: dict[str, Any], node: dict[str, Any]) -> float:
    free = _amounts(node["status"]["allocatable"])
    has = dict(free)
    for other in (*store.having("pods", "node", node["metadata"]["name"]), pod):
        for resource, amount in _amounts(other["spec"]["containers"][0]["resources"]["requests"]).items():
            free[resource] -= amount
    if min(free.values()) < 0:
        return -1.0
    return free["cpu"] / has["cpu"] + free["memory"] / has["memory"]


def _amounts(listed: dict[str, str]) -> dict[str, int]:
    return {name: milli(text) if name == "cpu" else value(text) for name, text in listed.items()}
