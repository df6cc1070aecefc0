"""Preparation: generations, statuses, and what each subresource may change."""

from __future__ import annotations

import pytest

from ghostfleet.api.strategy import apply_defaults, finish_create, prepare_for_create, prepare_for_update

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


def made(key, spec=None, **more):
    obj = prepare_for_create(key, apply_defaults(key, {"metadata": {"name": "a"}, "spec": spec or {}, **more}))
    return finish_create(key, {**obj, "metadata": {**obj["metadata"], "uid": "u", "creationTimestamp": NOW}})


def changed(obj, *path, to):
    if not path:
        return to
    return {**obj, path[0]: changed(obj.get(path[0], {}), *path[1:], to=to)}


POD = {"containers": [{"name": "c", "image": "b:1", "resources": {"requests": {"cpu": "1"}}}]}
GATED = {**POD, "schedulingGates": [{"name": "example.com/quota"}]}
TEMPLATE = {"template": {"metadata": {"labels": {"app": "x"}}, "spec": POD}}


# Generations


@pytest.mark.parametrize(
    "key", ["pods", "jobs.batch", "cronjobs.batch", "deployments.apps", "networkpolicies.networking.k8s.io"]
)
def test_kinds_that_count_their_changes_start_at_generation_one(key):
    assert made(key, POD if key == "pods" else TEMPLATE)["metadata"]["generation"] == 1


@pytest.mark.parametrize("key", ["services", "namespaces", "nodes", "persistentvolumeclaims", "configmaps", "secrets"])
def test_kinds_that_do_not_count_have_no_generation(key):
    obj = made(key)
    assert "generation" not in obj["metadata"]
    updated = prepare_for_update(key, obj, changed(obj, "metadata", "generation", to=7))
    assert "generation" not in updated["metadata"]


def test_a_changed_spec_raises_the_generation_by_one_whatever_the_client_says():
    old = made("jobs.batch", TEMPLATE)
    new = changed(changed(old, "spec", "parallelism", to=5), "metadata", "generation", to=99)
    assert prepare_for_update("jobs.batch", old, new)["metadata"]["generation"] == 2


def test_labels_raise_no_generation_but_annotations_of_a_deployment_do():
    old = made("deployments.apps", TEMPLATE)
    labelled = changed(old, "metadata", "labels", to={"a": "b"})
    annotated = changed(old, "metadata", "annotations", to={"a": "b"})
    assert prepare_for_update("deployments.apps", old, labelled)["metadata"]["generation"] == 1
    assert prepare_for_update("deployments.apps", old, annotated)["metadata"]["generation"] == 2


def test_an_endpoint_slice_counts_all_but_its_annotations():
    key = "endpointslices.discovery.k8s.io"
    old = prepare_for_create(key, apply_defaults(key, {"metadata": {"name": "a"}, "addressType": "IPv4"}))
    assert prepare_for_update(key, old, changed(old, "ports", to=[{"port": 1}]))["metadata"]["generation"] == 2
    assert (
        prepare_for_update(key, old, changed(old, "metadata", "labels", to={"a": "b"}))["metadata"]["generation"] == 2
    )
    assert (
        prepare_for_update(key, old, changed(old, "metadata", "annotations", to={"a": "b"}))["metadata"]["generation"]
        == 1
    )


def test_an_unchanged_object_comes_back_itself():
    old = made("deployments.apps", TEMPLATE)
    assert prepare_for_update("deployments.apps", old, old) is old


def test_a_driver_counts_changes_though_it_starts_without_a_generation():
    key = "csidrivers.storage.k8s.io"
    old = made(key)
    assert "generation" not in old["metadata"]
    assert prepare_for_update(key, old, changed(old, "spec", "storageCapacity", to=True))["metadata"]["generation"] == 1


# Statuses


