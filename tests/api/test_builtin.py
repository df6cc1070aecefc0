"""The facts about Kubernetes' own kinds, as users and clients can see them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from ghostfleet.api import builtin
from ghostfleet.core.schema import Type

CORE = "io.k8s.api.core.v1."
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
REGISTRY = builtin.load_registry()

GROUP_VERSIONS = {
    "v1",
    "admissionregistration.k8s.io/v1",
    "apiextensions.k8s.io/v1",
    "apps/v1",
    "authentication.k8s.io/v1",
    "authorization.k8s.io/v1",
    "autoscaling/v2",
    "batch/v1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "events.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1",
    "metrics.k8s.io/v1beta1",
    "networking.k8s.io/v1",
    "node.k8s.io/v1",
    "policy/v1",
    "rbac.authorization.k8s.io/v1",
    "resource.k8s.io/v1",
    "resource.k8s.io/v1beta2",
    "resource.k8s.io/v1beta1",
    "scheduling.k8s.io/v1",
    "storage.k8s.io/v1",
}


def at(kind: Type, *path: str) -> Type:
    """The type found by walking down fields, with `*` for the items of a list or map."""
    found: Type | None = kind
    for step in path:
        assert found is not None
        found = found.items if step == "*" else found.fields[step]
    assert found is not None
    return found


def pod(*path: str) -> Type:
    return at(builtin.type_named(CORE + "Pod"), *path)


def every_type() -> Iterator[Type]:
    """All types there are, named or not."""
    seen: set[int] = set()
    waiting = [builtin.type_named(name) for name in builtin.type_names()]
    while waiting:
        found = waiting.pop()
        if id(found) not in seen:
            seen.add(id(found))
            yield found
            waiting += [*found.fields.values(), *found.inlines.values(), *([found.items] if found.items else ())]


def test_every_type_that_is_named_exists_and_lists_and_maps_know_what_they_hold():
    for found in every_type():
        assert (found.items is not None) == (found.sort in ("list", "map")), found


def test_required_defaulted_and_numbered_fields_are_fields():
    for found in every_type():
        assert set(found.required) <= set(found.fields), found
        assert set(found.defaults) <= set(found.fields), found
        assert set(found.numbers) <= set(found.fields), found


def test_every_field_has_one_way_through_protobuf():
    for found in every_type():
        if found.sort != "object" or not found.name:
            continue
        inlined = [field for inline in found.inlines.values() for field in inline.fields]
        numbered = list(found.numbers)
        assert sorted(inlined + numbered) == sorted(found.fields.keys() - ({"kind", "apiVersion"} - set(numbered)))
        used = [*found.numbers.values(), *found.inlines]
        assert len(used) == len(set(used)), found


def test_a_list_merged_by_keys_finds_them_in_its_items():
    for found in every_type():
        if found.sort != "list":
            continue
        assert (found.topology == "map") == bool(found.map_keys)
        keys = [*found.map_keys, *([found.merge_key] if found.merge_key else ())]
        if keys:
            assert found.items is not None
            assert set(keys) <= set(found.items.fields), found.items


def test_integers_and_numbers_say_how_wide_they_are():
    for found in every_type():
        if found.sort in ("integer", "number"):
            assert found.format in ("int32", "int64", "double")


@pytest.mark.parametrize(
    ("path", "merge_key", "map_keys"),
    [
        (("spec", "containers"), "name", ("name",)),
        (("spec", "initContainers"), "name", ("name",)),
        (("spec", "containers", "*", "ports"), "containerPort", ("containerPort", "protocol")),
        (("spec", "containers", "*", "env"), "name", ("name",)),
        (("spec", "containers", "*", "volumeMounts"), "mountPath", ("mountPath",)),
        (("spec", "volumes"), "name", ("name",)),
        (("spec", "topologySpreadConstraints"), "topologyKey", ("topologyKey", "whenUnsatisfiable")),
        (("status", "conditions"), "type", ("type",)),
        (("metadata", "ownerReferences"), "uid", ("uid",)),
    ],
)
def test_lists_of_a_pod_merge_by_their_keys(path: tuple[str, ...], merge_key: str, map_keys: tuple[str, ...]):
    found = pod(*path)
    assert found.merges
    assert (found.merge_key, found.topology, found.map_keys) == (merge_key, "map", map_keys)


def test_tolerations_are_replaced_whole():
    tolerations = pod("spec", "tolerations")
    assert not tolerations.merges
    assert tolerations.topology == "atomic"


def test_finalizers_are_a_set_that_merges():
    finalizers = pod("metadata", "finalizers")
    assert (finalizers.merges, finalizers.merge_key, finalizers.topology) == (True, None, "set")


def test_unions_retain_keys():
    deployment = builtin.type_named("io.k8s.api.apps.v1.DeploymentSpec")
    assert deployment.retain_keys == {"strategy"}
    assert "volumes" in pod("spec").retain_keys


def test_the_selector_of_a_disruption_budget_is_replaced_by_a_patch():
    assert builtin.type_named("io.k8s.api.policy.v1.PodDisruptionBudgetSpec").replaces == {"selector"}


def test_selectors_and_references_are_atomic():
    assert pod("spec", "nodeSelector").atomic
    assert builtin.type_named(META + "LabelSelector").atomic
    assert builtin.type_named(CORE + "ObjectReference").atomic


def test_a_field_may_open_a_type_that_is_atomic_elsewhere():
    claim = builtin.type_named(CORE + "PersistentVolumeSpec").fields["claimRef"]
    assert claim.name == CORE + "ObjectReference"
    assert not claim.atomic
    assert claim.fields.keys() == builtin.type_named(CORE + "ObjectReference").fields.keys()


def test_the_protocol_of_a_port_defaults_to_tcp_and_is_one_of_three():
    port = pod("spec", "containers", "*", "ports", "*")
    assert port.defaults["protocol"] == "TCP"
    assert port.fields["protocol"].enum == ("SCTP", "TCP", "UDP")


@pytest.mark.parametrize(
    ("path", "sort"),
    [
        (("metadata", "creationTimestamp"), "time"),
        (("metadata", "managedFields", "*", "fieldsV1"), "fieldsv1"),
        (("spec", "containers", "*", "resources", "limits", "*"), "quantity"),
        (("spec", "containers", "*", "livenessProbe", "httpGet", "port"), "intorstring"),
        (("spec", "hostNetwork"), "boolean"),
        (("spec", "priority"), "integer"),
        (("metadata", "labels"), "map"),
    ],
)
def test_fields_of_a_pod_have_their_sorts(path: tuple[str, ...], sort: str):
    assert pod(*path).sort == sort


def test_other_kinds_have_their_sorts():
    assert at(builtin.type_named("io.k8s.api.coordination.v1.Lease"), "spec", "renewTime").sort == "microtime"
    assert at(builtin.type_named(CORE + "Secret"), "data", "*").sort == "bytes"
    assert at(builtin.type_named("io.k8s.api.apps.v1.ControllerRevision"), "data").sort == "any"
    assert at(builtin.type_named("io.k8s.metrics.pkg.apis.metrics.v1beta1.PodMetrics"), "window").sort == "duration"


def test_fields_keep_the_order_in_which_go_declares_them():
    assert list(pod("spec", "containers", "*").fields)[:6] == [
        "name",
        "image",
        "command",
        "args",
        "workingDir",
        "ports",
    ]
    assert list(pod().fields) == ["kind", "apiVersion", "metadata", "spec", "status"]


def test_inlined_messages_are_known_by_number():
    volume = builtin.type_named(CORE + "Volume")
    assert volume.numbers == {"name": 1}
    assert volume.inlines[2].numbers["hostPath"] == 1
    assert volume.fields["hostPath"] is volume.inlines[2].fields["hostPath"]


def test_extra_values_of_users_are_wrapped_lists():
    user = builtin.type_named("io.k8s.api.authentication.v1.UserInfo")
    assert at(user, "extra", "*").wrapped
    assert not user.fields["groups"].wrapped


def test_a_schema_of_a_definition_refers_to_itself():
    props = builtin.type_named("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
    assert at(props, "properties", "*") is props
    assert props.fields["default"].sort == "any"
    assert props.fields["additionalProperties"].sort == "any"


def test_the_registry_serves_all_group_versions():
    served = {resource.api_version(version) for resource in REGISTRY for version in resource.versions}
    assert served == GROUP_VERSIONS


@pytest.mark.parametrize(
    ("group", "plural", "short_names"),
    [
        ("", "pods", ("po",)),
        ("", "nodes", ("no",)),
        ("", "configmaps", ("cm",)),
        ("", "persistentvolumeclaims", ("pvc",)),
        ("apps", "deployments", ("deploy",)),
        ("autoscaling", "horizontalpodautoscalers", ("hpa",)),
        ("batch", "cronjobs", ("cj",)),
        ("policy", "poddisruptionbudgets", ("pdb",)),
        ("scheduling.k8s.io", "priorityclasses", ("pc",)),
        ("apiextensions.k8s.io", "customresourcedefinitions", ("crd", "crds")),
    ],
)
def test_resources_answer_to_their_short_names(group: str, plural: str, short_names: tuple[str, ...]):
    resource = REGISTRY.by_key(f"{plural}.{group}" if group else plural)
    assert resource is not None
    assert resource.short_names == short_names


def test_pods_have_the_parts_that_need_no_kubelet():
    pods = REGISTRY.by_key("pods")
    assert pods is not None
    assert pods.subresources == {
        "binding": ("", "v1", "Binding", ("create",)),
        "ephemeralcontainers": ("", "v1", "Pod", ("get", "patch", "update")),
        "eviction": ("policy", "v1", "Eviction", ("create",)),
        "log": ("", "v1", "Pod", ("get",)),
        "resize": ("", "v1", "Pod", ("get", "patch", "update")),
        "status": ("", "v1", "Pod", ("get", "patch", "update")),
    }
    assert pods.categories == ("all",)
    assert pods.list_kind == "PodList"


def test_every_kind_that_is_served_or_sent_has_a_type():
    for resource in REGISTRY:
        for version in resource.versions.values():
            assert REGISTRY.schema(resource.api_version(version.name), resource.kind) is version.schema
            if resource.list_kind:
                assert builtin.kind_type(resource.group, version.name, resource.list_kind) is not None
        for group, version_name, kind, _ in resource.subresources.values():
            assert builtin.kind_type(group, version_name, kind) is not None


def test_reviews_can_only_be_created_and_namespaces_not_deleted_in_bulk():
    review = REGISTRY.by_key("selfsubjectaccessreviews.authorization.k8s.io")
    namespaces = REGISTRY.by_key("namespaces")
    assert review is not None
    assert namespaces is not None
    assert review.verbs == ("create",)
    assert "deletecollection" not in namespaces.verbs
    assert set(namespaces.subresources) == {"finalize", "status"}


def test_claims_are_served_in_three_versions_and_stored_in_one():
    claims = REGISTRY.by_key("resourceclaims.resource.k8s.io")
    assert claims is not None
    assert list(claims.versions) == ["v1", "v1beta2", "v1beta1"]
    assert claims.storage_version == "v1"
    assert claims.versions["v1"].schema is not claims.versions["v1beta2"].schema


def test_shared_storage_names_resources_that_exist():
    for view, source in builtin.SHARED_STORAGE.items():
        assert REGISTRY.by_key(view) is not None
        assert REGISTRY.by_key(source) is not None


def test_metrics_are_read_only():
    for plural in ("nodes", "pods"):
        resource = REGISTRY.by_key(f"{plural}.metrics.k8s.io")
        assert resource is not None
        assert resource.verbs == ("get", "list")


@pytest.mark.parametrize(
    ("group", "version", "kind", "name"),
    [
        ("", "v1", "DeleteOptions", META + "DeleteOptions"),
        ("batch", "v1", "DeleteOptions", META + "DeleteOptions"),
        ("example.com", "v7", "PatchOptions", META + "PatchOptions"),
        ("", "v1", "Status", META + "Status"),
        ("autoscaling", "v1", "Scale", "io.k8s.api.autoscaling.v1.Scale"),
        ("policy", "v1", "Eviction", "io.k8s.api.policy.v1.Eviction"),
        ("authentication.k8s.io", "v1", "TokenRequest", "io.k8s.api.authentication.v1.TokenRequest"),
        ("meta.k8s.io", "v1", "PartialObjectMetadata", META + "PartialObjectMetadata"),
    ],
)
def test_kinds_that_only_requests_use_are_found(group: str, version: str, kind: str, name: str):
    found = builtin.kind_type(group, version, kind)
    assert found is not None
    assert found.name == name


def test_an_unknown_kind_has_no_type():
    assert builtin.kind_type("", "v1", "Gizmo") is None
    assert builtin.kind_type("batch", "v2", "Job") is None
    with pytest.raises(KeyError):
        builtin.type_named("io.k8s.api.core.v1.Gizmo")


def test_deleting_a_pod_answers_the_pod_and_deleting_a_node_a_status():
    assert builtin.returns_deleted("pods")
    assert builtin.returns_deleted("storageclasses.storage.k8s.io")
    assert not builtin.returns_deleted("nodes")


def test_registries_are_independent_but_share_their_types():
    first, second = builtin.load_registry(), builtin.load_registry()
    jobs = first.by_key("jobs.batch")
    assert jobs is not None
    first.remove(jobs)
    assert second.by_key("jobs.batch") is jobs
    assert first.schema("v1", "Pod") is second.schema("v1", "Pod")


def test_the_data_is_of_the_version_that_is_claimed():
    assert builtin._data()["version"] == builtin.VERSION
    assert builtin.VERSION.startswith(f"v{builtin.MAJOR}.{builtin.MINOR}.")


def test_the_data_holds_no_prose():
    def words(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            for value in node.values():
                yield from words(value)
        elif isinstance(node, list):
            for value in node:
                yield from words(value)
        elif isinstance(node, str):
            yield node

    assert max(word.count(" ") for word in words(orjson.loads(orjson.dumps(builtin._data())))) == 0
