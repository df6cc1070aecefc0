from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.errors import ApiError
from ghostfleet.core.patch import server_side_apply
from ghostfleet.core.schema import ANY

NOON, LATER = "2026-01-01T12:00:00Z", "2026-01-01T13:00:00Z"


def config(**spec):
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}


def apply(live, applied, schema, manager="one", force=False, time=NOON, **options):
    new, entries = server_side_apply(live, applied, schema, manager, "example.com/v1", time, force, **options)
    return {**new, "metadata": {**new["metadata"], "managedFields": entries}}


def entries(obj):
    return obj["metadata"]["managedFields"]


def fields_of(obj, manager):
    return next((entry["fieldsV1"] for entry in entries(obj) if entry["manager"] == manager), None)


def test_an_applier_owns_leaves_and_items_but_not_what_holds_them(thing):
    obj = apply(None, config(size=1, parts=[{"name": "a", "ports": [{"port": 80}]}], options={"k": "v"}), thing)
    assert fields_of(obj, "one") == {
        "f:spec": {
            "f:options": {"f:k": {}},
            "f:parts": {
                'k:{"name":"a"}': {
                    ".": {},
                    "f:name": {},
                    "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}},
                }
            },
            "f:size": {},
        }
    }


def test_applying_the_same_again_gives_the_live_object_and_its_entries(thing):
    obj = apply(None, config(size=1), thing)
    new, owned = server_side_apply(obj, config(size=1), thing, "one", "example.com/v1", LATER)
    assert new is obj
    assert owned is entries(obj)


def test_what_nobody_touches_is_shared_with_the_live_object(thing):
    obj = apply(None, config(size=1, parts=[{"name": "a"}, {"name": "b"}]), thing)
    before = copy.deepcopy(obj)
    new = apply(obj, config(parts=[{"name": "a", "image": "i"}]), thing, "two")
    assert new["spec"]["parts"][1] is obj["spec"]["parts"][1]
    assert obj == before


def test_a_second_applier_of_the_same_value_shares_it_and_has_no_time_yet(thing):
    obj = apply(apply(None, config(size=1), thing), config(size=1), thing, "two", time=LATER)
    assert fields_of(obj, "one") == fields_of(obj, "two") == {"f:spec": {"f:size": {}}}
    assert [entry.get("time") for entry in entries(obj)] == [None, NOON]


def test_a_field_goes_with_its_last_owner(thing):
    obj = apply(apply(None, config(size=1, options={"k": "v"}), thing), config(size=1), thing, "two")
    obj = apply(obj, config(), thing)
    assert obj["spec"] == {"size": 1}
    obj = apply(obj, config(), thing, "two")
    assert "size" not in obj.get("spec", {})


def test_a_conflict_names_manager_version_and_field(thing):
    live = apply(None, config(size=1), thing, "a")
    live = {**live, "metadata": {**live["metadata"], "managedFields": [{**entries(live)[0], "operation": "Update"}]}}
    with pytest.raises(ApiError) as caught:
        apply(live, config(size=2), thing, "two")
    assert caught.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Apply failed with 1 conflict: conflict with "a" using example.com/v1: .spec.size',
        "reason": "Conflict",
        "details": {
            "causes": [
                {
                    "reason": "FieldManagerConflict",
                    "message": 'conflict with "a" using example.com/v1',
                    "field": ".spec.size",
                }
            ]
        },
        "code": 409,
    }


def test_several_conflicts_are_listed_by_manager(thing):
    live = apply(
        apply(None, config(size=1, options={"k": "v"}), thing, "a"), config(size=1), thing, "b", subresource="x"
    )
    with pytest.raises(ApiError) as caught:
        apply(live, config(size=2, options={"k": "w"}), thing, "two")
    assert caught.value.message == (
        'Apply failed with 3 conflicts: conflicts with "a":\n- .spec.size\n- .spec.options.k\n'
        'conflicts with "b" with subresource "x":\n- .spec.size'
    )


def test_force_takes_the_field_over(thing):
    obj = apply(apply(None, config(size=1), thing), config(size=2), thing, "two", force=True)
    assert obj["spec"] == {"size": 2}
    assert [entry["manager"] for entry in entries(obj)] == ["two"]


