"""Writes to the store in this process: whole lives of pods, with indexes and three watchers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from benchmarks.figures import Baseline, Figure, at_least, best, seconds_of
from benchmarks.objects import TEMPLATE, pod
from ghostfleet.api.options import WriteOptions
from ghostfleet.cluster import BARE, Cluster
from ghostfleet.core.bucket import index_by_label, index_by_node
from ghostfleet.core.clock import VirtualClock
from ghostfleet.core.store import Store
from ghostfleet.core.watch import Watch

__all__ = ["run"]

_PODS = 20_000
_NODES = 500
_WRITES_OF_A_LIFE = 5
_RUNNING = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
_ENDED = {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False"}]}


def run() -> Iterator[Figure]:
    naive = Baseline("store that copies deeply", best(_naive_writes))
    alone = best(_store_alone)
    yield Figure("store writes, 3 watchers", alone, "writes/s", naive, at_least(100_000))
    bare = Baseline("without controllers", alone)
    yield Figure("store writes, 3 watchers and the API's own controllers", best(_with_controllers), "writes/s", bare)
    yield Figure("creates through the whole API", best(_creates), "creates/s", bare)


def _watchers(store: Store) -> list[Watch]:
    """All pods, those of one namespace, those that are bound."""
    return [
        Watch(store, "pods", since=0),
        Watch(store, "pods", "default", since=0),
        Watch(store, "pods", matches=lambda obj: "nodeName" in obj["spec"], since=0),
    ]


def _store_alone() -> float:
    store = Store(VirtualClock())
    store.register("pods", {"node": index_by_node(), "job": index_by_label("batch.kubernetes.io/job-name")})
    return _writes(store)


def _with_controllers() -> float:
    return _writes(Cluster(VirtualClock(), BARE).store)


def _writes(store: Store) -> float:
    """Lives of pods that a job owns."""
    watchers = _watchers(store)
    job = store.create("jobs.batch", {"metadata": {"name": "train", "namespace": "default"}})
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": job["metadata"]["uid"]}
    clock = store.clock
    assert isinstance(clock, VirtualClock)
    labels = {"app": "train", "batch.kubernetes.io/job-name": "train"}
    status = {"phase": "Pending"}

    def live() -> None:
        for number in range(_PODS):
            name = f"pod-{number}"
            metadata = {"name": name, "namespace": "default", "labels": labels, "ownerReferences": [reference]}
            made = store.create("pods", {"metadata": metadata, "spec": TEMPLATE, "status": status})
            store.update("pods", {**made, "spec": {**TEMPLATE, "nodeName": f"node-{number % _NODES}"}})
            store.patch_status("pods", "default", name, _RUNNING)
            store.patch_status("pods", "default", name, _ENDED)
            store.delete("pods", "default", name)
            if number % 100 == 0:
                clock.settle()
                for watcher in watchers:
                    watcher.drain()

    return _PODS * _WRITES_OF_A_LIFE / seconds_of(live)


def _naive_writes() -> float:
    """The same lives in a dict of objects that are copied on the way in and out, with no index and no watcher."""
    stored: dict[str, Any] = {}

    def write(name: str, **change: Any) -> None:
        obj = copy.deepcopy(stored[name])
        obj.update(change)
        stored[name] = copy.deepcopy(obj)

    def live() -> None:
        for number in range(_PODS // 20):
            name = f"pod-{number}"
            stored[name] = copy.deepcopy(pod(name))
            write(name, spec={**TEMPLATE, "nodeName": f"node-{number % _NODES}"})
            write(name, status=_RUNNING)
            write(name, status=_ENDED)
            del stored[name]

    return _PODS // 20 * _WRITES_OF_A_LIFE / seconds_of(live)


def _creates() -> float:
    cluster = Cluster(VirtualClock(), BARE)
    resource = cluster.registry.by_key("pods")
    assert resource is not None
    options = WriteOptions(manager="bench")
    pods = [pod(f"pod-{number}") for number in range(_PODS // 10)]

    def create() -> None:
        for each in pods:
            cluster.api.create(resource, resource.storage, "default", each, options)

    return len(pods) / seconds_of(create)