def test_a_status_given_at_creation_is_dropped():
    obj = made("deployments.apps", TEMPLATE, status={"replicas": 5})
    assert obj["status"] == {}
    assert made("poddisruptionbudgets.policy", status={"currentHealthy": 5})["status"]["currentHealthy"] == 0


def test_a_node_may_be_created_with_its_status():
    node = made("nodes", status={"capacity": {"nvidia.com/gpu": 8}})
    assert node["status"]["allocatable"] == {"nvidia.com/gpu": "8"}


@pytest.mark.parametrize(
    "key", ["nodes", "services", "jobs.batch", "deployments.apps", "resourceclaims.resource.k8s.io"]
)
def test_a_write_of_the_object_does_not_touch_its_status(key):
    old = made(key, TEMPLATE if key in ("jobs.batch", "deployments.apps") else {})
    new = changed(old, "status", to={"some": "thing"})
    assert prepare_for_update(key, old, new)["status"] == old["status"]


def test_a_write_of_the_status_does_not_touch_the_spec():
    old = made("jobs.batch", TEMPLATE)
    new = changed(changed(old, "status", to={"active": 1}), "spec", "parallelism", to=9)
    written = prepare_for_update("jobs.batch", old, new, "status")
    assert written["status"] == {"active": 1}
    assert written["spec"] is old["spec"]
    assert written["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("key", "labels", "annotations"),
    [
        ("jobs.batch", True, True),
        ("deployments.apps", False, True),
        ("resourceclaims.resource.k8s.io", False, False),
        ("flowschemas.flowcontrol.apiserver.k8s.io", False, False),
    ],
)
def test_how_much_metadata_a_write_of_the_status_may_change_differs(key, labels, annotations):
    old = made(key, TEMPLATE if labels or annotations else {})
    new = changed(changed(old, "metadata", "labels", to={"n": "l"}), "metadata", "annotations", to={"n": "a"})
    metadata = prepare_for_update(key, old, new, "status")["metadata"]
    assert (metadata.get("labels") == {"n": "l"}) is labels
    assert (metadata.get("annotations") == {"n": "a"}) is annotations


# Pods


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ([{}], "BestEffort"),
        ([{"limits": {"nvidia.com/gpu": "8"}}], "BestEffort"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m", "memory": "1024Mi"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}, {}], "Burstable"),
        ([{"limits": {"cpu": "1"}}], "Burstable"),
    ],
)
def test_the_class_of_a_pod_follows_from_its_containers(resources, expected):
    containers = [{"name": str(index), "resources": one} for index, one in enumerate(resources)]
    assert made("pods", {"containers": containers})["status"] == {"phase": "Pending", "qosClass": expected}


