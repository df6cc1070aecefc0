"""Writes: what becomes of a body on its way into the store."""

from __future__ import annotations

import pytest

from ghostfleet.api.options import WriteOptions
from ghostfleet.core.errors import ApiError

POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "b"}]}}


def update(lab, plural, name, obj, subresource="", **options):
    resource, version = lab.at(plural)
    where = "default" if resource.namespaced else ""
    return lab.api.update(resource, version, where, name, obj, WriteOptions(manager="tests", **options), subresource)


def test_a_created_pod_is_defaulted_admitted_and_attributed(lab):
    made = lab.create("pods", POD)
    assert made["spec"]["restartPolicy"] == "Always"
    assert made["spec"]["serviceAccountName"] == "default"
    assert made["spec"]["priority"] == 0
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    (entry,) = made["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("tests", "Update")
    assert "f:tolerations" not in entry["fieldsV1"]["f:spec"], "what admission added belongs to nobody"


def test_what_only_the_server_sets_is_ignored_in_a_create(lab):
    claimed = {"uid": "mine", "creationTimestamp": "2000-01-01T00:00:00Z", "generation": 77, "selfLink": "/x"}
    made = lab.create("pods", {**POD, "metadata": {"name": "p", **claimed}, "status": {"phase": "Running"}})
    assert made["metadata"]["uid"] != "mine"
    assert made["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert made["metadata"]["generation"] == 1
    assert made["status"]["phase"] == "Pending"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ([], "expected an object, found an array"),
        ("x", "expected an object, found a string"),
        ({"kind": "ConfigMap", "metadata": {"name": "x"}}, "cannot be handled as a Pod"),
        ({"apiVersion": "v2", "metadata": {"name": "x"}}, 'no kind "Pod" is registered for version "v2"'),
        ({"metadata": {"name": "x", "namespace": "other"}}, "does not match the namespace sent on the request"),
        ({"metadata": {"name": "x", "resourceVersion": "5"}}, "resourceVersion should not be set"),
        ({"metadata": "x"}, "metadata must be an object"),
        ({"metadata": {"name": "x"}, "spec": {"containers": 5}}, "spec.containers"),
    ],
)
def test_a_body_that_is_not_for_this_endpoint_is_a_bad_request(lab, body, words):
    with pytest.raises(ApiError, match=words) as caught:
        lab.create("pods", body)
    assert caught.value.code == 400
    assert lab.names("pods") == []


def test_an_invalid_object_names_every_field_at_fault(lab):
    with pytest.raises(ApiError) as caught:
        lab.create("pods", {"metadata": {"name": "UP"}, "spec": {"containers": []}})
    assert caught.value.code == 422
    assert {cause["field"] for cause in caught.value.details["causes"]} == {"metadata.name", "spec.containers"}


def test_unknown_fields_are_refused_reported_or_passed_over(lab):
    body = {**POD, "spec": {**POD["spec"], "nodeNmae": "n1"}}
    with pytest.raises(ApiError, match='strict decoding error: unknown field "spec.nodeNmae"'):
        lab.create("pods", body, validation="Strict")
    resource, version = lab.at("pods")
    options = WriteOptions(validation="Warn")
    made = lab.api.create(resource, version, "default", body, options)
    assert options.warnings == ['unknown field "spec.nodeNmae"']
    assert "nodeNmae" not in made["spec"]


def test_dry_runs_do_everything_but_store(lab):
    made = lab.create("pods", POD, dry_run=True)
    assert made["spec"]["dnsPolicy"] == "ClusterFirst"
    assert lab.names("pods") == []


def test_generated_names_are_there_before_validation(lab):
    made = lab.create("pods", {**POD, "metadata": {"generateName": "run-"}})
    assert made["metadata"]["name"].startswith("run-")


def test_a_put_must_name_what_it_is_put_to(lab):
    lab.create("configmaps", {"metadata": {"name": "c"}})
    with pytest.raises(ApiError, match=r"does not match the name on the URL \(c\)"):
        update(lab, "configmaps", "c", {"metadata": {"name": "other"}})
    with pytest.raises(ApiError, match="name must be provided"):
        update(lab, "configmaps", "c", {"metadata": {}})
    with pytest.raises(ApiError, match="not found"):
        update(lab, "configmaps", "ghost", {"metadata": {"name": "ghost"}})


def test_a_put_creates_where_kubernetes_lets_it(lab):
    _, created = update(lab, "endpoints", "e", {"metadata": {"name": "e"}})
    assert created
    _, created = update(lab, "endpoints", "e", {"metadata": {"name": "e", "labels": {"a": "b"}}})
    assert not created


