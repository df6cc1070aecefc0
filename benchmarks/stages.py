"""What stages cost: pods from Pending over Running to Succeeded, nodes that become Ready, and leases.

Pods come bound and share their spec, as those of one template do. The baseline is what cannot be saved: the writes
alone, one for each change of a status, in the same store.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.figures import Baseline, Figure, at_most, best
from ghostfleet.api.builtin import load_registry
from ghostfleet.api.kinds import storage_key
from ghostfleet.api.strategy import apply_defaults, prepare_for_create
from ghostfleet.api.verbs import Api
from ghostfleet.core.bucket import index_by_node
from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.core.randomness import Streams
from ghostfleet.core.store import Store
from ghostfleet.stages.fleet import Fleet
from ghostfleet.stages.nodes import NodeShape, fake_nodes
from ghostfleet.stages.settings import StageSettings

__all__ = ["run"]

_PODS, _NODES = 50_000, 1_000
_MANY_NODES = 10_000
_CHUNK = 5_000

#: Stages as users write them: fixed delays, and a message with the pod's own name in it.
_USERS = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: run}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Pending]}]}
  delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 3000}
  next:
    statusTemplate: |
      message: "{{ .metadata.name }} runs on {{ .spec.nodeName }}"
      containerStatuses:
      {{ range .spec.containers }}
      - name: {{ .name | Quote }}
        image: {{ .image | Quote }}
        ready: true
        restartCount: 0
        state: {running: {startedAt: {{ Now | Quote }}}}
      {{ end }}
      phase: Running
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: finish}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Running]}]}
  delay: {durationMilliseconds: 10000}
  next:
    statusTemplate: |
      message: "{{ .metadata.name }} is done"
      phase: Succeeded
"""


def run() -> Iterator[Figure]:
    writes = best(_bare_writes, lowest=True)
    for name, changes in (("fast", 2), ("general", 3)):
        cost = best(partial(_lives, name), lowest=True)
        bare = Baseline(f"{changes} status writes", writes * changes)
        yield Figure(f"stages for a pod's life, set {name}", cost, "us/pod", bare, at_most(60 + writes * changes))
    with TemporaryDirectory() as directory:
        path = Path(directory) / "kwok.yaml"
        path.write_text(_USERS)
        cost = best(partial(_lives, str(path)), lowest=True)
    bare = Baseline("2 status writes", writes * 2)
    yield Figure("stages for a pod's life, a user's file", cost, "us/pod", bare, at_most(60 + writes * 2))
    yield Figure("a node becomes Ready", best(_nodes, lowest=True), "us/node", Baseline("a status write", writes))
    lazy, live = best(partial(_leases, "lazy"), lowest=True), best(partial(_leases, "live"), lowest=True)
    none = Baseline("lazy ones", lazy)
    yield Figure(f"leases of {_MANY_NODES:,} nodes, live, a minute", live, "ms", none, at_most(1000))


class _World:
    """A store with a fleet, and nothing else that acts."""

    def __init__(self, stages: str, **settings: Any) -> None:
        streams = Streams(0)
        registry = load_registry()
        self.clock = VirtualClock()
        self.store = Store(self.clock, streams)
        self.store.register("pods", {"node": index_by_node()})
        for resource in registry:
            self.store.register(storage_key(resource))
        self.fleet = Fleet(
            Api(self.store, registry, streams), streams, stages, StageSettings(heartbeats=False, **settings)
        )

    def nodes(self, count: int) -> None:
        for node in fake_nodes(NodeShape(count=count, gpus=8, pods="1000", prefix="node-")):
            self.store.create("nodes", prepare_for_create("nodes", apply_defaults("nodes", node)))
        self.clock.settle()


def _pod() -> dict[str, Any]:
    resources = {"requests": {"cpu": "1m"}}
    container = {"name": "main", "image": "registry.example/train:1", "resources": resources}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {"containers": [container]}}
    return prepare_for_create("pods", apply_defaults("pods", pod))


def _bind(store: Store, pod: dict[str, Any], number: int) -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u"}
    metadata = {"namespace": "default", "name": f"pod-{number}", "ownerReferences": [owner]}
    spec = {**pod["spec"], "nodeName": f"node-{number % _NODES}"}
    store.create("pods", {**pod, "metadata": metadata, "spec": spec})


def _lives(stages: str) -> float:
    """Microseconds that a pod's life takes, from bound to Succeeded."""
    world = _World(stages)
    world.nodes(_NODES)
    pod = _pod()
    spent = 0.0
    for first in range(0, _PODS, _CHUNK):
        for number in range(first, first + _CHUNK):
            _bind(world.store, pod, number)
        began = time.process_time()
        world.clock.run(world.clock.now() + 30 * SECOND)
        spent += time.process_time() - began
    phases = [each["status"]["phase"] for each in world.store.list("pods")]
    assert phases.count("Succeeded") == _PODS
    return spent / _PODS * 1e6


def _bare_writes() -> float:
    store = Store(VirtualClock())
    store.register("pods", {"node": index_by_node()})
    pod = _pod()
    for number in range(_PODS):
        _bind(store, pod, number)
    began = time.process_time()
    for number in range(_PODS):
        store.patch_status("pods", "default", f"pod-{number}", {**pod["status"], "phase": "Running"})
    return (time.process_time() - began) / _PODS * 1e6


def _nodes() -> float:
    world = _World("fast")
    began = time.process_time()
    world.nodes(_MANY_NODES)
    return (time.process_time() - began) / _MANY_NODES * 1e6


def _leases(mode: str) -> float:
    world = _World("fast", leases=mode)
    world.nodes(_MANY_NODES)
    began = time.process_time()
    world.clock.run(world.clock.now() + 60 * SECOND)
    return max((time.process_time() - began) * 1e3, 0.001)
