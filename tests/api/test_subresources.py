"""Scale, binding, eviction, finalize and logs."""

from __future__ import annotations

import pytest

from ghostfleet.api.options import WriteOptions
from ghostfleet.core.errors import ApiError

POD = {"metadata": {"name": "p", "labels": {"app": "web"}}, "spec": {"containers": [{"name": "a", "image": "b"}]}}
RUNNING = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def post(lab, subresource, body, name="p"):
    resource, version = lab.at("pods")
    options = WriteOptions(manager="tests")
    answer = lab.api.create(resource, version, "default", body, options, name=name, subresource=subresource)
    lab.clock.settle()
    return answer


@pytest.fixture
def replicaset(lab):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
    selector = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}
    spec = {"replicas": 3, "selector": selector, "template": template}
    return lab.create("replicasets.apps", {"metadata": {"name": "rs"}, "spec": spec})


def test_a_scale_shows_and_sets_replicas(lab, replicaset):
    resource, version = lab.at("replicasets.apps")
    scale = lab.api.get(resource, version, "default", "rs", "scale")
    assert scale["kind"] == "Scale"
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"]["selector"] == "a=b,!x"
    lab.patch("replicasets.apps", "rs", {"spec": {"replicas": 5}}, subresource="scale")
    assert lab.get("replicasets.apps", "rs")["spec"]["replicas"] == 5
    with pytest.raises(ApiError, match="must be greater than or equal to 0"):
        lab.patch("replicasets.apps", "rs", {"spec": {"replicas": -1}}, subresource="scale")
    patch = {"metadata": {"resourceVersion": "1"}, "spec": {"replicas": 2}}
    with pytest.raises(ApiError, match="the object has been modified"):
        lab.patch("replicasets.apps", "rs", patch, subresource="scale")


def test_a_binding_gives_a_pod_to_a_node_once(lab):
    lab.create("pods", POD)
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": "n1"},
    }
    assert post(lab, "binding", binding)["status"] == "Success"
    pod = lab.get("pods", "p")
    assert pod["spec"]["nodeName"] == "n1"
    assert [each["status"] for each in pod["status"]["conditions"] if each["type"] == "PodScheduled"] == ["True"]
    with pytest.raises(ApiError, match='pod p is already assigned to node "n1"') as caught:
        post(lab, "binding", binding)
    assert caught.value.code == 409


@pytest.mark.parametrize("body", [{}, {"target": {}}, {"target": {"kind": "Pod", "name": "x"}}, {"target": 5}])
def test_a_binding_to_nothing_is_invalid(lab, body):
    lab.create("pods", POD)
    with pytest.raises(ApiError) as caught:
        post(lab, "binding", {"metadata": {"name": "p"}, **body})
    assert caught.value.code == 422


@pytest.mark.parametrize("body", [{}, [], {"metadata": {"name": "q"}}, {"metadata": 5}])
@pytest.mark.parametrize("subresource", ["binding", "eviction"])
def test_a_binding_or_eviction_names_its_pod(lab, subresource, body):
    lab.create("pods", POD)
    with pytest.raises(ApiError, match="name in URL does not match name in") as caught:
        post(lab, subresource, body)
    assert caught.value.code == 400


def test_a_gated_or_ending_pod_cannot_be_bound(lab):
    lab.create("pods", {**POD, "spec": {**POD["spec"], "schedulingGates": [{"name": "example.com/wait"}]}})
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}
    with pytest.raises(ApiError, match="non-empty .spec.schedulingGates"):
        post(lab, "binding", binding)
    held = {**POD, "metadata": {"name": "q", "finalizers": ["example.com/hold"]}}
    lab.create("pods", held)
    lab.delete("pods", "q")
    with pytest.raises(ApiError, match="is being deleted"):
        post(lab, "binding", {**binding, "metadata": {"name": "q"}}, "q")


def test_an_eviction_without_a_budget_deletes(lab):
    lab.create("pods", POD)
    assert post(lab, "eviction", {"metadata": {"name": "p"}})["status"] == "Success"
    assert lab.names("pods") == []


def test_an_eviction_spends_the_budget_and_then_is_refused(lab):
    for name in ("p", "q"):
        lab.create("pods", {**POD, "metadata": {**POD["metadata"], "name": name}})
        lab.store.patch_status("pods", "default", name, RUNNING)
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}
    lab.create("poddisruptionbudgets.policy", budget)
    with pytest.raises(ApiError, match="would violate the pod's disruption budget") as caught:
        post(lab, "eviction", {"metadata": {"name": "p"}})
    assert "still being processed" in caught.value.details["causes"][0]["message"]
    status = {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2}
    status["observedGeneration"] = 1
    lab.store.patch_status("poddisruptionbudgets.policy", "default", "b", status)
    post(lab, "eviction", {"metadata": {"name": "p"}})
    assert lab.names("pods") == ["q"]
    lab.store.patch_status("poddisruptionbudgets.policy", "default", "b", {**status, "disruptionsAllowed": 0})
    with pytest.raises(ApiError, match="would violate the pod's disruption budget") as caught:
        post(lab, "eviction", {"metadata": {"name": "q"}}, "q")
    assert caught.value.code == 429
    assert "needs 1 healthy pods" in caught.value.details["causes"][0]["message"]


def test_a_namespace_without_finalizers_is_let_go(lab):
    lab.create("namespaces", {"metadata": {"name": "team"}})
    lab.create("configmaps", {"metadata": {"name": "c", "finalizers": ["example.com/hold"]}}, "team")
    lab.delete("namespaces", "team")
    resource, version = lab.at("namespaces")
    body = {**lab.get("namespaces", "team"), "spec": {}}
    lab.api.update(resource, version, "", "team", body, WriteOptions(), "finalize")
    assert "team" not in lab.names("namespaces")


def test_logs_tell_the_times_of_a_container(lab):
    lab.create("pods", POD)
    assert lab.api.logs("default", "p") == ""
    ended = {"startedAt": "2026-01-01T00:00:01Z", "finishedAt": "2026-01-01T00:00:09Z", "exitCode": 3}
    status = {"name": "a", "state": {"terminated": ended}}
    lab.store.patch_status("pods", "default", "p", {"phase": "Failed", "containerStatuses": [status]})
    told = lab.api.logs("default", "p")
    assert "2026-01-01T00:00:01Z a started" in told
    assert "exited with code 3" in told
    assert lab.api.logs("default", "p", tail=1).count("\n") == 1
    with pytest.raises(ApiError, match="container nope is not valid for pod p"):
        lab.api.logs("default", "p", container="nope")
    with pytest.raises(ApiError, match="previous terminated container"):
        lab.api.logs("default", "p", previous=True)


def test_logs_of_a_pod_with_several_containers_need_a_name(lab):
    two = [{"name": "a", "image": "b"}, {"name": "c", "image": "d"}]
    lab.create("pods", {"metadata": {"name": "p"}, "spec": {"containers": two}})
    with pytest.raises(ApiError, match=r"choose one of: \[a c\]"):
        lab.api.logs("default", "p")
