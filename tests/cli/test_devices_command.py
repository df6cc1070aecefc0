"""`ghostfleet devices`, and devices of nodes that are added, tainted and fail, as users run it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.fleet
TEMPLATES = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates"


class Api:
    """Plain requests to the cluster `default`."""

    def __init__(self, ghostfleet: Any) -> None:
        from ghostfleet.drive.access import Access
        from ghostfleet.drive.connection import Connection

        self.connection = Connection(Access(ghostfleet.directory("default") / "kubeconfig"))

    def pod(self, name: str) -> None:
        claims = [{"name": "gpu", "resourceClaimTemplateName": "gpus"}]
        spec = {"containers": [{"name": "main", "image": "train"}], "resourceClaims": claims}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        self.connection.create("/api/v1/namespaces/default/pods", pod)

    def template(self, device_class: str) -> None:
        request = {"name": "gpu", "exactly": {"deviceClassName": device_class}}
        made = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "gpus"}}
        self.connection.create(TEMPLATES, {**made, "spec": {"spec": {"devices": {"requests": [request]}}}})

    def wait_until(self, pod: str, phase: str, message: str = "") -> None:
        while True:
            status = self.connection.get(f"/api/v1/namespaces/default/pods/{pod}")["status"]
            told = " ".join(each.get("message", "") for each in status.get("conditions") or ())
            if status["phase"] == phase and message in told:
                return

    def wait_until_gone(self, pod: str) -> None:
        while any(each["metadata"]["name"] == pod for each in self.connection.items("/api/v1/namespaces/default/pods")):
            pass


@pytest.fixture
def api(ghostfleet: Any) -> Iterator[Api]:
    ghostfleet("up", "-d", "-q")
    found = Api(ghostfleet)
    yield found
    found.connection.close()


def test_devices_come_with_nodes_are_held_tainted_and_fail(api, here):
    assert "No devices." in here("devices")
    here("nodes", "add", "--dra", "example", "--gpus", "2", "-q")
    listed = json.loads(here("devices", "-o", "json"))
    assert [(each["node"], each["device"], each["state"]) for each in listed] == [
        ("kwok-node-0", "gpu-0", "free"),
        ("kwok-node-0", "gpu-1", "free"),
    ]
    assert here("nodes", "taint-device", "kwok-node-0", "gpu-0") == "Device gpu-0 of kwok-node-0 is tainted.\n"
    api.template("gpu.example.com")
    api.pod("a")
    api.wait_until("a", "Running")
    api.pod("b")
    api.wait_until("b", "Pending", "1 cannot allocate all claims")
    rows = json.loads(here("devices", "-o", "json"))
    assert [(each["device"], each["state"], each["pods"]) for each in rows] == [
        ("gpu-0", "tainted", []),
        ("gpu-1", "held", ["default/a"]),
    ]
    assert "gpu-1    gpu.example.com   held" in here("devices", "--held")
    here("nodes", "taint-device", "kwok-node-0", "gpu-0", "--remove", "-q")
    api.wait_until("b", "Running")
    slices = api.connection.items("/apis/resource.k8s.io/v1/resourceslices")
    assert slices[0]["spec"]["pool"]["generation"] == 3
    api.pod("c")
    api.wait_until("c", "Pending", "cannot allocate all claims")
    said = here("explain", "pod/c")
    assert "1 of 1 nodes refuse it: cannot allocate all claims" in said
    assert "request gpu of claim default/c-gpu-" in said
    assert "asks for 1 device of gpu.example.com; 2 match, 0 of them free" in said
    here("nodes", "scale", "--count", "2", "--dra", "example", "--gpus", "1", "-q")
    api.wait_until("c", "Running")
    here("nodes", "fail-device", "kwok-node-1", "gpu-0", "-q")
    assert [each["node"] for each in json.loads(here("devices", "-o", "json"))] == ["kwok-node-0"] * 2
    here("nodes", "remove", "kwok-node-1", "-q")
    assert len(api.connection.items("/apis/resource.k8s.io/v1/resourceslices")) == 1
    here("nodes", "taint-device", "kwok-node-0", "gpu-1", "--rule", "--taint", "broken:NoExecute", "-q")
    api.wait_until_gone("a")
    states = {each["device"]: each["state"] for each in json.loads(here("devices", "-o", "json"))}
    assert states == {"gpu-0": "held", "gpu-1": "tainted"}
    here("nodes", "taint-device", "kwok-node-0", "gpu-1", "--rule", "--remove", "-q")
    assert not api.connection.items("/apis/resource.k8s.io/v1beta2/devicetaintrules")


def test_wrong_devices_and_profiles_exit_2(ghostfleet, here):
    said = "no DRA profile 'none': expected example, kwok, nvidia, or a file (No such file or directory)"
    assert said in ghostfleet("up", "--dra", "none", code=2)
    ghostfleet("up", "-d", "-q", "--nodes", "1", "--dra", "kwok", "--gpus", "1")
    assert said in here("nodes", "add", "--dra", "none", code=2)
    assert "the node kwok-node-0 has no device gpu-9; it has gpu0" in here(
        "nodes", "fail-device", "kwok-node-0", "gpu-9", code=2
    )
    assert "no ResourceSlice is for a node x" in here("nodes", "fail-device", "x", "gpu0", code=2)
    assert "devices know the effects NoSchedule and NoExecute only" in here(
        "nodes", "taint-device", "kwok-node-0", "gpu0", "--taint", "a:PreferNoSchedule", code=2
    )
