from __future__ import annotations

import copy

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.errors import ApiError
from ghostfleet.core.patch import apply_json_patch

NAMES = st.sampled_from(["a", "b", "c/d", "e~f", "0", "1", ""])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["x", "y"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
DOCUMENTS = st.dictionaries(NAMES, VALUES, max_size=4)


@st.composite
def patches(draw):
    """A document and operations, most of which point at places that exist."""
    document = draw(DOCUMENTS)
    places = [pointer for pointer in pointers(document) if pointer]
    place = st.sampled_from([*places, "/a", "/b/-", "/a/0", "/a/b"])
    operations = []
    for name in draw(st.lists(st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), max_size=4)):
        operation = {"op": name, "path": draw(place)}
        if name in ("add", "replace", "test"):
            operation["value"] = draw(VALUES)
        if name in ("move", "copy"):
            operation["from"] = draw(place)
        operations.append(operation)
    return document, operations


def pointers(value, above=""):
    yield above
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        token = str(key).replace("~", "~0").replace("/", "~1")
        yield from pointers(inner, f"{above}/{token}")


def exists(document, pointer):
    return pointer in set(pointers(document))


@given(patches())
def test_patches_that_fit_give_what_the_jsonpatch_library_gives(case):
    document, operations = case
    before = copy.deepcopy(document)
    expected = document
    try:
        for operation in operations:
            # The API server is laxer here than the RFC: see the tests below.
            if operation["op"] in ("replace", "copy", "test", "move"):
                place = operation.get("from", operation["path"])
                if not exists(expected, place) or operation["path"].startswith(operation.get("from", "\n") + "/"):
                    return
            if operation["path"].rpartition("/")[2] == "-" and operation["op"] != "add":
                return
            expected = jsonpatch.apply_patch(expected, [operation])
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
        with pytest.raises(ApiError):
            apply_json_patch(document, operations)
    else:
        assert apply_json_patch(document, operations) == expected
    assert document == before


def test_what_a_patch_does_not_touch_is_shared():
    document = {"a": {"b": [1, {"c": 2}]}, "z": {"y": 1}}
    patched = apply_json_patch(document, [{"op": "replace", "path": "/a/b/0", "value": 9}])
    assert patched == {"a": {"b": [9, {"c": 2}]}, "z": {"y": 1}}
    assert patched["z"] is document["z"]
    assert patched["a"]["b"][1] is document["a"]["b"][1]


def test_an_empty_patch_gives_the_document_itself():
    document = {"a": 1}
    assert apply_json_patch(document, []) is document


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a", "value": 2},
        {"op": "test", "path": "/a", "value": True},
        {"op": "test", "path": "/a", "value": 1.0},
        {"op": "remove", "path": "/missing"},
        {"op": "remove", "path": "/list/7"},
        {"op": "add", "path": "/missing/x", "value": 1},
        {"op": "add", "path": "/list/7", "value": 1},
        {"op": "add", "path": "/list/x", "value": 1},
        {"op": "add", "path": "/list/1_0", "value": 1},
        {"op": "add", "path": "/a/x", "value": 1},
        {"op": "add", "path": "", "value": {}},
        {"op": "replace", "path": "/list/7", "value": 1},
        {"op": "move", "from": "/missing", "path": "/x"},
        {"op": "unheard-of", "path": "/a"},
        {"path": "/a"},
        {"op": "add", "value": 1},
    ],
)
def test_an_operation_that_does_not_fit_is_an_error_in_the_request(operation):
    with pytest.raises(ApiError) as caught:
        apply_json_patch({"a": 1, "list": [1, 2]}, [operation])
    assert (caught.value.code, caught.value.reason) == (422, "Invalid")
    assert caught.value.message == "the server rejected our request due to an error in our request"


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "replace", "path": "/new", "value": 1}, {"list": [1, 2], "new": 1}),
        ({"op": "copy", "from": "/missing", "path": "/new"}, {"list": [1, 2], "new": None}),
        ({"op": "test", "path": "/missing", "value": None}, {"list": [1, 2]}),
        ({"op": "add", "path": "/list/-1", "value": 3}, {"list": [1, 2, 3]}),
        ({"op": "remove", "path": "/list/-1"}, {"list": [1]}),
        ({"op": "replace", "path": "", "value": {"b": 1}}, {"b": 1}),
    ],
)
def test_the_api_server_is_laxer_than_the_standard(operation, result):
    assert apply_json_patch({"list": [1, 2]}, [operation]) == result


