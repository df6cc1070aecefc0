"""The short way to answer jq queries must answer as the language does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.languages.jq import JqError, compile_jq
from ghostfleet.stages.selectors import question

QUERIES = [
    ".status.phase",
    ".metadata.deletionTimestamp",
    '.metadata.annotations["a.b/c"]',
    '."status"."phase"',
    ".status.conditions.[]",
    '.status.conditions.[] | select( .type == "Ready" ) | .status',
    '.status.conditions[] | select(.type == "Ready")',
    ".status.containerStatuses.[].state.running.startedAt",
    ".metadata.ownerReferences.[].kind",
    ".status",
    ".",
    ".status.conditions | length",
    '.status.phase == "Running"',
    ".status.conditions.[].a.[].b",
    ".metadata.finalizers",
]

leaves = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from(["Ready", "True", "Running", ""]))
things = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["type", "status", "a", "b", "state", "running", "kind"]), inner, max_size=3),
    ),
    max_leaves=8,
)
parts = st.one_of(
    things,
    st.dictionaries(
        st.sampled_from(["phase", "conditions", "containerStatuses", "annotations", "ownerReferences"]), things
    ),
)
objects = st.dictionaries(st.sampled_from(["status", "metadata"]), parts)


def by_language(text, obj):
    try:
        return [output for output in compile_jq(text).run(obj) if output is not None]
    except JqError:
        return []


def plain(outputs):
    """Ints within what is found are left as they are: only whole numbers are ever compared."""
    return [output for output in outputs if not isinstance(output, dict | list)], len(outputs)


@pytest.mark.parametrize("text", QUERIES)
@given(obj=objects)
def test_a_trail_is_followed_as_the_language_would(text, obj):
    assert plain(question(text).ask(obj, 0)) == plain(by_language(text, obj))


def test_numbers_of_an_object_are_floats_but_counted_ones_are_not():
    assert [type(each) for each in question(".n").ask({"n": 3}, 0)] == [float]
    assert [type(each) for each in question(".n | length").ask({"n": [1]}, 0)] == [int]
