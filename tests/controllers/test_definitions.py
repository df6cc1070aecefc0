"""Definitions: how custom resources are established, compete for names, and end."""

from __future__ import annotations

from typing import Any

import pytest

from ghostfleet.core.errors import ApiError

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}


def definition(plural: str, kind: str, group: str = "example.com", **more: Any) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
    return {
        "metadata": {"name": f"{plural}.{group}", **more.pop("metadata", {})},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, **more.pop("names", {})},
            "versions": more.pop("versions", [version]),
        },
    }


def conditions(lab: Any, name: str) -> dict[str, tuple[str, str, str]]:
    found = lab.get(DEFINITIONS, name)["status"]["conditions"]
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in found}


def test_a_new_definition_is_established_and_its_resource_served(lab):
    lab.create(DEFINITIONS, definition("widgets", "Widget", names={"shortNames": ["wd"]}))
    assert conditions(lab, "widgets.example.com") == {
        "NamesAccepted": ("True", "NoConflicts", "no conflicts found"),
        "Established": ("True", "InitialNamesAccepted", "the initial names have been accepted"),
    }
    status = lab.get(DEFINITIONS, "widgets.example.com")["status"]
    assert status["acceptedNames"] == {
        "plural": "widgets", "singular": "widget", "shortNames": ["wd"], "kind": "Widget", "listKind": "WidgetList"
    }  # fmt: skip
    assert status["storedVersions"] == ["v1"]
    made = lab.create("widgets.example.com", {"metadata": {"name": "a"}, "spec": {"size": 3, "nope": 1}})
    assert made["spec"] == {"size": 3}
    assert made["metadata"]["generation"] == 1


def test_a_definition_that_is_wrong_is_refused_with_the_words_of_kubernetes(lab):
    with pytest.raises(
        ApiError, match="spec.versions: Invalid value: .* must have exactly one version marked as"
    ) as caught:
        lab.create(DEFINITIONS, definition("widgets", "Widget", versions=[]))
    assert caught.value.code == 422
    misnamed = definition("widgets", "Widget") | {"metadata": {"name": "gadgets.example.com"}}
    with pytest.raises(ApiError, match=r'metadata.name: .* must be spec.names.plural\+"."\+spec.group'):
        lab.create(DEFINITIONS, misnamed)


def test_an_established_definition_keeps_its_scope_and_kind(lab):
    lab.create(DEFINITIONS, definition("widgets", "Widget"))
    with pytest.raises(ApiError, match='spec.scope: Invalid value: "Cluster": field is immutable'):
        lab.patch(DEFINITIONS, "widgets.example.com", {"spec": {"scope": "Cluster"}})
    with pytest.raises(ApiError, match='spec.names.kind: Invalid value: "Other": field is immutable'):
        lab.patch(DEFINITIONS, "widgets.example.com", {"spec": {"names": {"kind": "Other"}}})


def test_names_in_use_hold_a_definition_back_until_they_are_free(lab):
    lab.create(DEFINITIONS, definition("alphas", "Alpha", names={"shortNames": ["al"]}))
    rival = definition("betas", "Alpha", names={"shortNames": ["al", "be"], "singular": "alphas"})
    lab.create(DEFINITIONS, rival)
    assert conditions(lab, "betas.example.com") == {
        "NamesAccepted": ("False", "ListKindConflict", '"AlphaList" is already in use'),
        "Established": ("False", "NotAccepted", "not all names are accepted"),
    }
    assert lab.get(DEFINITIONS, "betas.example.com")["status"]["acceptedNames"] == {"plural": "betas", "kind": ""}
    assert lab.cluster.registry.by_key("betas.example.com") is None
    lab.patch(DEFINITIONS, "alphas.example.com", {"spec": {"names": {"shortNames": ["xx"]}}})
    accepted = lab.get(DEFINITIONS, "betas.example.com")["status"]["acceptedNames"]
    assert accepted == {"plural": "betas", "kind": "", "shortNames": ["al", "be"]}
    lab.delete(DEFINITIONS, "alphas.example.com")
    assert conditions(lab, "betas.example.com")["Established"][0] == "True"
    assert lab.cluster.registry.by_key("betas.example.com").singular == "alphas"


def test_the_same_names_in_another_group_are_free(lab):
    lab.create(DEFINITIONS, definition("widgets", "Widget"))
    lab.create(DEFINITIONS, definition("widgets", "Widget", "example.org"))
    assert conditions(lab, "widgets.example.org")["NamesAccepted"][0] == "True"


def test_an_established_definition_keeps_its_names_when_it_asks_for_taken_ones(lab):
    lab.create(DEFINITIONS, definition("alphas", "Alpha", names={"shortNames": ["al"]}))
    lab.create(DEFINITIONS, definition("betas", "Beta", names={"shortNames": ["be"]}))
    lab.patch(DEFINITIONS, "betas.example.com", {"spec": {"names": {"shortNames": ["al"]}}})
    assert conditions(lab, "betas.example.com")["NamesAccepted"] == (
        "False", "ShortNamesConflict", '"al" is already in use'
    )  # fmt: skip
    assert conditions(lab, "betas.example.com")["Established"][0] == "True"
    assert lab.cluster.registry.by_key("betas.example.com").short_names == ("be",)


