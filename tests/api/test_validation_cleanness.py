"""Unions in the schemas of definitions; the answers are those of a real API server."""

from __future__ import annotations

from typing import Any

import pytest

from ghostfleet.api.builtin import load_registry
from ghostfleet.api.validation import normalise
from ghostfleet.core.errors import ApiError

DEFINITION = load_registry().schema("apiextensions.k8s.io/v1", "CustomResourceDefinition")
FIELD = "json: cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema"


def read(node: dict[str, Any]) -> tuple[Any, list[str]]:
    """What becomes of a node below the root of a definition's schema."""
    assert DEFINITION is not None
    schema = {"type": "object", "properties": {"spec": node}}
    obj = {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}}
    clean, unknown = normalise(obj, DEFINITION, kind="CustomResourceDefinition", version="v1")
    return clean["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"], unknown


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ({"items": [5]}, f"{FIELD}.properties.items of type v1.JSONSchemaProps"),
        ({"items": {"type": 5}}, f"{FIELD}.properties.items.type of type string"),
        ({"additionalProperties": 5}, "boolean or JSON schema expected"),
        ({"additionalProperties": []}, "boolean or JSON schema expected"),
        ({"additionalProperties": {"type": 5}}, f"{FIELD}.properties.additionalProperties.type of type string"),
        (
            {"properties": {"a": {"items": {"properties": {"b": 7}}}}},
            f"{FIELD}.properties.properties.items.properties of type v1.JSONSchemaProps",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_told_with_its_place(node: dict[str, Any], words: str) -> None:
    with pytest.raises(ApiError) as refused:
        read(node)
    assert refused.value.code == 400
    assert refused.value.message.endswith(f"cannot be handled as a CustomResourceDefinition: {words}")


@pytest.mark.parametrize(
    "node",
    [
        {"items": {"type": "string"}},
        {"items": [{"type": "string"}, {"items": {"type": "object"}}]},
        {"items": None},
        {"additionalProperties": True},
        {"additionalProperties": {"additionalProperties": False}},
        {"dependencies": {"a": ["b"], "c": {"type": "object"}}},
    ],
)
def test_both_sides_of_a_union_are_kept(node: dict[str, Any]) -> None:
    assert read(node) == (node, [])


@pytest.mark.parametrize("value", [False, "x", 5])
def test_what_is_neither_schema_nor_list_counts_as_nothing(value: Any) -> None:
    assert read({"items": value}) == ({"items": None}, [])


def test_unknown_words_inside_are_lost_without_being_told() -> None:
    assert read({"items": {"type": "string", "zzz": 1}}) == ({"items": {"type": "string"}}, [])
