"""What explain says of pods with claims: how many devices each request finds, and changes that were tried out."""

from __future__ import annotations

import pytest

from ghostfleet.cluster import Cluster, ClusterConfig, add_nodes
from ghostfleet.core.clock import SECOND
from ghostfleet.drive.embedded import Embedded
from ghostfleet.drive.interface import PODS, Kind
from ghostfleet.lab.explain import explain_pod
from ghostfleet.stages.nodes import NodeShape

CLAIMS = Kind("resource.k8s.io", "v1", "resourceclaims")
RULES = Kind("resource.k8s.io", "v1beta2", "devicetaintrules", namespaced=False)


def claim(name="gpus", count=1, *, selectors=(), **devices):
    exactly = {"deviceClassName": "gpu.example.com", "count": count}
    exactly["selectors"] = [{"cel": {"expression": each}} for each in selectors]
    requests = [{"name": "gpu", "exactly": exactly}]
    spec = {"devices": {"requests": requests, **devices}}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


def pod(name, **spec):
    containers = [{"name": "main", "image": "i", **spec.pop("container", {})}]
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"containers": containers, **spec}}


class Lab:
    """A cluster whose nodes have two devices each."""

    def __init__(self, nodes=2):
        self.assembled = Cluster(config=ClusterConfig())
        add_nodes(self.assembled, NodeShape(count=nodes, gpus=2, dra="example", fake_taint=False))
        self.assembled.clock.advance(10 * SECOND)
        self.cluster = Embedded(self.assembled)

    def make(self, kind, *objects):
        for each in objects:
            self.cluster.run(self.cluster.create(kind, each))
        self.assembled.clock.advance(SECOND)

    def with_claim(self, name, made):
        self.make(CLAIMS, made)
        self.make(PODS, pod(name, resourceClaims=[{"name": "gpu", "resourceClaimName": made["metadata"]["name"]}]))

    def explained(self, name):
        return self.cluster.run(explain_pod(self.cluster, "default", name))

    def changes(self, name):
        return [remedy.change for remedy in self.explained(name).remedies]


@pytest.fixture
def lab():
    return Lab()


def test_a_claim_for_more_than_a_node_has_is_told_to_ask_for_less(lab):
    lab.with_claim("p", claim(count=3))
    why = lab.explained("p")
    [found] = why.devices
    assert (found.count, found.matching, found.free, found.most) == (3, 4, 4, 2)
    [remedy] = why.remedies
    assert remedy.change == "ask for 2 instead of 3 devices in request gpu of claim default/gpus"
    assert remedy.node.startswith("kwok-node-")


def test_a_selector_that_nothing_matches_is_named(lab):
    index = "device.attributes['gpu.example.com'].index"
    lab.with_claim("p", claim(selectors=[f"{index} == 0", f"{index} >= 7"]))
    assert lab.changes("p") == [f"drop the selector {index} >= 7 from request gpu of claim default/gpus"]


def test_a_constraint_that_cannot_be_met_is_named(lab):
    constraint = {"matchAttribute": "gpu.example.com/uuid"}
    lab.with_claim("p", claim(count=2, constraints=[constraint]))
    said = "drop the constraint matchAttribute gpu.example.com/uuid from claim default/gpus"
    assert said in lab.changes("p")


def test_a_taint_of_devices_is_named_with_what_would_tolerate_it(lab):
    spec = {"deviceSelector": {"driver": "gpu.example.com"}, "taint": {"key": "hot", "effect": "NoSchedule"}}
    lab.make(RULES, {"metadata": {"name": "all"}, "spec": spec})
    lab.with_claim("p", claim())
    assert lab.changes("p") == ["tolerate the taint hot:NoSchedule of devices in request gpu of claim default/gpus"]


def test_where_all_devices_are_held_one_more_node_with_devices_helps(lab):
    for number in range(2):
        lab.with_claim(f"holder-{number}", claim(f"held-{number}", 2))
    lab.with_claim("p", claim("more"))
    assert lab.changes("p") == ["add one more node like kwok-node-0"]


def test_a_pod_with_extended_resources_is_told_to_ask_for_less(lab):
    resource = "deviceclass.resource.kubernetes.io/gpu.example.com"
    lab.make(PODS, pod("p", container={"resources": {"limits": {resource: "3"}, "requests": {resource: "3"}}}))
    said = f"ask for 2 instead of 3 {resource} (the most devices that are free on one node)"
    assert lab.changes("p") == [said]


def test_each_remedy_for_a_claim_really_places_the_pod(lab):
    index = "device.attributes['gpu.example.com'].index"
    lab.with_claim("p", claim(count=3))
    lab.with_claim("q", claim("other", selectors=[f"{index} >= 7"]))
    assert lab.changes("p")
    assert lab.changes("q")
    lab.with_claim("p-changed", claim("p-changed", 2))
    lab.with_claim("q-changed", claim("q-changed"))
    pods = {each["metadata"]["name"]: each for each in lab.assembled.store.list("pods")}
    assert all(pods[name]["spec"].get("nodeName") for name in ("p-changed", "q-changed"))


def test_explaining_changes_no_claim(lab):
    lab.with_claim("p", claim(count=3))
    before = lab.assembled.store.revision
    first, second = lab.explained("p"), lab.explained("p")
    assert lab.assembled.store.revision == before
    assert first == second
