"""What becomes of bind requests."""

from __future__ import annotations

import pytest

from ghostfleet.controllers.kai import BIND_REQUESTS
from ghostfleet.controllers.kai.bindrequests import bind_request, is_failed
from support.kai_lab import KaiLab

RESERVATION = "kai-resource-reservation"
FRACTION = {"annotations": {"gpu-fraction": "0.5"}, "requests": {"cpu": "1"}}
ON_NODE = "kwok-node-0"


def request(kai, name):
    return kai.get(BIND_REQUESTS, name)


def condition(kai, name):
    conditions = kai.get("pods", name)["status"]["conditions"]
    found = next(each for each in conditions if each["type"] == "PodBound")
    return found["status"], found["reason"], found["message"]


def reservations(kai):
    return kai.store.list("pods", RESERVATION)


def share(kai, name, *groups, **more):
    kai.bind(name, received_type="Fraction", gpu_groups=list(groups), portion=0.5, **more)


def test_a_pod_is_bound_as_its_request_says(kai):
    kai.pod("p")
    kai.bind("p", gpus=1)
    pod = kai.get("pods", "p")
    assert pod["spec"]["nodeName"] == ON_NODE
    assert pod["metadata"]["annotations"]["received-resource-type"] == "Regular"
    assert request(kai, "p")["status"] == {"phase": "Succeeded"}
    said = f"Pod bound successfully to node {ON_NODE}"
    assert condition(kai, "p") == ("True", "Bound", said)
    assert ("Bound", said) in kai.events("p")
    kai.advance(5)
    assert kai.get("pods", "p")["status"]["phase"] == "Running"


def test_a_request_looks_as_the_scheduler_writes_it(kai):
    pod = kai.pod("p")
    made = bind_request(pod, "n", received_type="Fraction", gpus=1, portion=0.5, gpu_groups=["g"])
    assert made["metadata"]["labels"] == {"pod-name": "p", "selected-node": "n"}
    assert made["metadata"]["ownerReferences"][0]["uid"] == pod["metadata"]["uid"]
    assert made["spec"] == {
        "podName": "p",
        "selectedNode": "n",
        "receivedResourceType": "Fraction",
        "receivedGPU": {"count": 1, "portion": "0.50"},
        "selectedGPUGroups": ["g"],
    }


def test_a_request_goes_with_its_pod(kai):
    kai.pod("p")
    kai.bind("p")
    kai.store.delete("pods", "default", "p")
    kai.clock.settle()
    assert not kai.store.count(BIND_REQUESTS)


def test_a_pod_that_is_bound_already_is_fine(still):
    still.pod("p", spec={"nodeName": "kwok-node-1"})
    still.bind("p")
    assert request(still, "p")["status"] == {"phase": "Succeeded"}
    assert still.get("pods", "p")["spec"]["nodeName"] == "kwok-node-1"


def test_a_node_that_is_not_there_is_a_failure_that_is_told(still):
    still.pod("p")
    still.bind("p", "nowhere")
    assert request(still, "p")["status"] == {"phase": "Failed", "reason": 'Node "nowhere" not found'}
    said = 'Failed to bind pod default/p to node nowhere: Node "nowhere" not found'
    assert condition(still, "p") == ("False", "BindingError", said)
    assert ("BindingError", said) in still.events("p")
    assert is_failed(request(still, "p"))


def test_a_pod_that_is_not_there_is_a_failure(still):
    pod = still.pod("p")
    wanted = bind_request(pod, ON_NODE)
    wanted["spec"]["podName"] = "other"
    still.store.create(BIND_REQUESTS, wanted)
    still.clock.settle()
    assert request(still, "p")["status"]["reason"] == 'Pod "other" not found'


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_a_request_is_tried_again_as_often_as_it_says_later_each_time(still, limit):
    still.pod("p")
    still.bind("p", "nowhere", backoff_limit=limit)
    seen = []
    for _ in range(10):
        seen.append(request(still, "p")["status"].get("failedAttempts", 0))
        still.advance(1)
    assert seen == {0: [0] * 10, 1: [1] * 10, 3: [1, 2, 2, 3, 3, 3, 3, 3, 3, 3]}[limit]
    assert is_failed(request(still, "p"))