def test_a_changed_schema_holds_from_then_on(lab):
    lab.create(DEFINITIONS, definition("widgets", "Widget"))
    narrowed = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "string"}}}},
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": narrowed}}
    lab.patch(DEFINITIONS, "widgets.example.com", {"spec": {"versions": [version]}})
    with pytest.raises(ApiError, match='spec.size in body must be of type string: "integer"'):
        lab.create("widgets.example.com", {"metadata": {"name": "a"}, "spec": {"size": 3}})


def test_a_second_storage_version_is_remembered_beside_the_first(lab):
    lab.create(DEFINITIONS, definition("widgets", "Widget"))
    old = {"name": "v1", "served": True, "storage": False, "schema": {"openAPIV3Schema": SCHEMA}}
    new = {"name": "v2", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
    lab.patch(DEFINITIONS, "widgets.example.com", {"spec": {"versions": [old, new]}})
    assert lab.get(DEFINITIONS, "widgets.example.com")["status"]["storedVersions"] == ["v1", "v2"]
    assert lab.cluster.registry.by_key("widgets.example.com").storage_version == "v2"
    with pytest.raises(ApiError, match="v1 was previously a storage version"):
        lab.patch(DEFINITIONS, "widgets.example.com", {"spec": {"versions": [new]}})


def test_a_deleted_definition_takes_its_objects_with_it(lab):
    lab.create(DEFINITIONS, definition("widgets", "Widget"))
    lab.create("widgets.example.com", {"metadata": {"name": "a"}})
    lab.create("widgets.example.com", {"metadata": {"name": "b"}})
    _, gone = lab.delete(DEFINITIONS, "widgets.example.com")
    assert not gone
    assert lab.names(DEFINITIONS) == []
    assert lab.store.count("widgets.example.com") == 0
    assert lab.cluster.registry.by_key("widgets.example.com") is None


def test_an_object_with_a_finalizer_holds_its_definition(lab):
    lab.create(DEFINITIONS, definition("widgets", "Widget"))
    lab.create("widgets.example.com", {"metadata": {"name": "a", "finalizers": ["example.com/hold"]}})
    lab.delete(DEFINITIONS, "widgets.example.com")
    assert conditions(lab, "widgets.example.com")["Terminating"] == (
        "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"
    )  # fmt: skip
    assert lab.names("widgets.example.com") == ["a"]
    lab.patch("widgets.example.com", "a", {"metadata": {"finalizers": None}})
    assert lab.names(DEFINITIONS) == []
    assert lab.cluster.registry.by_key("widgets.example.com") is None


def test_a_definition_that_came_back_starts_empty(lab):
    lab.create(DEFINITIONS, definition("widgets", "Widget"))
    lab.create("widgets.example.com", {"metadata": {"name": "a"}})
    lab.delete(DEFINITIONS, "widgets.example.com")
    lab.create(DEFINITIONS, definition("widgets", "Widget"))
    assert lab.names("widgets.example.com") == []


def test_groups_of_the_community_say_whether_their_api_was_approved(lab):
    group = "custom.k8s.io"
    with pytest.raises(ApiError, match="protected groups must have approval annotation"):
        lab.create(DEFINITIONS, definition("widgets", "Widget", group))
    note = {"annotations": {"api-approved.kubernetes.io": "https://example.com/approval"}}
    lab.create(DEFINITIONS, definition("widgets", "Widget", group, metadata=note))
    assert conditions(lab, f"widgets.{group}")["KubernetesAPIApprovalPolicyConformant"] == (
        "True", "ApprovedAnnotation", "approved in https://example.com/approval"
    )  # fmt: skip
    note = {"metadata": {"annotations": {"api-approved.kubernetes.io": "unapproved, a test"}}}
    lab.patch(DEFINITIONS, f"widgets.{group}", note)
    assert conditions(lab, f"widgets.{group}")["KubernetesAPIApprovalPolicyConformant"] == (
        "False", "UnapprovedAnnotation", 'not approved: "unapproved, a test"'
    )  # fmt: skip


def test_a_definition_on_its_way_out_takes_no_new_objects(lab):
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    names = {"plural": "things", "singular": "thing", "kind": "Thing"}
    spec = {"group": "end.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    definitions = "customresourcedefinitions.apiextensions.k8s.io"
    lab.create(definitions, {"metadata": {"name": "things.end.example.com"}, "spec": spec})
    lab.create("things.end.example.com", {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}})
    lab.delete(definitions, "things.end.example.com")
    with pytest.raises(ApiError, match="create not allowed while custom resource definition is terminating") as caught:
        lab.create("things.end.example.com", {"metadata": {"name": "late"}})
    assert caught.value.code == 403
    lab.patch("things.end.example.com", "held", {"metadata": {"finalizers": None}})
    assert lab.cluster.registry.by_key("things.end.example.com") is None
    assert lab.names(definitions) == []
