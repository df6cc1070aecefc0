"""A cluster with KAI, or with KAI but for its scheduler, whose part a test plays by writing bind requests."""

from __future__ import annotations

from typing import Any

from ghostfleet.api.options import WriteOptions
from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.controllers.kai import BIND_REQUESTS, KaiConfig, install_kinds
from ghostfleet.controllers.kai.bindrequests import bind_request
from ghostfleet.controllers.kai.part import KaiPart
from ghostfleet.core.clock import SECOND
from ghostfleet.core.manifests import load_documents
from ghostfleet.core.profile import load_profile


class KaiLab:
    """The cluster, with short words for what tests do to it."""

    def __init__(self, *without: str, profile: str = "instant", config: KaiConfig | None = None) -> None:
        parts = frozenset(("scheduler", *without))
        self.cluster = Cluster(config=ClusterConfig(nodes=2, gpus=4, profile=profile, without=parts))
        self.store, self.clock, self.api = self.cluster.store, self.cluster.clock, self.cluster.api
        install_kinds(self.store)
        self.clock.settle()
        self.part = KaiPart(self.api, load_profile(profile), config)
        self.clock.settle()

    @classmethod
    def scheduled(cls, *, nodes: int = 2, gpus: int = 4, profile: str = "instant", seed: int = 0) -> KaiLab:
        """A cluster on which KAI schedules."""
        config = ClusterConfig(nodes=nodes, gpus=gpus, profile=profile, schedulers=("kai",))
        return cls.of(Cluster(config=config, seed=seed))

    @classmethod
    def of(cls, cluster: Cluster) -> KaiLab:
        """A cluster that was made elsewhere."""
        lab = cls.__new__(cls)
        lab.cluster, lab.store, lab.clock, lab.api = cluster, cluster.store, cluster.clock, cluster.api
        lab.clock.settle()
        return lab

    def apply_one_by_one(self, manifests: str) -> None:
        """Create objects as kubectl does: what follows from one has happened before the next one comes."""
        for each in load_documents(manifests):
            self.apply(each.object)

    def queue(self, name: str, parent: str = "", gpus: float = 0, limit: float = -1) -> None:
        """A queue with so many GPUs of quota, and as much of everything else as there is."""
        free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
        resources = {"cpu": free, "memory": free, "gpu": {"quota": gpus, "limit": limit, "overQuotaWeight": 1}}
        spec = {"resources": resources, **({"parentQueue": parent} if parent else {})}
        self.apply({"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec})

    def running(self) -> list[str]:
        """The names of the pods that run, in order."""
        pods = self.store.list("pods")
        return sorted(each["metadata"]["name"] for each in pods if each["status"]["phase"] == "Running")

    def why(self, pod: str) -> str:
        """Why a pod waits, as its condition says."""
        conditions = self.get("pods", pod)["status"].get("conditions") or ()
        return next((each["message"] for each in conditions if each["type"] == "PodScheduled"), "")

    def apply(self, *manifests: str | dict[str, Any], namespace: str = "default") -> list[dict[str, Any]]:
        """Create objects as a client does."""
        made = []
        for manifest in manifests:
            objects = [manifest] if isinstance(manifest, dict) else [each.object for each in load_documents(manifest)]
            for obj in objects:
                group, _, version = obj["apiVersion"].rpartition("/")
                resource = self.api.registry.by_group_kind(group, obj["kind"])
                assert resource is not None, obj["kind"]
                where = obj["metadata"].get("namespace", namespace) if resource.namespaced else ""
                options = WriteOptions(manager="tests")
                made.append(self.api.create(resource, resource.versions[version], where, obj, options))
        self.clock.settle()
        return made

    def define(self, group: str, version: str, kind: str) -> None:
        """Serve a kind that holds anything."""
        plural = f"{kind.lower()}s"
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        versions = [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
        names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
        spec = {"group": group, "scope": "Namespaced", "names": names, "versions": versions}
        definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
        self.apply({**definition, "metadata": {"name": f"{plural}.{group}"}, "spec": spec})

    def pod(self, name: str, owner: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """A pod for KAI, of an owner or of its own."""
        metadata: dict[str, Any] = {"name": name}
        metadata |= {key: more[key] for key in ("labels", "annotations") if more.get(key)}
        if owner is not None:
            metadata["ownerReferences"] = [_reference(owner)]
        requests = more.get("requests", {"cpu": "1", "nvidia.com/gpu": "1"})
        limits = {key: value for key, value in requests.items() if "/" in key}
        container = {"name": "main", "image": "app", "resources": {"requests": requests, "limits": limits}}
        spec = {"schedulerName": "kai-scheduler", "containers": [container], **more.get("spec", {})}
        return self.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})[0]

    def owner(self, api_version: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
        """An owner of a custom kind."""
        metadata = {"name": name, **more.pop("metadata", {})}
        return self.apply({"apiVersion": api_version, "kind": kind, "metadata": metadata, **more})[0]

    def bind(self, pod: dict[str, Any] | str, node: str = "kwok-node-0", **more: Any) -> None:
        """Play the scheduler."""
        name = pod if isinstance(pod, str) else pod["metadata"]["name"]
        self.store.create(BIND_REQUESTS, bind_request(self.store.get("pods", "default", name), node, **more))
        self.clock.settle()

    def group(self, pod: dict[str, Any] | str) -> dict[str, Any]:
        """The pod group that a pod names."""
        name = pod if isinstance(pod, str) else pod["metadata"]["name"]
        annotations = self.get("pods", name)["metadata"].get("annotations", {})
        return self.get("podgroups.scheduling.run.ai", annotations["pod-group-name"])

    def get(self, resource: str, name: str) -> dict[str, Any]:
        found = self.store.find(resource, "default", name) or self.store.find(resource, "", name)
        assert found is not None, f"{resource} {name}"
        return found

    def advance(self, seconds: float) -> None:
        self.clock.advance(int(seconds * SECOND))

    def events(self, name: str) -> list[tuple[str, str]]:
        told = [each for each in self.store.list("events") if each["involvedObject"]["name"] == name]
        told.sort(key=lambda each: int(each["metadata"]["resourceVersion"]))
        return [(each["reason"], each["message"]) for each in told]


def _reference(owner: dict[str, Any]) -> dict[str, Any]:
    named = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True, **named}