def test_the_class_of_a_pod_with_resources_of_its_own_follows_from_those():
    spec = {**POD, "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}}
    assert made("pods", spec)["status"]["qosClass"] == "Guaranteed"
    assert made("pods", {**POD, "resources": {}})["status"]["qosClass"] == "BestEffort"
    assert made("pods", {**POD, "resources": {"requests": {"cpu": "2"}}})["status"]["qosClass"] == "Burstable"


def test_huge_pages_of_the_containers_limit_the_pod_as_a_whole():
    container = {"name": "c", "resources": {"limits": {"hugepages-2Mi": "4Mi", "cpu": "1", "memory": "1Gi"}}}
    spec = {"containers": [container, {**container, "name": "d"}], "resources": {"limits": {"cpu": "4"}}}
    resources = made("pods", spec)["spec"]["resources"]
    assert resources["limits"] == {"cpu": "4", "hugepages-2Mi": "8Mi"}
    assert resources["requests"] == {"cpu": "2", "memory": "2Gi", "hugepages-2Mi": "8Mi"}


def test_a_write_of_a_pods_status_forgets_neither_its_class_nor_what_was_observed():
    old = made("pods", POD)
    seen = {"phase": "Running", "observedGeneration": 1, "conditions": [{"type": "Ready", "observedGeneration": 1}]}
    running = prepare_for_update("pods", old, changed(old, "status", to=seen), "status")
    assert running["status"] == {**seen, "qosClass": "Burstable"}
    forgetful = {"phase": "Running", "conditions": [{"type": "New"}, {"type": "Ready"}]}
    later = prepare_for_update("pods", running, changed(running, "status", to=forgetful), "status")["status"]
    assert later["observedGeneration"] == 1
    assert later["conditions"] == [{"type": "New"}, {"type": "Ready", "observedGeneration": 1}]


def test_a_write_of_a_pods_status_changes_neither_owners_nor_deletion():
    old = changed(made("pods", POD), "metadata", "deletionTimestamp", to=NOW)
    new = changed(made("pods", POD), "metadata", "ownerReferences", to=[{"name": "x"}])
    metadata = prepare_for_update("pods", old, new, "status")["metadata"]
    assert "ownerReferences" not in metadata
    assert metadata["deletionTimestamp"] == NOW


def test_only_ephemeral_containers_are_added_through_their_subresource():
    old = made("pods", POD)
    new = changed(old, "spec", to={"containers": [], "ephemeralContainers": [{"name": "debug"}]})
    new = changed(new, "metadata", "labels", to={"a": "b"})
    written = prepare_for_update("pods", old, new, "ephemeralcontainers")
    assert written["spec"] == {**old["spec"], "ephemeralContainers": [{"name": "debug"}]}
    assert "labels" not in written["metadata"]
    assert written["metadata"]["generation"] == 2


def test_only_resources_change_through_resize():
    old = made("pods", POD)
    container = {"name": "c", "image": "other", "resources": {"requests": {"cpu": "2"}}}
    written = prepare_for_update("pods", old, changed(old, "spec", "containers", to=[container]), "resize")
    assert written["spec"]["containers"] == [{**old["spec"]["containers"][0], "resources": {"requests": {"cpu": "2"}}}]
    renamed = changed(old, "spec", "containers", to=[{**container, "name": "z"}])
    assert prepare_for_update("pods", old, renamed, "resize")["spec"] is renamed["spec"]


# Single kinds


def test_a_daemon_set_counts_the_changes_of_its_template():
    annotation = "deprecated.daemonset.template.generation"
    old = made("daemonsets.apps", TEMPLATE)
    assert old["metadata"]["annotations"] == {annotation: "1"}
    new = changed(old, "spec", "template", "spec", "hostNetwork", to=True)
    new = changed(new, "metadata", "annotations", to={})
    updated = prepare_for_update("daemonsets.apps", old, new)["metadata"]
    assert (updated["annotations"], updated["generation"]) == ({annotation: "2"}, 2)


def test_the_finalizers_of_a_namespace_change_only_through_finalize():
    old = made("namespaces", {"finalizers": ["example.com/x"]})
    assert old["spec"]["finalizers"] == ["example.com/x", "kubernetes"]
    new = changed(old, "spec", "finalizers", to=[])
    assert prepare_for_update("namespaces", old, new)["spec"] == old["spec"]
    assert prepare_for_update("namespaces", old, new, "finalize")["spec"] == {"finalizers": []}


def test_a_namespace_with_a_made_up_name_gets_its_label_once_it_has_it():
    key = "namespaces"
    obj = prepare_for_create(key, apply_defaults(key, {"metadata": {"generateName": "a-"}}))
    assert "labels" not in obj["metadata"]
    named = finish_create(key, changed(obj, "metadata", "name", to="a-1"))
    assert named["metadata"]["labels"] == {"kubernetes.io/metadata.name": "a-1"}


def test_a_volume_knows_since_when_it_is_in_its_phase():
    old = made("persistentvolumes")
    assert old["status"] == {"phase": "Pending", "lastPhaseTransitionTime": NOW}
    new = changed(old, "status", "phase", to="Available")
    bound = prepare_for_update("persistentvolumes", old, new, "status", now=LATER)
    assert bound["status"] == {"phase": "Available", "lastPhaseTransitionTime": LATER}
    same_phase = changed(bound, "status", to={"phase": "Available"})
    assert prepare_for_update("persistentvolumes", bound, same_phase, "status", now=NOW)["status"] == bound["status"]


def test_the_time_of_creation_may_be_told_instead_of_read():
    pod = prepare_for_create("pods", apply_defaults("pods", {"metadata": {"name": "a"}, "spec": GATED}))
    (condition,) = finish_create("pods", pod, now=NOW)["status"]["conditions"]
    assert (condition["reason"], condition["lastTransitionTime"]) == ("SchedulingGated", NOW)
    assert finish_create("pods", pod) is pod


def test_a_taint_on_a_device_says_since_when_it_is_there():
    key = "resourceslices.resource.k8s.io"
    old = made(key, {"devices": [{"name": "a", "taints": [{"key": "x"}]}]})
    assert old["spec"]["devices"][0]["taints"] == [{"key": "x", "timeAdded": NOW}]
    new = changed(old, "spec", "devices", to=[{"name": "a", "taints": [{"key": "y"}]}])
    updated = prepare_for_update(key, old, new, now=LATER)
    assert updated["spec"]["devices"][0]["taints"] == [{"key": "y", "timeAdded": LATER}]


def test_a_service_that_becomes_a_mere_name_loses_what_it_was_given_for_its_type():
    given = {
        "clusterIP": "10.0.0.1",
        "clusterIPs": ["10.0.0.1"],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
    }
    old = made("services", {"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30000}], **given})
    old = changed(old, "status", to={"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}})
    new = apply_defaults("services", changed(old, "spec", "type", to="ExternalName"))
    updated = prepare_for_update("services", old, new)
    assert updated["spec"] == {
        "type": "ExternalName",
        "sessionAffinity": "None",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
    }
    assert updated["status"] == {"loadBalancer": {}}


def test_a_service_keeps_what_the_client_changed_along_with_the_type():
    old = made("services", {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30000}], "clusterIP": "10.0.0.1"})
    new = changed(old, "spec", to={**old["spec"], "type": "ClusterIP", "ports": [{"port": 80, "nodePort": 30001}]})
    assert prepare_for_update("services", old, new)["spec"]["ports"] == [{"port": 80, "nodePort": 30001}]


def test_the_conditions_of_a_signing_request_get_their_times():
    key = "certificatesigningrequests.certificates.k8s.io"
    old = made(key, {"request": "x", "username": "me"})
    assert old["spec"] == {"request": "x"}
    approval = {"type": "Approved", "status": "True"}
    new = changed(changed(old, "status", to={"conditions": [approval], "certificate": "y"}), "spec", to={})
    approved = prepare_for_update(key, old, new, "approval", now=NOW)
    assert approved["spec"] == old["spec"]
    assert approved["status"] == {"conditions": [{**approval, "lastUpdateTime": NOW, "lastTransitionTime": NOW}]}
    again = prepare_for_update(
        key, approved, changed(approved, "status", "conditions", to=[approval]), "approval", now=LATER
    )
    assert again["status"]["conditions"] == [{**approval, "lastUpdateTime": LATER, "lastTransitionTime": NOW}]


def test_the_state_of_a_device_goes_when_the_claim_gives_it_back():
    key = "resourceclaims.resource.k8s.io"
    device = {"driver": "d", "pool": "p", "device": "x"}
    old = made(key)
    held = {"allocation": {"devices": {"results": [device]}}, "devices": [device]}
    old = prepare_for_update(key, old, changed(old, "status", to=held), "status")
    assert old["status"] == held
    new = changed(old, "status", to={"devices": [device, {**device, "device": "other"}]})
    freed = prepare_for_update(key, old, new, "status")
    assert freed["status"] == {"devices": [{**device, "device": "other"}]}
