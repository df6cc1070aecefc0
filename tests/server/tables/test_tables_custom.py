"""Columns of custom resources."""

from __future__ import annotations

from typing import Any

import pytest

from ghostfleet.api.kinds import Column, Resource, Version
from ghostfleet.core.schema import ANY
from ghostfleet.core.timestamps import parse_rfc3339
from ghostfleet.server.tables import columns, row

NOW = parse_rfc3339("2026-01-01T02:00:00Z")


def widgets(*declared: Column) -> tuple[Resource, Version]:
    version = Version("v1", ANY, columns=declared)
    return Resource("example.com", "widgets", "widget", "Widget", True, "v1", {"v1": version}, custom=True), version


def cell(sort: str, *value: Any) -> Any:
    spec = {"value": value[0]} if value else {}
    served = widgets(Column("Value", sort, ".spec.value"))
    return row(*served, {"metadata": {"name": "w"}, "spec": spec}, NOW)[1]


def test_a_resource_without_columns_shows_its_age():
    served = widgets()
    assert [(entry["name"], entry["type"]) for entry in columns(*served)] == [("Name", "string"), ("Age", "date")]
    created = {"metadata": {"name": "w", "creationTimestamp": "2026-01-01T00:00:00Z"}}
    assert row(*served, created, NOW) == ["w", "120m"]


def test_a_column_that_describes_itself_keeps_its_words_and_others_name_their_path():
    served = widgets(
        Column("A", "integer", ".spec.a", description="how many", format="int32", priority=1),
        Column("B", "string", ".spec.b"),
    )
    _, first, second = columns(*served)
    assert first == {"name": "A", "type": "integer", "format": "int32", "description": "how many", "priority": 1}
    assert second["description"] == "Custom resource definition column (in JSONPath format): .spec.b"


def test_columns_end_before_the_first_path_that_cannot_be_read():
    served = widgets(Column("A", "string", ".a"), Column("B", "string", ".b[?("), Column("C", "string", ".c"))
    assert [entry["name"] for entry in columns(*served)] == ["Name", "A"]
    assert row(*served, {"metadata": {"name": "w"}, "a": "1", "c": "3"}, NOW) == ["w", "1"]


@pytest.mark.parametrize("sort", ["string", "integer", "number", "boolean", "date"])
def test_a_value_that_is_not_there_is_null(sort):
    assert cell(sort) is None


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ("a b", "a b"),
        ("", ""),
        (7, "7"),
        (True, "true"),
        (None, "<no value>"),
        (1.5, "1.5"),
        (3.0, "3"),
        (1234567.5, "1.2345675e+06"),
        (1e-7, "1e-07"),
        (1e20, "1e+20"),
        (-0.0001, "-0.0001"),
        (["a", 1], '["a",1]'),
        ({"b": "<&>", "a": None}, '{"a":null,"b":"\\u003c\\u0026\\u003e"}'),
    ],
)
def test_a_column_of_text_prints_whatever_it_finds(value, printed):
    assert cell("string", value) == printed


@pytest.mark.parametrize(
    ("sort", "value", "shown"),
    [
        ("integer", 5, 5),
        ("integer", 5.9, 5),
        ("integer", -5.9, -5),
        ("integer", "5", None),
        ("integer", True, None),
        ("integer", None, None),
        ("number", 5, 5),
        ("number", 2.5, 2.5),
        ("number", True, None),
        ("boolean", False, False),
        ("boolean", "true", None),
        ("boolean", 1, None),
        ("date", "2026-01-01T01:59:00Z", "60s"),
        ("date", "2026-01-01T03:59:00+02:00", "60s"),
        ("date", "", "<unknown>"),
        ("date", "yesterday", "<invalid>"),
        ("date", 5, None),
    ],
)
def test_a_typed_column_takes_values_of_its_type_only(sort, value, shown):
    assert cell(sort, value) == shown
    assert isinstance(cell(sort, value), bool) == isinstance(shown, bool)
