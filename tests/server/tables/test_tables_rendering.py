"""Tables as a whole: what stands around the cells."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.api.kinds import Resource, ScalePaths, Version
from ghostfleet.core.errors import ApiError
from ghostfleet.core.schema import ANY
from ghostfleet.core.timestamps import parse_rfc3339
from ghostfleet.server.tables import columns, include_object_of, row, table

NOW = parse_rfc3339("2026-01-01T00:01:40Z")
METADATA = {"name": "sa", "namespace": "default", "creationTimestamp": "2026-01-01T00:00:00Z"}
ACCOUNT = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": METADATA, "secrets": []}
VERSION = Version("v1", ANY)


def resource(key: str, **more: Any) -> Resource:
    plural, _, group = key.partition(".")
    return Resource(group, plural, "", "", True, "v1", {"v1": VERSION}, **more)


ACCOUNTS, PODS, ROLES = resource("serviceaccounts"), resource("pods"), resource("roles.rbac.authorization.k8s.io")
FLOWS = resource("flowschemas.flowcontrol.apiserver.k8s.io")


def test_a_table_carries_the_revision_the_columns_and_a_row_with_metadata_for_each_object():
    made = table(ACCOUNTS, VERSION, [ACCOUNT], revision="420", now_us=NOW)
    assert list(made) == ["kind", "apiVersion", "metadata", "columnDefinitions", "rows"]
    assert made["kind"] == "Table"
    assert made["apiVersion"] == "meta.k8s.io/v1"
    assert made["metadata"] == {"resourceVersion": "420"}
    assert [entry["name"] for entry in made["columnDefinitions"]] == ["Name", "Age"]
    assert made["rows"] == [
        {
            "cells": ["sa", "100s"],
            "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": METADATA},
        }
    ]


def test_a_page_of_a_list_tells_where_to_go_on_and_how_much_is_left():
    made = table(ACCOUNTS, VERSION, [ACCOUNT], revision="7", continue_="token", remaining=30, now_us=NOW)
    assert made["metadata"] == {"resourceVersion": "7", "continue": "token", "remainingItemCount": 30}


def test_an_old_client_gets_the_beta_version_throughout():
    made = table(ACCOUNTS, VERSION, [ACCOUNT], revision="7", now_us=NOW, api="meta.k8s.io/v1beta1")
    assert made["apiVersion"] == "meta.k8s.io/v1beta1"
    assert made["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"


def test_the_object_beside_the_cells_is_the_one_that_was_asked_for():
    def beside(include: Any) -> Any:
        made = table(ACCOUNTS, VERSION, [ACCOUNT], revision="7", now_us=NOW, include_object=include)
        return made["rows"][0]["object"]

    assert beside("Object") is ACCOUNT
    assert beside("None") is None
    assert beside("Metadata")["metadata"] is METADATA


def test_later_events_of_a_watch_come_without_columns():
    made = table(ACCOUNTS, VERSION, [ACCOUNT], revision="420", now_us=NOW, with_columns=False)
    assert made["columnDefinitions"] is None
    assert made["rows"][0]["cells"] == ["sa", "100s"]


def test_the_bookmark_that_ends_the_initial_events_shows_its_annotation_even_to_those_who_want_no_objects():
    bookmark = {"metadata": {"resourceVersion": "538", "annotations": {"k8s.io/initial-events-end": "true"}}}
    made = table(ACCOUNTS, VERSION, [bookmark], revision="538", now_us=NOW, include_object="None")
    assert made["rows"][0]["cells"] == ["", "<unknown>"]
    assert made["rows"][0]["object"]["metadata"] == bookmark["metadata"]


def test_an_empty_table_has_an_empty_list_of_rows_unless_the_kind_has_no_printer():
    assert table(PODS, VERSION, [], revision="1", now_us=NOW)["rows"] == []
    assert table(ROLES, VERSION, [], revision="1", now_us=NOW)["rows"] is None


def test_a_kind_without_printer_shows_when_objects_were_created():
    assert [entry["name"] for entry in columns(ROLES, VERSION)] == ["Name", "Created At"]
    assert row(ROLES, VERSION, ACCOUNT, NOW) == ["sa", "2026-01-01T00:00:00Z"]
    assert row(ROLES, VERSION, {}, NOW) == ["", "0001-01-01T00:00:00Z"]


def test_rows_of_pods_that_ended_say_so():
    pods = [{"status": {"phase": phase}} for phase in ("Running", "Succeeded", "Failed")]
    rows = table(PODS, VERSION, pods, revision="1", now_us=NOW)["rows"]
    assert "conditions" not in rows[0]
    assert [made["conditions"][0]["reason"] for made in rows[1:]] == ["Succeeded", "Failed"]


def test_flow_schemas_are_listed_in_the_order_in_which_they_match():
    schemas = [
        {"metadata": {"name": name}, "spec": {"matchingPrecedence": precedence}}
        for name, precedence in (("late", 9000), ("same-b", 5), ("same-a", 5))
    ]
    rows = table(FLOWS, VERSION, schemas, revision="1", now_us=NOW)["rows"]
    assert [made["cells"][0] for made in rows] == ["same-a", "same-b", "late"]


def test_a_scale_prints_as_a_scale_whatever_it_scales():
    scale = {"metadata": METADATA, "spec": {"replicas": 3}, "status": {"replicas": 2}}
    custom = resource("widgets.example.com", custom=True, scale=ScalePaths(".spec.replicas", ".status.replicas"))
    for scaled, sort in ((resource("deployments.apps"), "string"), (custom, "date")):
        made = table(scaled, VERSION, [scale], revision="1", now_us=NOW, subresource="scale")
        assert [entry["name"] for entry in made["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
        assert made["columnDefinitions"][-1]["type"] == sort
        assert made["rows"][0]["cells"] == ["sa", 3, 2, "100s"]


@pytest.mark.parametrize(
    ("asked", "meant"), [("", "Metadata"), ("Metadata", "Metadata"), ("None", "None"), ("Object", "Object")]
)
def test_a_request_says_which_object_it_wants(asked, meant):
    assert include_object_of(asked) == meant


def test_a_request_for_another_sort_of_object_is_refused():
    with pytest.raises(ApiError) as caught:
        include_object_of("Bogus")
    assert caught.value.code == 400
    assert caught.value.message == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "Bogus": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )


@given(st.lists(st.sampled_from(["Running", "Succeeded", "Pending"]), max_size=8))
def test_a_table_has_one_row_for_each_object_in_order(phases):
    pods = [{"metadata": {"name": f"p{index}"}, "status": {"phase": phase}} for index, phase in enumerate(phases)]
    made = table(PODS, VERSION, pods, revision="1", now_us=NOW)
    assert [found["cells"][0] for found in made["rows"]] == [pod["metadata"]["name"] for pod in pods]
    assert [found["cells"][2] for found in made["rows"]] == phases
    assert orjson.loads(orjson.dumps(made)) == made