def test_an_object_that_was_never_tracked_belongs_to_its_past(thing):
    live = {**config(size=1), "metadata": {"name": "a", "uid": "1"}}
    obj = apply(live, config(options={"k": "v"}), thing, time=LATER)
    assert fields_of(obj, "before-first-apply") == {"f:spec": {"f:size": {}}}
    with pytest.raises(ApiError, match="before-first-apply"):
        apply(live, config(size=2), thing)


@pytest.mark.parametrize(
    ("applied", "code", "message"),
    [
        ({"apiVersion": "example.com/v1", "kind": "Other"}, 400, "invalid object type: example.com/v1, Kind=Other"),
        ({"kind": "Thing"}, 400, "invalid object type: /, Kind=Thing"),
        ({**config(), "metadata": {"managedFields": []}}, 400, "metadata.managedFields must be nil"),
        (config(nope=1), 500, "(/a; example.com/v1, Kind=Thing): .spec.nope: field not declared in schema"),
        (config(size="1"), 500, ".spec.size: expected numeric (int or float), got string"),
        (config(size=1, options=[]), 500, ".spec.options: expected map, got &{[]}"),
        (config(parts={}), 500, ".spec.parts: expected list, got &{map[]}"),
        (config(parts=[{"name": "a"}, {"name": "a"}]), 500, '.spec.parts: duplicate entries for key [name="a"]'),
        (config(parts=[{"image": "a"}]), 500, 'an element that omits all key fields ["name"]'),
        (config(parts=[None]), 500, ".spec.parts: element 0: associative list with keys may not have a null element"),
        (config(options={"k": 1}), 500, ".spec.options.k: expected string, got &value.valueUnstructured{Value:1}"),
    ],
)
def test_what_cannot_be_merged_is_refused(thing, applied, code, message):
    with pytest.raises(ApiError) as caught:
        apply(None, applied, thing, kind="Thing")
    assert caught.value.code == code
    assert message in caught.value.message


def test_a_kind_without_a_schema_merges_maps_and_replaces_lists():
    one = {"apiVersion": "example.com/v1", "kind": "Free", "metadata": {"name": "a"}, "m": {"a": 1}, "l": [1]}
    two = {"apiVersion": "example.com/v1", "kind": "Free", "metadata": {"name": "a"}, "m": {"b": {"c": 2}}}
    obj = apply(apply(None, one, ANY), two, ANY, "two")
    assert obj["m"] == {"a": 1, "b": {"c": 2}}
    assert fields_of(obj, "two") == {"f:m": {".": {}, "f:b": {".": {}, "f:c": {}}}}
    with pytest.raises(ApiError, match=r"\.l$"):
        apply(obj, {**two, "l": [2]}, ANY, "two")


def test_kubectl_takes_over_what_client_side_apply_set_and_keeps_its_annotation(thing):
    last = "kubectl.kubernetes.io/last-applied-configuration"
    text = '{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"size":1}}\n'
    made = {**config(size=1), "metadata": {"name": "a", "annotations": {last: text}}}
    live = apply(None, made, thing, "kubectl-client-side-apply")
    with pytest.raises(ApiError):
        apply(live, config(size=2), thing, "else")
    obj = apply(live, config(size=2), thing, "kubectl")
    assert obj["metadata"]["annotations"][last] == text.replace('"size":1', '"size":2')


NAMES = st.lists(st.sampled_from("abcdef"), unique=True, max_size=6)


@given(NAMES, NAMES)
def test_applied_items_stand_as_applied_and_live_ones_stay(thing, live, wanted):
    obj = apply(None, config(parts=[{"name": name} for name in live]), thing)
    parts = apply(obj, config(parts=[{"name": name} for name in wanted]), thing, "two")["spec"].get("parts", [])
    names = [part["name"] for part in parts]
    assert sorted(names) == sorted({*live, *wanted})
    assert [name for name in names if name in wanted] == wanted
    assert [name for name in names if name not in wanted] == [name for name in live if name not in wanted]


@given(st.lists(NAMES, min_size=1, max_size=4))
def test_a_lone_applier_gets_just_what_it_applied_last(thing, sequence):
    obj = None
    for names in sequence:
        obj = apply(obj, config(size=1, parts=[{"name": name, "image": name} for name in names]), thing)
    assert (obj["spec"].get("parts") or []) == [{"name": name, "image": name} for name in sequence[-1]]
    assert obj["spec"]["size"] == 1
