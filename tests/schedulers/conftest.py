"""A small cluster to schedule in: a store, a virtual clock and the default scheduler, and short ways to make objects."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from ghostfleet.core.bucket import index_by_node
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import VirtualClock
from ghostfleet.core.randomness import Streams
from ghostfleet.core.store import Store
from ghostfleet.schedulers.kube import KubeScheduler, parse_configuration

RESOURCES = {
    "Node": "nodes",
    "Namespace": "namespaces",
    "Pod": "pods",
    "Service": "services",
    "ReplicaSet": "replicasets.apps",
    "PersistentVolume": "persistentvolumes",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "StorageClass": "storageclasses.storage.k8s.io",
    "PodDisruptionBudget": "poddisruptionbudgets.policy",
    "PriorityClass": "priorityclasses.scheduling.k8s.io",
    "ResourceClaim": "resourceclaims.resource.k8s.io",
    "ResourceSlice": "resourceslices.resource.k8s.io",
    "DeviceClass": "deviceclasses.resource.k8s.io",
    "DeviceTaintRule": "devicetaintrules.resource.k8s.io",
}
CLUSTER_SCOPED = (
    "Node",
    "Namespace",
    "PersistentVolume",
    "StorageClass",
    "PriorityClass",
    "ResourceSlice",
    "DeviceClass",
    "DeviceTaintRule",
)


class Lab:
    """One store, one clock, one scheduler once it is started."""

    def __init__(self, seed: int = 1) -> None:
        self.clock = VirtualClock()
        self.store = Store(self.clock, Streams(seed))
        self.store.register("pods", {"node": index_by_node()})
        self.rng = Random(seed)
        self.scheduler: KubeScheduler | None = None

    def start(self, config: Object | None = None, **options: Any) -> KubeScheduler:
        parsed = parse_configuration({**HEAD, **config}) if config is not None else None
        self.scheduler = KubeScheduler(self.store, self.clock, self.rng, config=parsed, **options)
        return self.scheduler

    def run(self, config: Object | None = None) -> None:
        """Let everything happen that is due."""
        if self.scheduler is None:
            self.start(config)
        self.clock.settle()

    # -- objects -----------------------------------------------------------------------------------------------------

    def put(self, obj: Object) -> Object:
        """Create any object."""
        metadata = obj["metadata"]
        if obj["kind"] not in CLUSTER_SCOPED:
            metadata = {"namespace": "default", **metadata}
        return self.store.create(RESOURCES[obj["kind"]], {**obj, "metadata": metadata})

    def node(self, name: str, gpus: int = 8, *, labels: Object | None = None, **fields: Any) -> Object:
        """A node with 8 CPUs, 32 GiB and some GPUs; `taints`, `unschedulable` and `allocatable` as given."""
        allocatable = {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
        allocatable |= fields.pop("allocatable", {})
        images = fields.pop("images", [])
        return self.put(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
                "spec": fields,
                "status": {"allocatable": allocatable, "images": images},
            }
        )

    def pod(self, name: str, requests: Object | None = None, *, labels: Object | None = None, **spec: Any) -> Object:
        """A pod of one container; the rest goes into its spec."""
        metadata = {"name": name, "namespace": spec.pop("namespace", "default"), "labels": labels or {}}
        if "owner" in spec:
            metadata["ownerReferences"] = [spec.pop("owner")]
        container = {"name": "main", "image": "img", "resources": {"requests": requests or {}}}
        spec = {"schedulerName": "default-scheduler", "containers": [container], **spec}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}
        return self.put(pod)

    def gpus(self, name: str, count: int, **spec: Any) -> Object:
        return self.pod(name, {"nvidia.com/gpu": str(count)}, **spec)

    # -- results -----------------------------------------------------------------------------------------------------

    def get(self, name: str) -> Object:
        return self.store.get("pods", "default", name)

    def node_of(self, name: str) -> str | None:
        return self.get(name)["spec"].get("nodeName")

    def condition(self, name: str) -> Object:
        conditions = self.get(name)["status"].get("conditions", [])
        return next((each for each in conditions if each["type"] == "PodScheduled"), {})

    def message(self, name: str) -> str:
        return self.condition(name).get("message", "")

    def events(self, name: str) -> list[Object]:
        return [each for each in self.store.list("events") if each["involvedObject"]["name"] == name]

    def finish(self, name: str, phase: str = "Succeeded") -> None:
        pod = self.get(name)
        self.store.patch_status("pods", "default", name, {**pod["status"], "phase": phase})

    def delete(self, name: str) -> None:
        self.store.delete("pods", "default", name)


HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


@pytest.fixture
def lab() -> Lab:
    return Lab()


@pytest.fixture(scope="session")
def new_lab() -> type[Lab]:
    """For tests that need many labs."""
    return Lab
