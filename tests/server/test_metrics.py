"""Resource metrics, as `kubectl top` asks for them."""

from __future__ import annotations

import orjson
import pytest

METRICS = "/apis/metrics.k8s.io/v1beta1"
PODS = "/api/v1/namespaces/default/pods"


def run_pod(face, name: str, node: str = "n1", containers: int = 1, **annotations: str) -> None:
    body = {
        "metadata": {
            "name": name,
            "labels": {"app": name},
            "annotations": {f"kwok.x-k8s.io/{key.replace('_', '-')}": value for key, value in annotations.items()},
        },
        "spec": {"nodeName": node, "containers": [{"name": f"c{n}", "image": "i"} for n in range(containers)]},
    }
    assert face.post(PODS, body).status == 201
    status = orjson.dumps({"status": {"phase": "Running"}})
    face.call("PATCH", f"{PODS}/{name}/status", status, content_type="application/merge-patch+json")


@pytest.fixture
def fleet(face):
    for name in ("n1", "n2"):
        assert face.post("/api/v1/nodes", {"metadata": {"name": name, "labels": {"zone": name}}}).status == 201
    run_pod(face, "plain", containers=2)
    run_pod(face, "busy", usage_cpu="250m", usage_memory="100Mi")
    face.post(PODS, {"metadata": {"name": "waiting"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    return face


def test_a_node_uses_what_its_running_pods_use(fleet):
    listed = fleet.get(f"{METRICS}/nodes").json
    assert listed["kind"] == "NodeMetricsList"
    assert {item["metadata"]["name"]: item["usage"] for item in listed["items"]} == {
        "n1": {"cpu": "252m", "memory": "102Mi"},
        "n2": {"cpu": "0", "memory": "0"},
    }
    one = fleet.get(f"{METRICS}/nodes/n1").json
    assert (one["kind"], one["usage"]) == ("NodeMetrics", {"cpu": "252m", "memory": "102Mi"})
    assert one["timestamp"] == "2026-01-01T00:00:00Z"
    assert one["window"]


def test_a_pod_tells_the_usage_of_each_container(fleet):
    pods = {item["metadata"]["name"]: item for item in fleet.get(f"{METRICS}/pods").json["items"]}
    assert set(pods) == {"plain", "busy"}
    assert pods["plain"]["containers"] == [
        {"name": name, "usage": {"cpu": "1m", "memory": "1Mi"}} for name in ("c0", "c1")
    ]
    assert pods["busy"]["containers"] == [{"name": "c0", "usage": {"cpu": "250m", "memory": "100Mi"}}]
    assert fleet.get(f"{METRICS}/namespaces/default/pods/busy").json["kind"] == "PodMetrics"


def test_selectors_choose_among_nodes_and_pods(fleet):
    nodes = fleet.get(f"{METRICS}/nodes?labelSelector=zone%3Dn2").json["items"]
    assert [item["metadata"]["name"] for item in nodes] == ["n2"]
    pods = fleet.get(f"{METRICS}/namespaces/default/pods?labelSelector=app%3Dbusy").json["items"]
    assert [item["metadata"]["name"] for item in pods] == ["busy"]


def test_what_does_not_run_has_no_metrics(fleet):
    for path in ("/nodes/nope", "/namespaces/default/pods/waiting", "/namespaces/default/pods/nope"):
        reply = fleet.get(METRICS + path)
        assert (reply.status, reply.json["details"]["group"]) == (404, "metrics.k8s.io")


def test_an_annotation_that_is_no_quantity_counts_as_none(fleet):
    run_pod(fleet, "odd", usage_cpu="lots")
    containers = fleet.get(f"{METRICS}/namespaces/default/pods/odd").json["containers"]
    assert containers[0]["usage"]["cpu"] == "1m"


def test_metrics_cannot_be_written(fleet):
    assert fleet.post(f"{METRICS}/nodes", {}).status == 405
    assert fleet.get(f"{METRICS}/nodes?watch=true").status == 405


def test_metrics_come_in_protobuf_too(fleet):
    for path in ("/nodes", "/nodes/n1", "/namespaces/default/pods"):
        reply = fleet.get(METRICS + path, accept="application/vnd.kubernetes.protobuf")
        assert (reply.status, reply.body[:4]) == (200, b"k8s\0")
