"""A world for controllers: a store on a virtual clock, the controllers under test, and a test that plays kubelet."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from ghostfleet.api.admission import Admission
from ghostfleet.api.builtin import load_registry
from ghostfleet.api.strategy import apply_defaults, finish_create, prepare_for_create, prepare_for_update
from ghostfleet.controllers.garbage import GarbageCollector
from ghostfleet.controllers.podgarbage import PodTerminator
from ghostfleet.controllers.pods import PodCreator
from ghostfleet.controllers.routing import PodRoutes
from ghostfleet.core.bucket import index_by_label, index_by_node
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.core.profile import load_profile
from ghostfleet.core.randomness import Streams
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339

_KINDS = {
    "pods": ("v1", "Pod"),
    "nodes": ("v1", "Node"),
    "services": ("v1", "Service"),
    "namespaces": ("v1", "Namespace"),
    "resourcequotas": ("v1", "ResourceQuota"),
    "limitranges": ("v1", "LimitRange"),
    "persistentvolumes": ("v1", "PersistentVolume"),
    "persistentvolumeclaims": ("v1", "PersistentVolumeClaim"),
    "replicationcontrollers": ("v1", "ReplicationController"),
    "jobs.batch": ("batch/v1", "Job"),
    "cronjobs.batch": ("batch/v1", "CronJob"),
    "replicasets.apps": ("apps/v1", "ReplicaSet"),
    "deployments.apps": ("apps/v1", "Deployment"),
    "statefulsets.apps": ("apps/v1", "StatefulSet"),
    "daemonsets.apps": ("apps/v1", "DaemonSet"),
    "poddisruptionbudgets.policy": ("policy/v1", "PodDisruptionBudget"),
    "storageclasses.storage.k8s.io": ("storage.k8s.io/v1", "StorageClass"),
    "priorityclasses.scheduling.k8s.io": ("scheduling.k8s.io/v1", "PriorityClass"),
    "leases.coordination.k8s.io": ("coordination.k8s.io/v1", "Lease"),
    "resourceclaims.resource.k8s.io": ("resource.k8s.io/v1", "ResourceClaim"),
    "resourceclaimtemplates.resource.k8s.io": ("resource.k8s.io/v1", "ResourceClaimTemplate"),
    "resourceslices.resource.k8s.io": ("resource.k8s.io/v1", "ResourceSlice"),
    "devicetaintrules.resource.k8s.io": ("resource.k8s.io/v1beta2", "DeviceTaintRule"),
}
_CLUSTER_WIDE = {
    "nodes",
    "namespaces",
    "persistentvolumes",
    "storageclasses.storage.k8s.io",
    "priorityclasses.scheduling.k8s.io",
    "resourceslices.resource.k8s.io",
    "devicetaintrules.resource.k8s.io",
}
_REGISTRY = load_registry()


class World:
    """One store with what every test needs around it."""

    def __init__(self, profile: str = "instant", seed: int = 0) -> None:
        self.clock = VirtualClock()
        self.store = Store(self.clock, Streams(seed))
        self.store.register("pods", {"node": index_by_node(), "job": index_by_label("batch.kubernetes.io/job-name")})
        self.profile = load_profile(profile)
        self.routes = PodRoutes(self.store)
        self.creator = PodCreator(Admission(self.store, Random(seed)))
        self.log: list[Change] = []
        GarbageCollector(self.store, _REGISTRY)
        PodTerminator(self.store)
        self.store.listen_to_all(self.log.append)

    # -- objects -----------------------------------------------------------------------------------------------------

    def create(self, resource: str, name: str, *, settle: bool = True, **fields: Any) -> Object:
        """Create an object as the API would, in the namespace `default`."""
        api_version, kind = _KINDS[resource]
        metadata = {"name": name, "uid": self.store.new_uid(), **fields.pop("metadata", {})}
        if resource not in _CLUSTER_WIDE:
            metadata.setdefault("namespace", "default")
        obj = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
        obj = prepare_for_create(resource, apply_defaults(resource, obj))
        stored = self.store.create(resource, finish_create(resource, obj, now=rfc3339(self.clock.now())))
        if settle:
            self.clock.settle()
        return stored

    def get(self, resource: str, name: str) -> Object:
        return self.store.get(resource, "" if resource in _CLUSTER_WIDE else "default", name)

    def update(self, resource: str, name: str, **spec: Any) -> Object:
        """Change fields of an object's spec as the API would."""
        old = self.get(resource, name)
        new = {**old, "metadata": dict(old["metadata"]), "spec": {**old["spec"], **spec}}
        new = prepare_for_update(resource, old, apply_defaults(resource, new))
        stored = self.store.update(resource, new)
        self.clock.settle()
        return stored

    def delete(self, resource: str, name: str, **options: Any) -> None:
        self.store.delete(resource, "" if resource in _CLUSTER_WIDE else "default", name, **options)
        self.clock.settle()

    def node(self, name: str, *, ready: str = "True", **fields: Any) -> Object:
        conditions = [
            {
                "type": kind,
                "status": ready if kind == "Ready" else "False",
                "lastHeartbeatTime": self.now(),
                "lastTransitionTime": self.now(),
                "reason": "KubeletReady",
                "message": "kubelet is posting ready status",
            }
            for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
        ]
        status = {"conditions": conditions, "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}}
        node = self.create("nodes", name, **fields)
        return self.store.patch_status("nodes", "", node["metadata"]["name"], status)

    # -- time --------------------------------------------------------------------------------------------------------

    def now(self) -> str:
        return rfc3339(self.clock.now())

    def advance(self, seconds: float) -> None:
        self.clock.advance(int(seconds * SECOND))

    # -- pods --------------------------------------------------------------------------------------------------------

    def pods(self, phase: str | None = None) -> list[Object]:
        return [pod for pod in self.store.list("pods") if phase is None or pod["status"]["phase"] == phase]

    def names(self, phase: str | None = None) -> list[str]:
        return [pod["metadata"]["name"] for pod in self.pods(phase)]

    def bind(self, pod: Object, node: str = "n0") -> Object:
        current = self.store.get("pods", pod["metadata"]["namespace"], pod["metadata"]["name"])
        return self.store.update("pods", {**current, "spec": {**current["spec"], "nodeName": node}})

    def set_phase(
        self, pod: Object, phase: str, *, exit_code: int | None = None, settle: bool = True, **more: Any
    ) -> None:
        """Play kubelet: report a pod in this phase; a running pod is ready."""
        metadata = pod["metadata"]
        current = self.store.get("pods", metadata["namespace"], metadata["name"])
        others = [each for each in current["status"].get("conditions", []) if each["type"] != "Ready"]
        ready = {"type": "Ready", "status": "True" if phase == "Running" else "False", "lastTransitionTime": self.now()}
        status = {**current["status"], "phase": phase, "conditions": [*others, ready], **more}
        if phase in ("Succeeded", "Failed"):
            code = exit_code if exit_code is not None else (0 if phase == "Succeeded" else 1)
            status["containerStatuses"] = [
                {
                    "name": each["name"],
                    "restartCount": 0,
                    "state": {"terminated": {"exitCode": code, "finishedAt": self.now()}},
                }
                for each in current["spec"]["containers"]
            ]
        self.store.patch_status("pods", metadata["namespace"], metadata["name"], status)
        if settle:
            self.clock.settle()

    def run(self) -> None:
        """Play scheduler and kubelet: all pending pods are bound and run; then whatever follows happens."""
        for pod in self.pods("Pending"):
            if "deletionTimestamp" not in pod["metadata"]:
                if not pod["spec"].get("nodeName"):
                    self.bind(pod)
                self.set_phase(pod, "Running", settle=False)
        self.clock.settle()

    def run_until_steady(self, rounds: int = 50) -> None:
        """Run pods, and let those that are to go go, until nothing changes any more."""
        for _ in range(rounds):
            before = self.store.revision
            self.run()
            self.advance(2)
            if self.store.revision == before:
                return
        raise AssertionError("it never settles")

    def finish(self, phase: str = "Succeeded", **options: Any) -> None:
        """End all running pods."""
        for pod in self.pods("Running"):
            self.set_phase(pod, phase, settle=False, **options)
        self.clock.settle()

    # -- what was told -----------------------------------------------------------------------------------------------

    def events(self, name: str | None = None) -> list[tuple[str, str]]:
        """Reasons and messages of events, oldest first, of all objects or of one."""
        told = [each for each in self.store.list("events") if name in (None, each["involvedObject"]["name"])]
        told.sort(key=lambda each: int(each["metadata"]["resourceVersion"]))
        return [(each["reason"], each["message"]) for each in told]


def template(labels: dict[str, str] | None = None, **spec: Any) -> Object:
    container = {"name": "main", "image": "registry.example/app:1"}
    return {"metadata": {"labels": labels or {}}, "spec": {"containers": [container], **spec}}


@pytest.fixture(scope="session")
def new_world() -> type[World]:
    return World


@pytest.fixture
def world(new_world: type[World]) -> World:
    return new_world()


@pytest.fixture(scope="session")
def pod_template():
    return template
