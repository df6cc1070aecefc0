"""A small cluster without schedulers and controllers, in which stages are played on a virtual clock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ghostfleet.api.builtin import load_registry
from ghostfleet.api.kinds import storage_key
from ghostfleet.api.options import DeleteOptions, WriteOptions
from ghostfleet.api.verbs import Api
from ghostfleet.controllers.bootstrap import bootstrap
from ghostfleet.controllers.definitions import DefinitionController
from ghostfleet.core.bucket import index_by_node
from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.core.latency import Client
from ghostfleet.core.randomness import Streams
from ghostfleet.core.store import Store
from ghostfleet.stages.catalogue import StageSet
from ghostfleet.stages.fleet import Fleet
from ghostfleet.stages.nodes import NodeShape, fake_nodes
from ghostfleet.stages.settings import StageSettings
from ghostfleet.stages.stage import parse_stage

Object = dict[str, Any]


class Teller:
    """Remembers events."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str, str]] = []

    def normal(self, obj: Object, reason: str, message: str) -> None:
        self.events.append((obj["metadata"]["name"], "Normal", reason, message))

    def warning(self, obj: Object, reason: str, message: str) -> None:
        self.events.append((obj["metadata"]["name"], "Warning", reason, message))


class World:
    """A cluster with a fleet."""

    def __init__(
        self, stages: Any = "fast", seed: int | str = 0, client: Client | None = None, **settings: Any
    ) -> None:
        self.clock = VirtualClock()
        streams = Streams(seed)
        registry = load_registry()
        self.store = Store(self.clock, streams)
        self.store.register("pods", {"node": index_by_node()})
        for resource in registry:
            self.store.register(storage_key(resource))
        self.api = Api(self.store, registry, streams)
        DefinitionController(self.store, registry)
        bootstrap(self.store)
        self.teller = Teller()
        self.start = self.clock.now()
        if isinstance(stages, list) and isinstance(stages[0], dict):
            stages = StageSet(tuple(parse_stage(each) for each in stages))
        settings.setdefault("heartbeats", False)
        self.fleet = Fleet(self.api, streams, stages, StageSettings(**settings), self.teller, client)
        self.log: list[tuple[float, str, str]] = []
        self.store.listen("pods", self._note)

    def _note(self, change: Any) -> None:
        if change.new is not None:
            moment = (self.clock.now() - self.start) / SECOND
            entry = (moment, change.name, change.new["status"].get("phase", ""))
            if not self.log or self.log[-1][1:] != entry[1:]:
                self.log.append(entry)

    def run(self, seconds: float = 0) -> None:
        self.clock.run(self.clock.now() + int(seconds * SECOND))

    def create(self, obj: Object) -> Object:
        resource, version = self._of(obj)
        namespace = obj["metadata"].get("namespace", "default") if resource.namespaced else ""
        return self.api.create(resource, version, namespace, obj, WriteOptions())

    def delete(self, kind: str, name: str, api_version: str = "v1", **options: Any) -> None:
        resource, version = self._of({"apiVersion": api_version, "kind": kind})
        namespace = "default" if resource.namespaced else ""
        self.api.delete(resource, version, namespace, name, DeleteOptions(**options))

    def patch(self, kind: str, name: str, patch: Object, api_version: str = "v1", subresource: str = "") -> None:
        resource, version = self._of({"apiVersion": api_version, "kind": kind})
        namespace = "default" if resource.namespaced else ""
        self.api.patch(resource, version, namespace, name, "merge", patch, WriteOptions(), subresource)

    def bind(self, name: str, node: str) -> None:
        resource, version = self._of({"apiVersion": "v1", "kind": "Pod"})
        binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
        self.api.create(resource, version, "default", binding, WriteOptions(), name=name, subresource="binding")

    def _of(self, obj: Object) -> Any:
        found = self.api.registry.of_kind(obj["apiVersion"], obj["kind"])
        assert found is not None, obj
        return found

    def nodes(self, count: int = 1, **shape: Any) -> None:
        for node in fake_nodes(NodeShape(count=count, prefix="node-", **shape)):
            self.create(node)
        self.run()

    def pod(self, name: str = "pod", node: str = "node-0", **more: Any) -> Object:
        container: Object = {"name": "main", "image": "busybox"}
        if "requests" in more:
            requests = more.pop("requests")
            container["resources"] = {"requests": requests, "limits": requests}
        if "command" in more:
            container["command"] = more.pop("command")
        spec = {"nodeName": node, "containers": [container], **more.pop("spec", {})}
        if more.pop("job", False):
            more["ownerReferences"] = [self.job_reference()]
        return self.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **more}, "spec": spec})

    def job_reference(self, **annotations: str) -> Object:
        job = self.store.find("jobs.batch", "default", "job") or self.store.create(
            "jobs.batch",
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": "job", "namespace": "default", "annotations": annotations},
                "spec": {},
                "status": {},
            },
        )
        return {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": job["metadata"]["uid"]}

    def get(self, name: str = "pod", resource: str = "pods") -> Object:
        namespace = "" if resource in ("nodes", "persistentvolumes") else "default"
        return self.store.get(resource, namespace, name)

    def phase(self, name: str = "pod") -> str:
        found = self.store.find("pods", "default", name)
        return found["status"].get("phase", "") if found is not None else "gone"

    def times(self, name: str = "pod") -> dict[str, float]:
        """When a pod first was in each phase."""
        found: dict[str, float] = {}
        for moment, each, phase in self.log:
            if each == name:
                found.setdefault(phase, moment)
        return found


@pytest.fixture
def world() -> World:
    """A cluster that plays the set `fast`, with one node."""
    made = World()
    made.nodes()
    return made


@pytest.fixture
def make_world() -> Callable[..., World]:
    return World


def stage_object(name: str, phase_from: str, phase_to: str, **spec: Any) -> Object:
    """A stage that takes pods from one phase to another."""
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": "Pod"},
            "selector": {"matchExpressions": [{"key": ".status.phase", "operator": "In", "values": [phase_from]}]},
            "next": {"statusTemplate": f"phase: {phase_to}"},
            **spec,
        },
    }


@pytest.fixture
def make_stage() -> Callable[..., Object]:
    return stage_object


@pytest.fixture
def stage_file(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "kwok.yaml"
        path.write_text(text)
        return path

    return write
