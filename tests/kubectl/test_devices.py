"""kubectl on a fleet with DRA devices: pods get them by claims, and wait while there are none."""

from __future__ import annotations

import json

import pytest

pytestmark = [pytest.mark.kubectl, pytest.mark.devices]

TEMPLATE = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}
"""


def _pods(count: int) -> str:
    container = {"name": "main", "image": "train", "resources": {"claims": [{"name": "gpu"}]}}
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    spec = {"containers": [container], "resourceClaims": claims, "terminationGracePeriodSeconds": 0}
    pods = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}"}, "spec": spec} for number in range(count)
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})


def test_the_driver_publishes_slices_and_classes(kubectl):
    assert kubectl("get", "deviceclasses", "-o", "name").split() == [
        "deviceclass.resource.k8s.io/gpu.nvidia.com",
        "deviceclass.resource.k8s.io/mig.nvidia.com",
    ]
    slices = kubectl.json("get", "resourceslices")["items"]
    assert {each["spec"]["nodeName"] for each in slices} == {f"kwok-node-{number}" for number in range(4)}
    assert all(each["metadata"]["ownerReferences"][0]["kind"] == "Node" for each in slices)
    assert "nvidia.com/gpu" not in kubectl.json("get", "node", "kwok-node-0")["status"]["capacity"]


def test_pods_get_gpus_until_none_is_left_and_one_that_goes_lets_the_next_in(kubectl):
    kubectl.apply(TEMPLATE)
    kubectl.apply(_pods(33))
    kubectl("wait", "--for=condition=Ready", "pod/p31", "--timeout=60s")
    kubectl("wait", "--for=condition=PodScheduled=false", "pod/p32", "--timeout=60s")
    pods = kubectl.json("get", "pods")["items"]
    assert sum(pod["status"]["phase"] == "Running" for pod in pods) == 32
    last = kubectl.json("get", "pod", "p32")
    assert last["status"]["conditions"][0]["message"] == (
        "0/4 nodes are available: 4 cannot allocate all claims. still not schedulable, preemption: 0/4 nodes are "
        "available: 4 Preemption is not helpful for scheduling."
    )
    claims = kubectl.json("get", "resourceclaims")["items"]
    held = [
        (result["pool"], result["device"])
        for claim in claims
        for result in claim["status"].get("allocation", {"devices": {"results": []}})["devices"]["results"]
    ]
    assert len(held) == len(set(held)) == 32
    kubectl("delete", "pod", "p5")
    kubectl("wait", "--for=condition=Ready", "pod/p32", "--timeout=60s")
    kubectl("delete", "pods", "--all")
    kubectl.wait_until_gone("resourceclaims")
