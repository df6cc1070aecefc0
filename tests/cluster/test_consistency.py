"""The check of a cluster's state notices what does not agree."""

from __future__ import annotations

from typing import Any

import pytest

from ghostfleet.api.options import WriteOptions
from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.core.quantity import ZERO
from ghostfleet.schedulers.dra import DeviceID
from ghostfleet.schedulers.kube.plugins.devices import DeviceManager
from support.consistency import validate_state


@pytest.fixture
def cluster() -> Cluster:
    """One node, a pod with a claim on it, and a quota that counts it."""
    made = Cluster(config=ClusterConfig(nodes=1, gpus=2, dra="example"))
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "spec": {"devices": {"requests": requests}}}
    create(made, "resourceclaims.resource.k8s.io", claim)
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {"pods": "5"}}}
    create(made, "resourcequotas", quota)
    main = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [main], "resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}]}
    create(made, "pods", {"apiVersion": "v1", "kind": "Pod", "spec": spec})
    assert made.store.get("pods", "default", "one")["spec"]["nodeName"]
    return made


def create(cluster: Cluster, key: str, obj: dict[str, Any]) -> None:
    resource = cluster.registry.by_key(key)
    assert resource is not None
    named = {**obj, "metadata": {"name": "one"}}
    cluster.api.create(resource, resource.storage, "default", named, WriteOptions())
    cluster.clock.settle()


def test_a_node_that_counts_what_no_pod_takes(cluster):
    used = cluster._schedulers[0].snapshot.nodes.used[0]
    used[0] += 1
    with pytest.raises(AssertionError, match="the snapshot's kwok-node-0"):
        validate_state(cluster)
    used[0] -= 1


def test_a_device_that_no_claim_holds(cluster):
    held = cluster._schedulers[0].snapshot.index(DeviceManager).allocated.devices
    held.add(DeviceID("gpu.example.com", "kwok-node-0", "gpu-9"))
    with pytest.raises(AssertionError, match="allocated devices"):
        validate_state(cluster)
    held.remove(DeviceID("gpu.example.com", "kwok-node-0", "gpu-9"))


def test_a_quota_that_counts_what_is_not_there(cluster):
    (counted,) = (each._used for each in cluster._workloads._controllers if type(each).__name__ == "QuotaController")
    before = counted["default"]["one"]["pods"]
    counted["default"]["one"]["pods"] = ZERO
    with pytest.raises(AssertionError, match="quota default/one"):
        validate_state(cluster)
    counted["default"]["one"]["pods"] = before