def test_too_many_operations_are_too_large_a_request():
    with pytest.raises(ApiError) as caught:
        apply_json_patch({"a": 1}, [{"op": "test", "path": "/a", "value": 1}] * 10001)
    assert caught.value.code == 413
    assert "maximum operations in a JSON patch is 10000, got 10001" in caught.value.message


@pytest.mark.parametrize("body", [{}, "x", None, ["x"], [None]])
def test_what_is_no_list_of_operations_is_a_bad_request(body):
    with pytest.raises(ApiError) as caught:
        apply_json_patch({"a": 1}, body)
    assert caught.value.code == 400


def refused(document, operations):
    with pytest.raises(ApiError) as caught:
        apply_json_patch(document, operations)
    return caught.value


def test_copies_of_copies_are_bounded_by_what_they_add_up_to():
    document = {"data": {"k": "x" * 1000}}
    copies = [{"op": "copy", "from": "/data", "path": f"/data/k{number}"} for number in range(60)]
    assert refused(document, copies).code == 422
    assert document == {"data": {"k": "x" * 1000}}


def test_copies_count_with_the_quotes_around_them_as_in_the_servers_library():
    document = {"list": ["A", "A" * (1024 * 1024 - 2)]}
    copies = [{"op": "copy", "from": "/list/1", "path": "/list/-"}] * 3
    assert len(apply_json_patch(document, copies)["list"]) == 5
    error = refused(document, [*copies, {"op": "copy", "from": "/list/0", "path": "/list/-"}])
    assert (error.code, error.reason) == (422, "Invalid")
    assert error.message == "the server rejected our request due to an error in our request"


def test_a_patch_of_more_than_ten_thousand_operations_is_too_large():
    error = refused({"a": 1}, [{"op": "test", "path": "/a", "value": 1}] * 10_001)
    assert (error.code, error.reason) == (413, "RequestEntityTooLarge")
    why = "The allowed maximum operations in a JSON patch is 10000, got 10001"
    assert error.message == f"Request entity too large: {why}"


def test_what_a_patch_copied_changes_apart_from_its_source():
    document = {"a": {"b": [1]}}
    operations = [
        {"op": "add", "path": "/a/b/-", "value": 2},
        {"op": "copy", "from": "/a", "path": "/c"},
        {"op": "add", "path": "/a/b/-", "value": 3},
        {"op": "remove", "path": "/c/b/0"},
    ]
    assert apply_json_patch(document, operations) == {"a": {"b": [1, 2, 3]}, "c": {"b": [2]}}
    assert document == {"a": {"b": [1]}}


def test_a_value_that_a_patch_states_once_and_changes_later_stays_as_it_was_stated():
    value = {"b": [1]}
    operations = [{"op": "add", "path": "/a", "value": value}, {"op": "add", "path": "/a/b/-", "value": 2}]
    assert apply_json_patch({}, operations) == {"a": {"b": [1, 2]}}
    assert value == {"b": [1]}


def test_a_document_cannot_be_made_deeper_than_it_can_be_written():
    deep = {}
    for _ in range(200):
        deep = {"a": deep}
    error = refused({"a": deep}, [{"op": "add", "path": "/a" * 150, "value": deep}])
    assert (error.code, error.reason) == (400, "BadRequest")
    steps = [{"op": "add", "path": "/a" * depth, "value": {}} for depth in range(1, 1500)]
    assert refused({}, [*steps, {"op": "copy", "from": "/a", "path": "/b"}]).code == 422
    assert refused({}, steps).code == 400


def test_many_changes_of_a_large_list_are_done_one_by_one_up_to_a_bound():
    document = {"list": list(range(20_000))}
    at_the_front = [{"op": "add", "path": "/list/0", "value": 0}]
    assert len(apply_json_patch(document, at_the_front * 1_000)["list"]) == 21_000
    assert refused(document, at_the_front * 10_000).code == 422
    assert len(apply_json_patch(document, [{"op": "add", "path": "/list/-", "value": 0}] * 10_000)["list"]) == 30_000
