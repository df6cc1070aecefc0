"""Rules: what counts as missing, and what is shared."""

from __future__ import annotations

import pytest

from ghostfleet.api.defaults.filling import each, each_value, fill_resource_list, pull_policy, replaced, rule, without
from ghostfleet.api.kindstrategies import same


@pytest.mark.parametrize("missing", [{}, {"a": None}, {"a": ""}, {"a": 0}])
def test_a_zero_field_is_missing_while_it_is_empty(missing):
    assert rule(zero={"a": 1})(missing) == {"a": 1}


def test_an_absent_field_is_missing_only_when_it_is_not_there():
    fill = rule(absent={"a": 1})
    assert fill({}) == fill({"a": None}) == {"a": 1}
    assert fill({"a": 0}) == {"a": 0}


def test_a_null_field_is_shown_as_null():
    shown = rule(null=("at",))({"b": 1})
    assert shown == {"b": 1, "at": None}
    assert rule(null=("at",))(shown) is shown


def test_parts_of_an_absent_field_are_filled_too():
    assert rule(absent={"a": {}}, parts={"a": rule(absent={"b": 1})})({}) == {"a": {"b": 1}}


def test_what_is_complete_comes_back_itself():
    fill = rule(zero={"a": 1}, parts={"b": each(rule(absent={"c": 1})), "d": each_value(rule(absent={"e": 1}))})
    complete = {"a": 2, "b": [{"c": 3}], "d": {"x": {"e": 4}}}
    assert fill(complete) is complete


def test_what_does_not_change_is_shared():
    fill = rule(parts={"b": each(rule(absent={"c": 1}))})
    obj = {"a": {"x": 1}, "b": [{"c": 3}, {}, {"c": 4}]}
    filled = fill(obj)
    assert filled["b"] == [{"c": 3}, {"c": 1}, {"c": 4}]
    assert filled["a"] is obj["a"]
    assert filled["b"][0] is obj["b"][0]
    assert filled["b"][2] is obj["b"][2]


def test_replacing_a_value_by_none_removes_it():
    obj = {"a": 1, "b": 2}
    assert replaced(obj, "a", None) == {"b": 2}
    assert replaced(obj, "a", 1) is obj
    assert without(obj, "c") is obj


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("busybox", "Always"),
        ("busybox:latest", "Always"),
        ("busybox:1.36", "IfNotPresent"),
        ("registry:5000/team/app", "Always"),
        ("registry:5000/team/app:v1", "IfNotPresent"),
        ("app@sha256:" + "0" * 64, "IfNotPresent"),
        ("app:latest@sha256:" + "0" * 64, "Always"),
        ("Upper/case", "Always"),
        ("Upper", "IfNotPresent"),
        ("not an image", "IfNotPresent"),
        ("0" * 64, "IfNotPresent"),
        ("", "IfNotPresent"),
    ],
)
def test_the_tag_of_an_image_says_when_to_pull_it(image, policy):
    assert pull_policy(image) == policy


def test_amounts_are_kept_in_canonical_form_and_no_finer_than_thousandths():
    amounts = {"cpu": "1500u", "memory": "1024Mi", "nvidia.com/gpu": 8, "bad": "lots"}
    assert fill_resource_list(amounts) == {"cpu": "2m", "memory": "1Gi", "nvidia.com/gpu": "8", "bad": "lots"}
    canonical = {"cpu": "2m", "memory": "1Gi"}
    assert fill_resource_list(canonical) is canonical


def test_an_empty_list_means_the_same_as_none_but_an_empty_object_does_not():
    assert same({"a": [], "b": {"c": None}}, {"b": {"c": []}})
    assert not same({"a": {}}, {})
    assert not same({"a": [1]}, {"a": [1, 2]})
    assert not same({"a": "1"}, {"a": "2"})