def test_some_kinds_want_to_know_which_version_an_update_was_made_from(lab):
    lab.create("leases.coordination.k8s.io", {"metadata": {"name": "l"}})
    with pytest.raises(ApiError, match=r"metadata.resourceVersion: Invalid value: 0: must be specified"):
        update(lab, "leases.coordination.k8s.io", "l", {"metadata": {"name": "l"}})


def test_the_spec_changes_through_the_object_and_the_status_through_its_subresource(lab):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    lab.create("deployments.apps", {"metadata": {"name": "d"}, "spec": {**spec, "paused": True}})
    lab.patch("deployments.apps", "d", {"spec": {"replicas": 5}, "status": {"replicas": 9}})
    after = lab.get("deployments.apps", "d")
    assert after["spec"]["replicas"] == 5
    assert after["metadata"]["generation"] == 2
    assert after["status"].get("replicas", 0) == 0
    lab.patch("deployments.apps", "d", {"spec": {"replicas": 7}, "status": {"replicas": 2}}, subresource="status")
    after = lab.get("deployments.apps", "d")
    assert (after["spec"]["replicas"], after["status"]["replicas"]) == (5, 2)
    assert after["metadata"]["generation"] == 2


def test_a_patch_that_changes_nothing_keeps_the_version(lab):
    made = lab.create("configmaps", {"metadata": {"name": "c"}, "data": {"a": "b"}})
    for kind, patch in [("merge", {"data": {"a": "b"}}), ("strategic", {"data": {"a": "b"}}), ("json", [])]:
        assert lab.patch("configmaps", "c", patch, kind)["metadata"] == made["metadata"]


def test_a_patch_may_say_which_version_it_means(lab):
    made = lab.create("configmaps", {"metadata": {"name": "c"}})
    lab.patch("configmaps", "c", {"data": {"a": "1"}})
    with pytest.raises(ApiError, match="the object has been modified"):
        lab.patch(
            "configmaps",
            "c",
            {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "data": {"a": "2"}},
        )


@pytest.mark.parametrize(("kind", "patch"), [("merge", []), ("strategic", 5), ("json", {"op": "add"}), ("apply", "x")])
def test_a_patch_of_the_wrong_sort_is_a_bad_request(lab, kind, patch):
    lab.create("configmaps", {"metadata": {"name": "c"}})
    with pytest.raises(ApiError) as caught:
        lab.patch("configmaps", "c", patch, kind)
    assert caught.value.code == 400


def test_apply_creates_owns_conflicts_and_gives_up_fields(lab):
    def config(**data):
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}

    lab.patch("configmaps", "c", config(a="1", b="2"), "apply", manager="one")
    with pytest.raises(ApiError, match=r'conflict with "one": \.data\.a') as caught:
        lab.patch("configmaps", "c", config(a="9"), "apply", manager="two")
    assert caught.value.code == 409
    lab.patch("configmaps", "c", config(a="9"), "apply", manager="two", force=True)
    lab.patch("configmaps", "c", config(), "apply", manager="one")
    assert lab.get("configmaps", "c")["data"] == {"a": "9"}
    with pytest.raises(ApiError, match="fieldManager"):
        lab.patch("configmaps", "c", config(), "apply", manager="")


def test_applying_the_same_again_is_no_write(lab):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}}
    first = lab.patch("configmaps", "c", body, "apply", manager="one")
    lab.clock.advance(60_000_000)
    assert lab.patch("configmaps", "c", body, "apply", manager="one") == first


def test_services_get_addresses_and_ports_of_their_own(lab):
    ports = [{"port": 80}]
    one = lab.create("services", {"metadata": {"name": "a"}, "spec": {"ports": ports, "type": "NodePort"}})
    two = lab.create("services", {"metadata": {"name": "b"}, "spec": {"ports": ports, "type": "NodePort"}})
    assert one["spec"]["clusterIP"] != two["spec"]["clusterIP"]
    assert one["spec"]["ports"][0]["nodePort"] != two["spec"]["ports"][0]["nodePort"]
    headless = lab.create("services", {"metadata": {"name": "h"}, "spec": {"ports": ports, "clusterIP": "None"}})
    assert headless["spec"]["clusterIP"] == "None"
    with pytest.raises(ApiError, match="provided IP is already allocated"):
        lab.create(
            "services", {"metadata": {"name": "c"}, "spec": {"ports": ports, "clusterIP": one["spec"]["clusterIP"]}}
        )
