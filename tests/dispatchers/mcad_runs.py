"""Clusters with a dispatcher, for tests: wrappers as users write them, and the stress test of July 2023."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ghostfleet.api.options import DeleteOptions, WriteOptions
from ghostfleet.cluster import Cluster, ClusterConfig, add_nodes
from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.stages.nodes import NodeShape

#: Stages with the delays of that test: created after 0.1 to 0.5 s, ready after 10 to 11 s, complete 10 to 11 s later.
STAGES = Path(__file__).parents[2] / "examples" / "03-kwok-stages" / "kwok.yaml"
APPWRAPPERS = "appwrappers.workload.codeflare.dev"
Object = dict[str, Any]


class Lab:
    """A cluster on a virtual clock, and the verbs that a user has."""

    def __init__(
        self,
        dispatcher: str,
        nodes: int = 2,
        gpus: int = 8,
        *,
        stages: str = "fast",
        profile: str = "instant",
        cpu: str = "32",
        seed: int = 0,
    ) -> None:
        self.clock = VirtualClock()
        self.cluster = Cluster(
            self.clock, ClusterConfig(profile=profile, stages=(stages,), dispatcher=dispatcher), seed=seed
        )
        if nodes:
            self.add_nodes(nodes, gpus, cpu=cpu)
        self.advance(2)

    @property
    def controller(self) -> Any:
        return self.cluster.dispatcher.controller

    def add_nodes(self, count: int, gpus: int, *, first: int = 1, cpu: str = "32", **shape: Any) -> None:
        add_nodes(self.cluster, NodeShape(count=count, first=first, gpus=gpus, cpu=cpu, **shape))

    def advance(self, seconds: float) -> None:
        self.clock.advance(int(seconds * SECOND))

    def submit(self, obj: Object) -> Object:
        """Create an object of any kind, in its namespace or in `default`."""
        found = self.cluster.registry.of_kind(obj["apiVersion"], obj["kind"])
        assert found is not None, f"{obj['apiVersion']} {obj['kind']} is not served"
        resource, version = found
        namespace = obj["metadata"].get("namespace", "default") if resource.namespaced else ""
        return self.cluster.api.create(resource, version, namespace, obj, WriteOptions())

    def get(self, name: str, namespace: str = "default") -> Object:
        return self.cluster.store.get(APPWRAPPERS, namespace, name)

    def status(self, name: str, namespace: str = "default") -> Object:
        return self.get(name, namespace).get("status") or {}

    def state(self, name: str, namespace: str = "default") -> str:
        return self.status(name, namespace).get("state", "")

    def conditions(self, name: str, namespace: str = "default") -> list[str]:
        return [each["type"] for each in self.status(name, namespace).get("conditions", ())]

    def delete(self, name: str, key: str = APPWRAPPERS, namespace: str = "default") -> None:
        resource = self.cluster.registry.by_key(key)
        assert resource is not None
        self.cluster.api.delete(resource, resource.storage, namespace, name, DeleteOptions())

    def jobs(self) -> list[Object]:
        return self.cluster.store.list("jobs.batch")

    def pods(self, namespace: str = "default") -> list[Object]:
        return self.cluster.store.list("pods", namespace)

    def complete_jobs(self) -> int:
        return sum(bool(each["status"].get("completionTime")) for each in self.jobs())


def job(name: str, *, gpus: int = 0, parallelism: int = 1, cpu: str = "10m", **spec: Any) -> Object:
    """A Job for fake nodes, which may ask for GPUs."""
    requests = {"cpu": cpu, "memory": "20M"}
    if gpus:
        requests["nvidia.com/gpu"] = str(gpus)
    container = {"name": "main", "image": "trainer", "resources": {"requests": requests, "limits": requests}}
    pod = {
        "restartPolicy": "Never",
        "nodeSelector": {"type": "kwok"},
        "tolerations": [{"key": "kwok.x-k8s.io/node", "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [container],
        **spec,
    }
    template = {"metadata": {"labels": {"app": name}}, "spec": pod}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"parallelism": parallelism, "completions": parallelism, "template": template},
    }


def custom(count: int, *, gpus: int = 0, cpu: str = "10m", memory: str = "10M") -> Object:
    return {"replicas": count, "requests": {"cpu": cpu, "memory": memory, "nvidia.com/gpu": gpus}}


def wrapper(
    name: str,
    *templates: Object,
    custompods: list[Object] | None = None,
    completion: str = "Complete",
    group: str = "workload.codeflare.dev",
    labels: dict[str, str] | None = None,
    namespace: str = "default",
    **spec: Any,
) -> Object:
    """An AppWrapper around objects."""
    items = []
    for template in templates:
        item: Object = {"replicas": 1, "generictemplate": template}
        if completion:
            item["completionstatus"] = completion
        if custompods:
            item["custompodresources"] = custompods
        items.append(item)
    return {
        "apiVersion": f"{group}/v1beta1",
        "kind": "AppWrapper",
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "spec": {"resources": {"GenericItems": items}, **spec},
    }


def subtree(name: str, tree: str, children: list[Object], parent: str = "") -> Object:
    spec: Object = {"children": children}
    if parent:
        spec["parent"] = parent
    return {
        "apiVersion": "quota.codeflare.dev/v1alpha1",
        "kind": "QuotaSubtree",
        "metadata": {"name": name, "namespace": "kube-system", "labels": {"tree": tree}},
        "spec": spec,
    }


def quota(name: str, gpus: int, *, hard: bool = False, cpu: str = "1000", memory: str = "1000Gi") -> Object:
    requests = {"cpu": cpu, "memory": memory, "nvidia.com/gpu": gpus}
    return {"name": name, "quotas": {"hardLimit": hard, "requests": requests}}


def stress(dispatcher: str, jobs: int, seed: int = 1, submission: float = 0.12, lead: float = 10) -> float:
    """Seconds until so many short Jobs are complete: applied one after the other, then looked at every second."""
    lab = Lab(dispatcher, 4, 0, stages=str(STAGES), profile="kubernetes", seed=seed)
    lab.advance(lead)
    began = lab.clock.now()
    for number in range(1, jobs + 1):
        lab.advance(submission)
        name = f"short-{number}"
        made = job(name, cpu="5m")
        lab.submit(wrapper(name, made, group="mcad.ibm.com") if dispatcher else made)
    while lab.complete_jobs() < jobs:
        lab.advance(1)
    return (lab.clock.now() - began) / SECOND
