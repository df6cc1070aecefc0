"""Pods with volumes, on a cluster that KAI schedules."""

from __future__ import annotations

from typing import Any

import pytest

from support.kai_lab import KaiLab

LABEL, ZONE = "kai.scheduler/queue", "topology.kubernetes.io/zone"


@pytest.fixture
def kai() -> KaiLab:
    lab = KaiLab.scheduled(nodes=2, gpus=4)
    lab.queue("vision", gpus=8)
    for number in range(2):
        node = lab.get("nodes", f"kwok-node-{number}")
        labels = {**node["metadata"]["labels"], ZONE: f"zone-{number}"}
        lab.store.update("nodes", {**node, "metadata": {**node["metadata"], "labels": labels}})
    return lab


def storage_class(kai: KaiLab, name: str, mode: str, zone: str = "") -> None:
    about = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": [zone]}]}]
    more: dict[str, Any] = {"allowedTopologies": allowed} if zone else {}
    kai.apply({**about, "provisioner": "kubernetes.io/fake", "volumeBindingMode": mode, **more})


def claim(kai: KaiLab, name: str, of: str) -> None:
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": of, "resources": resources}
    kai.apply({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec})


def pod(kai: KaiLab, name: str, claimed: str) -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claimed}}]
    kai.pod(name, labels={LABEL: "vision"}, spec={"volumes": volumes})


def node_of(kai: KaiLab, name: str) -> str | None:
    return kai.get("pods", name)["spec"].get("nodeName")


def test_a_pod_goes_where_the_class_of_its_claim_allows_a_volume(kai: KaiLab) -> None:
    storage_class(kai, "far", "WaitForFirstConsumer", "zone-1")
    claim(kai, "data", "far")
    pod(kai, "p", "data")
    kai.advance(30)
    assert kai.running() == ["p"]
    assert node_of(kai, "p") == "kwok-node-1"


def test_a_pod_goes_where_its_volume_is(kai: KaiLab) -> None:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone-1"]}]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "hostPath": {"path": "/data"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    kai.apply({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "disk"}, "spec": spec})
    claim(kai, "data", "")
    kai.advance(10)
    pod(kai, "p", "data")
    kai.advance(10)
    assert node_of(kai, "p") == "kwok-node-1"
    closed = kai.get("nodes", "kwok-node-1")
    kai.store.update("nodes", {**closed, "spec": {**closed["spec"], "unschedulable": True}})
    pod(kai, "q", "data")
    kai.advance(10)
    assert node_of(kai, "q") is None
    assert "1 node(s) didn't match PersistentVolume's node affinity" in kai.why("q")


def test_a_claim_that_is_missing_or_not_bound_yet_is_waited_for(kai: KaiLab) -> None:
    pod(kai, "p", "data")
    kai.advance(10)
    assert kai.why("p") == 'persistentvolumeclaim "data" not found'
    claim(kai, "data", "later")
    kai.advance(10)
    assert kai.why("p") == "pod has unbound immediate PersistentVolumeClaims"
    storage_class(kai, "later", "Immediate")
    kai.advance(60)
    assert kai.running() == ["p"]
