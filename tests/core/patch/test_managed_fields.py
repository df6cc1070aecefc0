from __future__ import annotations

import json

import pytest

from ghostfleet.core.patch import apply_merge_patch, reset_fields, same_but_for_times, track_update

NOON, LATER, LAST = "2026-01-01T12:00:00Z", "2026-01-01T13:00:00Z", "2026-01-01T14:00:00Z"


def thing_with(**spec):
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a", "uid": "1"}, "spec": spec}


def created(obj, schema, manager="creator", time=NOON, **options):
    return owned(obj, track_update(None, obj, schema, manager, "example.com/v1", time, **options))


def patched(obj, patch, schema, manager="patcher", time=LATER, **options):
    new = apply_merge_patch(obj, patch)
    return owned(new, track_update(obj, new, schema, manager, "example.com/v1", time, **options))


def owned(obj, entries):
    return {**obj, "metadata": {**obj["metadata"], "managedFields": entries}}


def entries(obj):
    return obj["metadata"]["managedFields"]


def fields_of(obj, manager):
    return next((entry["fieldsV1"] for entry in entries(obj) if entry["manager"] == manager), None)


def test_the_creator_owns_all_it_wrote_but_not_what_a_struct_always_has(thing):
    obj = created(thing_with(size=1, parts=[{"name": "a", "ports": [{"port": 80}]}], options={"k": "v"}), thing)
    assert entries(obj) == [
        {
            "manager": "creator",
            "operation": "Update",
            "apiVersion": "example.com/v1",
            "time": NOON,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:spec": {
                    "f:options": {".": {}, "f:k": {}},
                    "f:parts": {
                        'k:{"name":"a"}': {
                            ".": {},
                            "f:name": {},
                            "f:ports": {".": {}, 'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}},
                        }
                    },
                    "f:size": {},
                }
            },
        }
    ]
    assert list(entries(obj)[0]) == ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1"]


def test_objects_of_one_shape_share_the_set_of_their_fields(thing):
    one = created(thing_with(size=1, options={"k": "v"}), thing)
    other = created(thing_with(size=2, options={"k": "w"}), thing)
    assert fields_of(one, "creator") is fields_of(other, "creator")


def test_a_manager_without_a_name_is_unknown(thing):
    assert entries(created(thing_with(size=1), thing, ""))[0]["manager"] == "unknown"


def test_an_update_takes_what_it_changes_and_leaves_the_rest(thing):
    obj = patched(created(thing_with(size=1, options={"k": "v"}), thing), {"spec": {"size": 2}}, thing)
    assert fields_of(obj, "creator") == {"f:spec": {"f:options": {".": {}, "f:k": {}}}}
    assert fields_of(obj, "patcher") == {"f:spec": {"f:size": {}}}


def test_a_manager_who_loses_all_is_no_longer_listed(thing):
    obj = patched(created(thing_with(size=1), thing), {"spec": {"size": 2}}, thing)
    assert [entry["manager"] for entry in entries(obj)] == ["patcher"]


def test_what_is_removed_is_owned_by_nobody_and_moves_no_time(thing):
    obj = patched(created(thing_with(size=1, options={"k": "v"}), thing), {"spec": {"size": None}}, thing)
    assert [entry["manager"] for entry in entries(obj)] == ["creator"]
    assert entries(obj)[0]["time"] == NOON
    assert fields_of(obj, "creator") == {"f:spec": {"f:options": {".": {}, "f:k": {}}}}


def test_an_update_that_changes_nothing_keeps_the_very_list(thing):
    obj = created(thing_with(size=1), thing)
    assert track_update(obj, obj, thing, "patcher", "example.com/v1", LATER) is entries(obj)
    assert entries(patched(obj, {"spec": {"size": 1}}, thing)) is entries(obj)
    copied = json.loads(json.dumps(obj))
    assert track_update(obj, copied, thing, "patcher", "example.com/v1", LATER) is entries(obj)


