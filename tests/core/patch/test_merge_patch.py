from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.errors import ApiError
from ghostfleet.core.patch import apply_merge_patch

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["x", "y"])
VALUES = st.recursive(SCALARS, lambda inner: st.lists(SCALARS, max_size=2) | st.dictionaries(NAMES, inner, max_size=3))
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=3)


def by_the_standard(target, patch):
    """The algorithm as RFC 7386 states it."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = by_the_standard(result.get(name), value)
    return result


@given(OBJECTS, OBJECTS)
def test_patches_do_what_the_standard_says_and_leave_their_target_alone(target, patch):
    before = copy.deepcopy((target, patch))
    assert apply_merge_patch(target, patch) == by_the_standard(target, patch)
    assert (target, patch) == before


@given(OBJECTS, OBJECTS)
def test_a_patch_applied_twice_changes_nothing_more(target, patch):
    once = apply_merge_patch(target, patch)
    assert apply_merge_patch(once, patch) is once


def test_what_a_patch_does_not_touch_is_shared():
    target = {"a": {"b": 1, "c": {"d": 1}}, "e": {}}
    patched = apply_merge_patch(target, {"a": {"b": 2}})
    assert patched["a"]["c"] is target["a"]["c"]
    assert patched["e"] is target["e"]


def test_nulls_of_new_objects_are_dropped_inside_lists_too():
    patch = {"new": {"a": None, "b": [{"c": None, "d": 1}, None]}}
    assert apply_merge_patch({}, patch) == {"new": {"b": [{"d": 1}, None]}}


def test_one_and_true_are_different_values():
    assert apply_merge_patch({"a": 1}, {"a": True})["a"] is True


@pytest.mark.parametrize("patch", [[], "x", None, 1])
def test_a_patch_that_is_no_object_is_a_bad_request(patch):
    with pytest.raises(ApiError) as caught:
        apply_merge_patch({}, patch)
    assert caught.value.code == 400
