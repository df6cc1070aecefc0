"""Rules that the replayed answers do not show well: large values, statuses, subresources and unknown resources."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from ghostfleet.api.validation import validate_create, validate_subresource, validate_update


def texts(errors: list[Any]) -> list[str]:
    return [str(error) for error in errors]


def metadata(**more: Any) -> dict[str, Any]:
    return {"name": "a", "namespace": "default", **more}


def running_pod(**more: Any) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "b",
        "imagePullPolicy": "Always",
        "terminationMessagePolicy": "File",
        "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
    }
    spec = {
        "containers": [container],
        "restartPolicy": "Never",
        "dnsPolicy": "ClusterFirst",
        "terminationGracePeriodSeconds": 30,
        **more,
    }
    return {"metadata": metadata(), "spec": spec, "status": {"phase": "Running", "qosClass": "Burstable"}}


def with_status(pod: dict[str, Any], **status: Any) -> dict[str, Any]:
    return {**pod, "status": {**pod["status"], **status}}


def test_annotations_have_a_limit_together():
    obj = {"metadata": metadata(annotations={"a": "x" * 200_000, "b": "ü" * 40_000})}
    assert texts(validate_create("serviceaccounts", obj)) == [
        "metadata.annotations: Too long: may not be more than 262144 bytes"
    ]


def test_a_config_map_has_a_limit_too():
    obj = {"metadata": metadata(), "data": {"a": "x" * (1024 * 1024 + 1)}}
    assert texts(validate_create("configmaps", obj)) == ["[]: Too long: may not be more than 1048576 bytes"]


def test_a_secret_is_measured_decoded():
    fits = {"metadata": metadata(), "data": {"a": base64.b64encode(b"x" * 1024 * 1024).decode()}}
    too_long = {"metadata": metadata(), "data": {"a": base64.b64encode(b"x" * (1024 * 1024 + 1)).decode()}}
    assert validate_create("secrets", fits) == []
    assert texts(validate_create("secrets", too_long)) == ["data: Too long: may not be more than 1048576 bytes"]


def test_a_resource_without_rules_gets_its_metadata_checked():
    assert validate_create("widgets.example.com", {"metadata": {"name": "a"}, "spec": {"any": "thing"}}) == []
    errors = texts(validate_create("widgets.example.com", {"metadata": {"labels": {"a": "b c"}}}))
    assert errors[0] == "metadata.name: Required value: name or generateName is required"
    assert errors[1].startswith('metadata.labels: Invalid value: "b c"')


def test_a_namespaced_resource_needs_a_namespace_and_a_cluster_wide_one_has_none():
    assert "metadata.namespace: Required value" in texts(validate_create("configmaps", {"metadata": {"name": "a"}}))
    errors = texts(validate_create("nodes", {"metadata": metadata()}))
    assert errors == ["metadata.namespace: Forbidden: not allowed on this type"]


def test_an_object_that_is_being_deleted_gets_no_new_finalizers():
    old = {"metadata": metadata(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["a.io/x"])}
    new = {"metadata": metadata(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["a.io/x", "a.io/y"])}
    found = [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"a.io/y"}'
    ]
    assert texts(validate_update("limitranges", old, new)) == found
    # Most kinds look at the metadata once more than the machinery does.
    assert texts(validate_update("configmaps", old, new)) == found * 2
    assert validate_update("configmaps", new, old) == []


def test_the_identity_of_an_object_stays():
    old = {"metadata": metadata(uid="u", creationTimestamp="2026-01-01T00:00:00Z")}
    new = {"metadata": {**old["metadata"], "uid": "v", "name": "b"}}
    assert texts(validate_update("limitranges", old, new)) == [
        'metadata.name: Invalid value: "b": field is immutable',
        'metadata.uid: Invalid value: "v": field is immutable',
    ]


def test_a_forbidden_change_of_a_pod_is_shown():
    old = running_pod()
    new = running_pod(nodeSelector={"a": "b"})
    message = texts(validate_update("pods", old, new))[0]
    assert message.startswith(
        "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`"
    )
    assert message.endswith('\n+{"nodeSelector":{"a":"b"}}')


def test_a_container_that_ended_for_good_stays_ended():
    ended = [{"name": "main", "state": {"terminated": {"exitCode": 0}}}]
    alive = [{"name": "main", "state": {"running": {}}}]
    old = with_status(running_pod(), containerStatuses=ended)
    errors = texts(validate_update("pods", old, with_status(old, containerStatuses=alive), "status"))
    assert errors == ["status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"]
    restarting = with_status(running_pod(restartPolicy="Always"), containerStatuses=ended)
    assert validate_update("pods", restarting, with_status(restarting, containerStatuses=alive), "status") == []


def test_a_bound_pod_gets_no_nominated_node():
    old = running_pod(nodeName="n")
    errors = texts(validate_update("pods", old, with_status(old, nominatedNodeName="m"), "status"))
    assert errors == ["status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"]


def test_a_resize_changes_cpu_and_memory_only():
    old = running_pod()
    more = running_pod()
    more["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}, "limits": {"cpu": "3"}}
    assert validate_update("pods", old, more, "resize") == []
    other = running_pod(hostname="x")
    assert texts(validate_update("pods", old, other, "resize")) == [
        "spec: Forbidden: only cpu and memory resources are mutable"
    ]


def test_an_ephemeral_container_stays_once_it_is_there():
    debugger = {"name": "debug", "image": "b", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}
    with_debugger = running_pod(ephemeralContainers=[debugger])
    assert validate_update("pods", running_pod(), with_debugger, "ephemeralcontainers") == []
    errors = texts(validate_update("pods", with_debugger, running_pod(), "ephemeralcontainers"))
    assert errors == ['spec.ephemeralContainers: Forbidden: existing ephemeral containers "debug" may not be removed\n']


def test_a_binding_names_a_node():
    assert validate_subresource("pods", "binding", {"target": {"kind": "Node", "name": "n"}}) == []
    assert texts(validate_subresource("pods", "binding", {"target": {"kind": "Pod"}})) == [
        'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
        "target.name: Required value",
    ]


def test_a_scale_is_not_negative():
    assert texts(validate_subresource("deployments.apps", "scale", {"spec": {"replicas": -1}})) == [
        "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
    ]


def suspended_job(**spec: Any) -> dict[str, Any]:
    labels = {"app": "a"}
    pod = running_pod()["spec"]
    return {
        "metadata": metadata(),
        "spec": {
            "suspend": True,
            "manualSelector": True,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
            **spec,
        },
    }


def with_pod(job: dict[str, Any], **changes: Any) -> dict[str, Any]:
    template = job["spec"]["template"]
    pod = {**template["spec"], **changes}
    return {**job, "spec": {**job["spec"], "template": {**template, "spec": pod}}}


def test_a_suspended_job_may_be_sent_elsewhere():
    job = suspended_job()
    moved = with_pod(job, nodeSelector={"zone": "b"}, tolerations=[{"key": "x", "operator": "Exists"}])
    assert validate_update("jobs.batch", job, moved) == []


def test_a_running_job_keeps_its_template():
    job = suspended_job(suspend=False)
    errors = texts(validate_update("jobs.batch", job, with_pod(job, nodeSelector={"zone": "b"})))
    assert len(errors) == 1
    assert errors[0].startswith("spec.template: Invalid value: ")
    assert errors[0].endswith(": field is immutable")


def test_a_suspended_job_keeps_its_image():
    job = suspended_job()
    container = {**job["spec"]["template"]["spec"]["containers"][0], "image": "other"}
    errors = texts(validate_update("jobs.batch", job, with_pod(job, containers=[container])))
    assert errors[0].startswith("spec.template.spec: Invalid value: ")


def test_a_bound_claim_may_grow():
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "pv"}
    old = {"metadata": metadata(), "spec": spec, "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
    bigger = {**old, "spec": {**spec, "resources": {"requests": {"storage": "2Gi"}}}}
    smaller = {**old, "spec": {**spec, "resources": {"requests": {"storage": "500Mi"}}}}
    assert validate_update("persistentvolumeclaims", old, bigger) == []
    assert texts(validate_update("persistentvolumeclaims", old, smaller)) == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    ]


def test_a_namespace_that_is_not_deleted_is_active():
    old = {"metadata": {"name": "a"}, "status": {"phase": "Active"}}
    new = {"metadata": {"name": "a"}, "status": {"phase": "Terminating"}}
    assert texts(validate_update("namespaces", old, new, "status")) == [
        "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"
    ]


@pytest.mark.parametrize(
    ("resource", "status", "message"),
    [
        (
            "jobs.batch",
            {"succeeded": 1},
            "status.succeeded: Invalid value: 1: cannot decrease the succeeded counter",
        ),
        (
            "replicasets.apps",
            {"observedGeneration": -1},
            "status.observedGeneration: Invalid value: -1: must be greater than or equal to 0",
        ),
    ],
)
def test_counters_of_a_status_make_sense(resource: str, status: dict[str, Any], message: str):
    old = {"metadata": metadata(), "spec": {}, "status": {"succeeded": 2, "replicas": 0}}
    assert texts(validate_update(resource, old, {**old, "status": status}, "status")) == [message]


def test_an_allocation_of_a_claim_stays():
    device = {"request": "gpu", "driver": "gpu.example.com", "pool": "n", "device": "gpu-0"}
    old = {
        "metadata": metadata(),
        "spec": {"devices": {"requests": [{"name": "gpu"}]}},
        "status": {"allocation": {"devices": {"results": [device]}}},
    }
    moved = {**old, "status": {"allocation": {"devices": {"results": [{**device, "device": "gpu-1"}]}}}}
    freed = {**old, "status": {}}
    errors = texts(validate_update("resourceclaims.resource.k8s.io", old, moved, "status"))
    assert len(errors) == 1
    assert errors[0].endswith("field is immutable")
    assert validate_update("resourceclaims.resource.k8s.io", old, freed, "status") == []


def test_a_claim_is_reserved_only_when_it_is_allocated():
    old = {"metadata": metadata(), "spec": {}, "status": {}}
    consumer = {"resource": "pods", "name": "p", "uid": "u"}
    new = {**old, "status": {"reservedFor": [consumer]}}
    assert texts(validate_update("resourceclaims.resource.k8s.io", old, new, "status")) == [
        "status.reservedFor: Forbidden: may not be specified when `allocated` is not set"
    ]