def test_two_writes_of_one_manager_are_one_entry_with_the_later_time(thing):
    obj = created(thing_with(size=0), thing)
    obj = patched(obj, {"spec": {"size": 1}}, thing, time=LATER)
    obj = patched(obj, {"metadata": {"labels": {"a": "b"}}}, thing, time=LAST)
    assert len(entries(obj)) == 1
    assert entries(obj)[0]["time"] == LAST
    assert fields_of(obj, "patcher") == {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:spec": {"f:size": {}}}


def test_the_same_manager_through_a_subresource_is_another_entry(thing):
    obj = patched(created(thing_with(size=1), thing), {"spec": {"size": 2}}, thing, "creator", subresource="scale")
    assert [entry.get("subresource") for entry in entries(obj)] == ["scale"]
    assert list(entries(obj)[0])[-1] == "subresource"


def test_the_status_belongs_to_nobody_who_writes_the_object_itself(thing):
    obj = created({**thing_with(size=1), "status": {"phase": "New"}}, thing, has_status=True)
    assert "f:status" not in fields_of(obj, "creator")
    obj = patched(obj, {"status": {"phase": "Old"}}, thing, "kubelet", subresource="status", has_status=True)
    assert fields_of(obj, "kubelet") == {"f:status": {"f:phase": {}}}


def test_the_endpoints_of_a_kind_ignore_each_others_parts():
    assert reset_fields(True, "") == {"f:status": {}}
    assert reset_fields(False, "") == {}
    assert reset_fields(True, "status") == {"f:spec": {}}


def test_nested_fields_can_be_ignored_too(thing):
    obj = created(thing_with(size=1), thing)
    patch = {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}
    obj = patched(obj, patch, thing, ignored={"f:metadata": {"f:labels": {}}})
    assert fields_of(obj, "patcher") == {"f:metadata": {"f:annotations": {".": {}, "f:c": {}}}}


@pytest.mark.parametrize("reset", [[], [{}]])
def test_managed_fields_can_be_reset_and_are_not_tracked_from_then_on(thing, reset):
    obj = patched(
        created(thing_with(size=1), thing), {"metadata": {"managedFields": reset}, "spec": {"size": 2}}, thing
    )
    assert entries(obj) == []
    assert entries(patched(obj, {"spec": {"size": 3}}, thing)) == []


def test_a_request_may_bring_its_own_entries_if_they_are_valid(thing):
    obj = created(thing_with(size=1), thing)
    mine = {**entries(obj)[0], "manager": "renamed"}
    assert fields_of(patched(obj, {"metadata": {"managedFields": [mine]}}, thing), "renamed") is not None
    invalid = [{"manager": "x", "operation": "Guess", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}]
    assert entries(patched(obj, {"metadata": {"managedFields": invalid}}, thing)) is entries(obj)


def test_an_object_of_which_nobody_owns_anything_is_not_tracked(thing):
    assert entries(patched(created(thing_with(), thing), {"spec": {"size": 1}}, thing)) == []


def test_a_subresource_does_not_listen_to_entries_of_the_request(thing):
    obj = created(thing_with(size=1), thing)
    new = patched(obj, {"metadata": {"managedFields": [{}]}}, thing, subresource="status")
    assert entries(new) is entries(obj)


def test_entries_are_sorted_by_operation_then_time_then_manager(thing):
    obj = created(thing_with(size=1, options={"k": "v"}), thing, "z", LATER)
    applier = {**entries(obj)[0], "operation": "Apply", "manager": "y", "time": LAST}
    obj = owned(obj, [applier, *entries(obj)])
    obj = patched(obj, {"metadata": {"labels": {"a": "b"}}}, thing, "b", NOON)
    obj = patched(obj, {"metadata": {"labels": {"c": "d"}}}, thing, "a", LATER)
    assert [entry["manager"] for entry in entries(obj)] == ["y", "b", "a", "z"]


def test_only_ten_updaters_are_kept_and_the_oldest_become_ancient_changes(thing):
    obj = created(thing_with(size=1), thing)
    for number in range(12):
        patch = {"metadata": {"labels": {f"l{number:02}": "x"}}}
        obj = patched(obj, patch, thing, f"m{number:02}", f"2026-01-01T13:{number:02}:00Z")
    managers = [entry["manager"] for entry in entries(obj)]
    assert managers == ["ancient-changes", *(f"m{number:02}" for number in range(3, 12))]
    ancient = fields_of(obj, "ancient-changes")
    assert ancient["f:spec"] == {"f:size": {}}
    assert list(ancient["f:metadata"]["f:labels"]) == [".", "f:l00", "f:l01", "f:l02"]
    assert entries(obj)[0]["time"] == "2026-01-01T13:02:00Z"


def test_an_item_of_a_list_changes_hands_alone(thing):
    obj = created(thing_with(parts=[{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]), thing)
    obj = patched(obj, {"spec": {"parts": [{"name": "b", "image": "1"}, {"name": "a", "image": "2"}]}}, thing)
    assert fields_of(obj, "patcher") == {"f:spec": {"f:parts": {'k:{"name":"a"}': {"f:image": {}}}}}


def test_items_that_share_a_key_are_owned_as_one(thing):
    twins = [{"name": "a", "image": "1"}, {"name": "a", "image": "2"}]
    obj = created(thing_with(parts=twins), thing)
    assert fields_of(obj, "creator") == {"f:spec": {"f:parts": {'k:{"name":"a"}': {}}}}
    obj = patched(obj, {"spec": {"parts": [twins[0], {"name": "a", "image": "3"}]}}, thing)
    assert fields_of(obj, "patcher") == {"f:spec": {"f:parts": {'k:{"name":"a"}': {}}}}
    obj = patched(obj, {"spec": {"parts": [twins[0]]}}, thing, "third")
    assert fields_of(obj, "third")["f:spec"]["f:parts"]['k:{"name":"a"}'] == {".": {}, "f:image": {}, "f:name": {}}


def test_a_list_whose_items_have_no_keys_is_not_tracked(thing):
    assert entries(created(thing_with(parts=[{"image": "1"}]), thing)) == []
    assert entries(created(thing_with(parts=["a"]), thing)) == []


def test_an_atomic_map_is_owned_as_one(thing):
    obj = patched(created(thing_with(selector={"a": "1"}), thing), {"spec": {"selector": {"b": "2"}}}, thing)
    assert fields_of(obj, "patcher") == {"f:spec": {"f:selector": {}}}


def test_values_without_a_schema_are_owned_key_by_key(thing):
    obj = patched(created(thing_with(free={"a": {"b": 1}}), thing), {"spec": {"free": {"a": 5, "c": [1]}}}, thing)
    assert fields_of(obj, "creator") == {"f:spec": {"f:free": {".": {}}}} or fields_of(obj, "creator") == {
        "f:spec": {"f:free": {}}
    }
    assert fields_of(obj, "patcher") == {"f:spec": {"f:free": {"f:a": {}, "f:c": {}}}}


def test_entries_can_be_told_to_differ_in_time_only(thing):
    one = created(thing_with(size=1), thing)
    other = [{**entry, "time": LAST} for entry in entries(one)]
    assert same_but_for_times(entries(one), other)
    assert same_but_for_times(entries(one), entries(one))
    assert not same_but_for_times(entries(one), [])
    assert not same_but_for_times(entries(one), [{**entry, "manager": "x"} for entry in other])
