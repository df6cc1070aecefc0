"""What holds for every schema and every value: the quick answers agree with the exact ones, and nothing is done twice."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.api.customresources.defaulting import apply_defaults
from ghostfleet.api.customresources.fitting import compile_table, fits
from ghostfleet.api.customresources.nodes import root_node
from ghostfleet.api.customresources.pruning import normalise
from ghostfleet.api.customresources.structure import structure_errors
from ghostfleet.api.customresources.values import judge
from ghostfleet.api.kinds import Resource, Version

KEYS = st.sampled_from(["a", "b", "c", "metadata", "kind"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-6, 6), st.sampled_from([0.5, 2.0, -1.5, 1e20]), st.text("ab1.", max_size=4)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=12
)


def optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


RESTRICTIONS = optional(
    minimum=st.integers(-3, 3),
    maximum=st.sampled_from([-1, 2, 2.5]),
    exclusiveMinimum=st.booleans(),
    multipleOf=st.sampled_from([2, 0.5]),
    minLength=st.integers(0, 2),
    maxLength=st.integers(0, 3),
    pattern=st.sampled_from(["^a", "b$", "[0-9]"]),
    minItems=st.integers(0, 2),
    maxItems=st.integers(0, 2),
    minProperties=st.integers(0, 2),
    maxProperties=st.integers(0, 2),
    required=st.lists(KEYS, max_size=1),
    enum=st.lists(SCALARS.filter(lambda value: value is not None), min_size=1, max_size=3),
)


def restricted(*parts: dict[str, Any]) -> dict[str, Any]:
    return {key: value for part in parts for key, value in part.items()}


ALTERNATIVES = optional(
    anyOf=st.lists(RESTRICTIONS, min_size=1, max_size=2),
    oneOf=st.lists(RESTRICTIONS, min_size=1, max_size=2),
    allOf=st.lists(RESTRICTIONS, min_size=1, max_size=2),
    **{"not": RESTRICTIONS},
)
LEAVES = st.one_of(
    st.sampled_from(["string", "integer", "number", "boolean"]).map(lambda name: {"type": name}),
    st.just({"type": "integer", "format": "int32"}),
    st.just({"type": "string", "format": "date"}),
    st.just({"x-kubernetes-int-or-string": True}),
    st.just({"x-kubernetes-preserve-unknown-fields": True}),
)


def branches(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    flags = optional(nullable=st.booleans(), **{"x-kubernetes-preserve-unknown-fields": st.just(True)})
    objects = st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3).map(
        lambda fields: {"type": "object", "properties": fields}
    )
    maps = (inner | st.booleans()).map(lambda values: {"type": "object", "additionalProperties": values})
    lists = inner.map(lambda items: {"type": "array", "items": items})
    return st.builds(restricted, objects | maps | lists, flags, RESTRICTIONS, ALTERNATIVES)


SCHEMAS = st.recursive(st.builds(restricted, LEAVES, RESTRICTIONS, ALTERNATIVES), branches, max_leaves=8)


@given(SCHEMAS, VALUES)
def test_a_value_that_fits_has_nothing_wrong_with_it(raw, value):
    errors = judge(raw, value, "x").errors
    if fits(compile_table(raw), value):
        assert errors == {}


@given(SCHEMAS)
def test_a_value_made_of_plain_parts_is_never_looked_at_twice(raw):
    plain = {"type": "object", "properties": {"s": {"type": "string"}, "i": {"type": "integer"}, "l": raw}}
    assert fits(compile_table(plain), {"s": "x", "i": 3})


def served(raw: dict[str, Any]) -> tuple[Resource, Version]:
    version = Version("v1", root_node({"type": "object", "properties": {"spec": raw}}))
    return Resource("example.com", "xs", "x", "X", True, "v1", {"v1": version}, custom=True), version


@given(SCHEMAS, VALUES)
def test_pruning_changes_no_object_it_was_given_and_leaves_nothing_to_prune(raw, value):
    resource, version = served(raw)
    obj = {"apiVersion": "example.com/v1", "kind": "X", "metadata": {"name": "a"}, "spec": value, "more": 1}
    before = copy.deepcopy(obj)
    pruned, unknown = normalise(obj, resource, version)
    assert obj == before
    assert "more" in unknown
    again, nothing = normalise(pruned, resource, version)
    assert again is pruned
    assert nothing == []


@given(SCHEMAS, st.integers(0, 3), VALUES)
def test_defaulting_is_done_once(raw, default, value):
    version = served({"type": "object", "properties": {"d": {"type": "integer", "default": default}, "v": raw}})[1]
    obj = {"metadata": {}, "spec": {"v": value}}
    filled = apply_defaults(obj, version)
    assert filled["spec"]["d"] == default
    assert obj["spec"] == {"v": value}
    assert apply_defaults(filled, version) is filled


@given(SCHEMAS)
def test_these_schemas_are_structural(raw):
    assert structure_errors({"type": "object", "properties": {"spec": raw}}, "x") == []