def test_a_retry_may_succeed(still):
    still.pod("p")
    still.bind("p", "late", backoff_limit=5)
    node = still.get("nodes", ON_NODE)
    still.store.create("nodes", {**node, "metadata": {"name": "late"}})
    still.advance(1)
    assert request(still, "p")["status"]["phase"] == "Succeeded"
    assert still.get("pods", "p")["spec"]["nodeName"] == "late"


def test_a_gated_pod_is_not_bound(still):
    still.pod("p", spec={"schedulingGates": [{"name": "hold"}]})
    still.bind("p")
    assert request(still, "p")["status"]["phase"] == "Failed"
    assert "schedulingGates" in request(still, "p")["status"]["reason"]


# -- fractions -----------------------------------------------------------------------------------------------------------


def test_a_fraction_has_its_gpu_held_by_a_reservation_pod(kai):
    kai.pod("p", **FRACTION)
    share(kai, "p", "group-a")
    kai.advance(5)
    (held,) = reservations(kai)
    assert held["metadata"]["name"].startswith(f"gpu-reservation-{ON_NODE}-")
    assert held["metadata"]["labels"] == {"app": RESERVATION, "runai-gpu-group": "group-a"}
    assert held["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"] == "true"
    assert held["metadata"]["annotations"]["run.ai/reserve_for_gpu_index"].startswith("GPU-")
    assert held["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    pod = kai.get("pods", "p")
    assert pod["spec"]["nodeName"] == held["spec"]["nodeName"] == ON_NODE
    assert pod["metadata"]["labels"]["runai-gpu-group"] == "group-a"
    assert pod["metadata"]["annotations"]["received-resource-type"] == "Fraction"


def test_pods_of_one_group_share_a_reservation_and_others_have_another_device(kai):
    for name, group in (("a", "g1"), ("b", "g1"), ("c", "g2")):
        kai.pod(name, **FRACTION)
        share(kai, name, group)
    kai.advance(5)
    held = {
        each["metadata"]["labels"]["runai-gpu-group"]: each["metadata"]["annotations"] for each in reservations(kai)
    }
    assert sorted(held) == ["g1", "g2"]
    assert len({each["run.ai/reserve_for_gpu_index"] for each in held.values()}) == 2
    assert {kai.get("pods", name)["spec"].get("nodeName") for name in "abc"} == {ON_NODE}


def test_the_reservation_goes_with_the_last_pod(kai):
    for name in ("a", "b"):
        kai.pod(name, **FRACTION)
        share(kai, name, "g")
    kai.advance(5)
    kai.store.delete("pods", "default", "a")
    kai.clock.settle()
    assert len(reservations(kai)) == 1
    current = kai.get("pods", "b")
    kai.store.patch_status("pods", "default", "b", {**current["status"], "phase": "Succeeded"})
    kai.clock.settle()
    assert not reservations(kai)


def test_a_pod_may_share_several_gpus(kai):
    notes = {"gpu-fraction": "0.5", "gpu-fraction-num-devices": "2"}
    kai.pod("p", annotations=notes, requests={"cpu": "1"})
    share(kai, "p", "g1", "g2", gpus=2)
    kai.advance(5)
    labels = kai.get("pods", "p")["metadata"]["labels"]
    assert labels == {"runai-gpu-group/g1": "g1", "runai-gpu-group/g2": "g2"}
    assert len(reservations(kai)) == 2
    kai.store.delete("pods", "default", "p")
    kai.clock.settle()
    assert not reservations(kai)


def test_a_reservation_that_never_runs_is_given_up(still):
    still.pod("p", **FRACTION)
    share(still, "p", "g")
    (held,) = reservations(still)
    still.advance(39)
    assert "status" not in request(still, "p")
    still.advance(2)
    name = held["metadata"]["name"]
    said = f"failed waiting for GPU reservation pod to allocate: {RESERVATION}/{name}"
    assert request(still, "p")["status"] == {"phase": "Failed", "reason": said}
    assert not reservations(still)


def test_a_request_that_is_withdrawn_leaves_no_reservation(still):
    still.pod("p", **FRACTION)
    share(still, "p", "g")
    assert len(reservations(still)) == 1
    still.store.delete(BIND_REQUESTS, "default", "p")
    still.clock.settle()
    assert not reservations(still)


def test_a_pod_that_runs_without_its_reservation_is_deleted(kai):
    for name in ("a", "b"):
        kai.pod(name, **FRACTION)
        share(kai, name, "g" if name == "a" else "h")
    kai.advance(5)
    held = next(each for each in reservations(kai) if each["metadata"]["labels"]["runai-gpu-group"] == "g")
    kai.store.delete("pods", RESERVATION, held["metadata"]["name"])
    kai.pod("next")
    kai.bind("next")
    kai.advance(40)
    names = [each["metadata"]["name"] for each in kai.store.list("pods", "default")]
    assert names == ["b", "next"]


def test_without_their_namespace_there_are_no_reservations(still):
    still.store.delete("namespaces", "", RESERVATION)
    still.pod("p", **FRACTION)
    share(still, "p", "g")
    assert request(still, "p")["status"]["reason"] == f'namespaces "{RESERVATION}" not found'


def test_a_request_without_a_spec_fails_and_others_go_on(still):
    still.apply({"apiVersion": "scheduling.run.ai/v1alpha2", "kind": "BindRequest", "metadata": {"name": "empty"}})
    still.pod("p")
    still.bind("p")
    assert request(still, "empty")["status"] == {"phase": "Failed", "reason": 'Pod "" not found'}
    assert request(still, "p")["status"] == {"phase": "Succeeded"}


def test_a_request_for_a_fraction_without_groups_is_removed(still):
    still.pod("p", **FRACTION)
    share(still, "p")
    assert not still.store.count(BIND_REQUESTS)


# -- claims --------------------------------------------------------------------------------------------------------------

CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: standard}
"""


def test_volumes_that_wait_for_their_consumer_are_bound_first(kai):
    kai.apply(CLAIM)
    kai.pod("p", spec={"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]})
    kai.bind("p")
    kai.advance(5)
    claim = kai.get("persistentvolumeclaims", "data")
    assert claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == ON_NODE
    assert claim["status"]["phase"] == "Bound"
    assert kai.get("pods", "p")["spec"]["nodeName"] == ON_NODE


def test_volumes_that_are_never_bound_are_given_up(still):
    still.apply(CLAIM)
    still.pod("p", spec={"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]})
    still.bind("p")
    still.advance(119)
    assert "status" not in request(still, "p")
    still.advance(2)
    assert request(still, "p")["status"]["phase"] == "Failed"


def test_devices_are_allotted_as_the_request_says(still):
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "gpu"}}
    exactly = {"deviceClassName": "gpu.example.com"}
    still.apply({**claim, "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}})
    pod = still.pod("p", spec={"resourceClaims": [{"name": "mine", "resourceClaimName": "gpu"}]})
    result = {"request": "r", "driver": "gpu.example.com", "pool": ON_NODE, "device": "gpu-0"}
    allocation = {"devices": {"results": [result]}}
    still.bind("p", claims=[{"name": "mine", "allocation": allocation}])
    status = still.get("resourceclaims.resource.k8s.io", "gpu")["status"]
    assert status["allocation"] == allocation
    assert status["reservedFor"] == [{"resource": "pods", "name": "p", "uid": pod["metadata"]["uid"]}]
    assert still.get("pods", "p")["spec"]["nodeName"] == ON_NODE


def test_a_device_claim_that_the_pod_does_not_have_is_a_failure(still):
    still.pod("p")
    still.bind("p", claims=[{"name": "mine", "allocation": {}}])
    assert request(still, "p")["status"]["reason"] == "claim mine from bind request not found in pod default/p"


# -- speed ---------------------------------------------------------------------------------------------------------------


def test_with_its_rate_limit_the_binder_binds_a_few_pods_a_second():
    lab = KaiLab("stages", "controllers", profile="kubernetes")
    for index in range(200):
        lab.pod(f"p{index}")
    lab.advance(60)
    began = lab.clock.now()
    for index in range(200):
        pod = lab.store.get("pods", "default", f"p{index}")
        lab.store.create(BIND_REQUESTS, bind_request(pod, ON_NODE))
    lab.advance(3)
    bound = sum("nodeName" in each["spec"] for each in lab.store.list("pods", "default"))
    assert 0 < bound < 200, "a burst of 100 requests, then 20 a second"
    lab.advance(60)
    assert all(each["status"] == {"phase": "Succeeded"} for each in lab.store.list(BIND_REQUESTS))
    assert lab.clock.now() > began
