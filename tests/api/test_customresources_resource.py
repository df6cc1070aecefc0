"""The resource that a definition defines."""

from __future__ import annotations

from typing import Any

import pytest

from ghostfleet.api import customresources
from ghostfleet.api.kinds import Column, ScalePaths
from ghostfleet.core.errors import ApiError
from ghostfleet.core.patch import server_side_apply

SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}


def version(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "served": True, "storage": False, "schema": {"openAPIV3Schema": SCHEMA}, **more}


def definition(*versions: dict[str, Any], **names: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", **names},
            "versions": list(versions),
        },
    }


def test_names_scope_and_versions_are_the_definitions():
    made = customresources.resource_of(
        definition(version("v1", storage=True), version("v2", served=False), shortNames=["wd"], categories=["all"])
    )
    assert (made.key, made.singular, made.kind, made.list_kind) == (
        "widgets.example.com",
        "widget",
        "Widget",
        "WidgetList",
    )
    assert (made.short_names, made.categories) == (("wd",), ("all",))
    assert (made.namespaced, made.custom, made.storage_version) == (True, True, "v1")
    assert {name: each.served for name, each in made.versions.items()} == {"v1": True, "v2": False}
    assert made.subresources == {}
    assert made.scale is None


def test_each_version_has_its_own_columns_and_selectable_fields():
    column = {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1, "description": "how large"}
    made = customresources.resource_of(
        definition(
            version("v1", storage=True, additionalPrinterColumns=[column]),
            version("v2", selectableFields=[{"jsonPath": ".spec.size"}]),
        )
    )
    assert made.versions["v1"].columns == (Column("Size", "integer", ".spec.size", "how large", "", 1),)
    assert made.versions["v2"].columns == ()
    assert made.versions["v2"].selectable_fields == (".spec.size",)


def test_a_subresource_of_any_version_is_one_of_the_resource():
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size", "labelSelectorPath": ".status.sel"}
    other = {**scale, "specReplicasPath": ".spec.other"}
    made = customresources.resource_of(
        definition(
            version("v1", subresources={"status": {}, "scale": other}),
            version("v2", storage=True, subresources={"scale": scale}),
        )
    )
    assert made.subresources["status"] == ("example.com", "v2", "Widget", ("get", "patch", "update"))
    assert made.subresources["scale"] == ("autoscaling", "v1", "Scale", ("get", "patch", "update"))
    assert made.scale == ScalePaths(".spec.size", ".status.size", ".status.sel")


@pytest.mark.parametrize(
    ("versions", "warning"),
    [
        ([version("v1beta1", deprecated=True), version("v1")], "; use example.com/v1 Widget"),
        ([version("v1beta1", deprecated=True), version("v1"), version("v2")], "; use example.com/v2 Widget"),
        ([version("v1beta1", deprecated=True), version("v1alpha1")], ""),
        ([version("v1beta1", deprecated=True), version("v1", served=False)], ""),
        ([version("v1beta1", deprecated=True), version("v1", deprecated=True)], ""),
    ],
)
def test_a_deprecated_version_points_to_the_best_newer_one(versions, warning):
    versions[0]["storage"] = True
    made = customresources.resource_of(definition(*versions))
    assert made.versions["v1beta1"].deprecated == f"example.com/v1beta1 Widget is deprecated{warning}"


def test_the_authors_deprecation_warning_is_told():
    made = customresources.resource_of(
        definition(version("v1", storage=True, deprecated=True, deprecationWarning="gone soon"))
    )
    assert made.storage.deprecated == "gone soon"
    assert customresources.resource_of(definition(version("v1", storage=True))).storage.deprecated == ""


def test_a_schema_that_is_not_structural_makes_no_resource():
    shapeless = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {}}}}
    with pytest.raises(ApiError, match="must not be empty for specified object fields"):
        customresources.resource_of(definition(version("v1", storage=True, schema=shapeless)))


def test_types_say_how_server_side_apply_merges():
    item = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
    }
    fields = {
        "keyed": {
            "type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]
        },
        "words": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        "port": {"x-kubernetes-int-or-string": True},
        "any": {"x-kubernetes-preserve-unknown-fields": True},
        "raw": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    }  # fmt: skip
    raw = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    made = customresources.resource_of(definition(version("v1", storage=True, schema={"openAPIV3Schema": raw})))
    spec = made.storage.schema.fields["spec"]
    assert (spec.fields["keyed"].topology, spec.fields["keyed"].map_keys) == ("map", ("name",))
    assert spec.fields["words"].topology == "set"
    assert spec.fields["whole"].atomic
    assert [spec.fields[name].sort for name in ("port", "any", "raw")] == ["intorstring", "any", "object"]
    assert spec.fields["raw"].preserve
    assert list(made.storage.schema.fields) == ["apiVersion", "kind", "metadata", "spec"]


def test_two_appliers_each_keep_their_items_of_a_keyed_list():
    item = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
    }
    keyed = {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    raw = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"keyed": keyed}}}}
    schema = customresources.resource_of(
        definition(version("v1", storage=True, schema={"openAPIV3Schema": raw}))
    ).storage.schema
    base = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}
    settings = {"api_version": "example.com/v1", "time": "2026-01-01T00:00:00Z"}
    first = {**base, "spec": {"keyed": [{"name": "x", "n": 1}]}}
    live, managed = server_side_apply(None, first, schema, manager="one", **settings)
    live = {**live, "metadata": {**live["metadata"], "managedFields": managed}}
    second = {**base, "spec": {"keyed": [{"name": "y", "n": 2}]}}
    merged, _ = server_side_apply(live, second, schema, manager="two", **settings)
    assert merged["spec"]["keyed"] == [{"name": "x", "n": 1}, {"name": "y", "n": 2}]
