from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.errors import ApiError
from ghostfleet.core.patch import apply_strategic_merge


def test_what_a_patch_does_not_touch_is_shared(thing):
    obj = {"spec": {"parts": [{"name": "a", "args": ["x"]}, {"name": "b"}], "options": {"k": "v"}}}
    before = copy.deepcopy(obj)
    patched = apply_strategic_merge(obj, {"spec": {"parts": [{"name": "a", "image": "i"}]}}, thing)
    assert patched["spec"]["parts"] == [{"name": "a", "args": ["x"], "image": "i"}, {"name": "b"}]
    assert patched["spec"]["parts"][1] is obj["spec"]["parts"][1]
    assert patched["spec"]["parts"][0]["args"] is obj["spec"]["parts"][0]["args"]
    assert patched["spec"]["options"] is obj["spec"]["options"]
    assert obj == before


@pytest.mark.parametrize(
    "patch",
    [
        {},
        {"spec": {}},
        {"spec": {"options": {"k": "v"}, "size": 1}},
        {"spec": {"parts": [{"name": "a"}]}},
        {"spec": {"parts": [{"name": "zz", "$patch": "delete"}]}},
        {"spec": {"$setElementOrder/parts": [{"name": "a"}, {"name": "b"}]}},
        {"metadata": {"finalizers": ["f/a"], "labels": None}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["f/z"]}},
    ],
)
def test_a_patch_that_changes_nothing_gives_the_object_itself(thing, patch):
    obj = {
        "metadata": {"finalizers": ["f/a", "f/b"]},
        "spec": {"parts": [{"name": "a"}, {"name": "b"}], "size": 1, "options": {"k": "v"}},
    }
    assert apply_strategic_merge(obj, patch, thing) is obj


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ({"spec": {"parts": [{}]}}, 500, "map: map[] does not contain declared merge key: name"),
        ({"spec": {"parts": [{"$patch": "delete", "image": "i"}]}}, 500, "map: map[$patch:delete image:i] does not"),
        (
            {"spec": {"parts": [{"name": "a", "$patch": "no"}]}},
            500,
            "unknown patch type: no in map: map[$patch:no name:a]",
        ),
        ({"spec": {"parts": ["x"]}}, 500, "list element types are not identical: [[map[name:a]] [x]]"),
        ({"spec": {"parts": [["x"]]}}, 500, "list element types are not identical"),
        ({"spec": {"$retainKeys": "x"}}, 400, "invalid patch format of retainKeys"),
        ({"spec": {"$retainKeys": ["size"], "options": {}}}, 400, "invalid patch format of retainKeys"),
        ({"spec": {"$deleteFromPrimitiveList": []}}, 400, "invalid patch format of primitive list"),
        ({"spec": {"$setElementOrder": []}}, 400, "invalid patch format of setElementOrder list"),
        (
            {"spec": {"$setElementOrder/none": []}},
            500,
            'unable to find api field in struct Spec for the json field "none"',
        ),
        ([], 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
    ],
)
def test_a_bad_patch_is_refused_in_kubernetes_words(thing, patch, code, message):
    with pytest.raises(ApiError) as caught:
        apply_strategic_merge({"spec": {"parts": [{"name": "a"}], "options": {"k": "v"}}}, patch, thing)
    assert caught.value.code == code
    assert message in caught.value.message


NAMES = st.lists(st.sampled_from("abcdef"), unique=True, max_size=6)


@given(NAMES, NAMES)
def test_items_of_the_patch_stand_as_it_has_them_and_nothing_is_lost(thing, live, named):
    obj = {"spec": {"parts": [{"name": name} for name in live]}}
    patch = {"spec": {"parts": [{"name": name, "image": "new"} for name in named]}}
    parts = apply_strategic_merge(obj, patch, thing)["spec"]["parts"]
    names = [part["name"] for part in parts]
    assert sorted(names) == sorted({*live, *named})
    assert [name for name in names if name in named] == named
    assert [name for name in names if name not in named] == [name for name in live if name not in named]


@given(NAMES.filter(bool), st.randoms(use_true_random=False))
def test_a_set_order_is_the_order(thing, live, random):
    obj = {"spec": {"parts": [{"name": name} for name in live]}}
    order = random.sample(live, len(live))
    patch = {"spec": {"$setElementOrder/parts": [{"name": name} for name in order]}}
    assert [part["name"] for part in apply_strategic_merge(obj, patch, thing)["spec"]["parts"]] == order
