"""What Kubernetes v1.36.3 answered to bad manifests, replayed.

The data beside this file are facts: each case is a change to a good object (already defaulted, as the API server
returned it) and the server's answer. `bases.json` holds the good objects, `creates.json` and `updates.json` the cases,
`shapes.json` objects of the wrong shape and `accepted.json` objects that use much and were accepted. A path in
`changes` is a place in the object, `$delete` removes what is there. Where the server appends a line by line diff of Go
structs, only what stands before it is compared.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from ghostfleet.api.builtin import load_registry
from ghostfleet.api.validation import normalise, strict_error, validate_create, validate_update
from ghostfleet.core.errors import ApiError, FieldError, invalid
from ghostfleet.core.quantity import is_valid
from support.changes import changed

DATA = Path(__file__).parent / "validation"
BASES = orjson.loads((DATA / "bases.json").read_bytes())["bases"]
CREATES = orjson.loads((DATA / "creates.json").read_bytes())["cases"]
UPDATES = orjson.loads((DATA / "updates.json").read_bytes())["cases"]
ACCEPTED = orjson.loads((DATA / "accepted.json").read_bytes())["cases"]
SHAPES = orjson.loads((DATA / "shapes.json").read_bytes())["cases"]
REGISTRY = load_registry()


def as_stored(obj: dict[str, Any]) -> dict[str, Any]:
    """A job as the API server prepares it before validation: with its uid in labels and selector."""
    spec = obj.get("spec", {})
    if obj["kind"] != "Job" or spec.get("manualSelector"):
        return obj
    name, uid = obj["metadata"]["name"], "0a0a0a0a-0000-4000-8000-000000000000"
    obj["metadata"]["uid"] = uid
    labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
    for prefix in ("", "batch.kubernetes.io/"):
        labels[f"{prefix}controller-uid"] = uid
        labels[f"{prefix}job-name"] = name
    spec.setdefault("selector", {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}})
    return obj


def without_diff(text: str) -> str:
    return text.partition("\n")[0]


def answer(obj: dict[str, Any], errors: list[FieldError]) -> tuple[str, set[tuple[str, str, str]]]:
    group = obj["apiVersion"].rpartition("/")[0]
    error = invalid(obj["kind"], group, obj["metadata"].get("name", ""), errors)
    assert error.details is not None
    return without_diff(error.message), causes_of(error.details["causes"])


def causes_of(causes: list[dict[str, str]]) -> set[tuple[str, str, str]]:
    return {(cause["field"], cause["reason"], without_diff(cause["message"])) for cause in causes}


def case_id(case: dict[str, Any]) -> str:
    return f"{case.get('base', 'shape')}: {case['case']}"


@pytest.mark.parametrize("case", CREATES, ids=case_id)
def test_a_bad_object_is_refused_in_the_words_of_kubernetes(case: dict[str, Any]) -> None:
    base = BASES[case["base"]]
    obj = as_stored(changed(base["object"], case["changes"]))
    errors = validate_create(base["resource"], obj)
    assert answer(obj, errors) == (without_diff(case["message"]), causes_of(case["causes"]))


@pytest.mark.parametrize("case", UPDATES, ids=case_id)
def test_an_update_is_judged_as_kubernetes_judges_it(case: dict[str, Any]) -> None:
    new = changed(case["old"], case["changes"])
    errors = validate_update(BASES[case["base"]]["resource"], case["old"], new, case["subresource"])
    if case["code"] == 200:
        assert errors == []
    else:
        assert answer(new, errors) == (without_diff(case["message"]), causes_of(case["causes"]))


@pytest.mark.parametrize("name", BASES)
def test_a_good_object_is_accepted(name: str) -> None:
    obj = as_stored(copy.deepcopy(BASES[name]["object"]))
    assert validate_create(BASES[name]["resource"], obj) == []


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case["resource"])
def test_what_kubernetes_accepts_is_accepted(case: dict[str, Any]) -> None:
    obj = case["object"]
    schema = REGISTRY.schema(obj["apiVersion"], obj["kind"])
    assert schema is not None
    clean, unknown = normalise(obj, schema, kind=obj["kind"], version=obj["apiVersion"].rpartition("/")[2])
    assert unknown == []
    assert validate_create(case["resource"], clean) == []
    assert validate_update(case["resource"], clean, copy.deepcopy(clean)) == []


@pytest.mark.parametrize("name", BASES)
def test_a_good_object_may_be_written_again_unchanged(name: str) -> None:
    obj = as_stored(copy.deepcopy(BASES[name]["object"]))
    assert validate_update(BASES[name]["resource"], obj, copy.deepcopy(obj)) == []


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def hollowed(obj: dict[str, Any], path: tuple[str | int, ...], *, remove: bool) -> dict[str, Any]:
    """The object without what is at the path, or with Go's zero value of it."""
    result = copy.deepcopy(obj)
    at: Any = result
    for step in path[:-1]:
        at = at[step]
    if remove:
        del at[path[-1]]
    else:
        # No quantity is ever empty: its shape would be refused.
        at[path[-1]] = "0" if isinstance(at[path[-1]], str) and is_valid(at[path[-1]]) else type(at[path[-1]])()
    return result


@pytest.mark.parametrize("remove", [True, False])
@pytest.mark.parametrize("name", BASES)
def test_a_missing_or_empty_field_is_judged_without_breaking(name: str, remove: bool) -> None:
    obj, resource = as_stored(copy.deepcopy(BASES[name]["object"])), BASES[name]["resource"]
    for path in list(places(obj)):
        hollow = hollowed(obj, path, remove=remove)
        for error in validate_create(resource, hollow):
            assert error.cause()["message"]
        for subresource in ("", "status", "resize", "ephemeralcontainers", "finalize"):
            for old, new in ((obj, hollow), (hollow, obj)):
                for error in validate_update(resource, old, new, subresource):
                    assert error.cause()["message"]


@pytest.mark.parametrize("case", SHAPES, ids=case_id)
def test_an_object_of_the_wrong_shape_is_refused_in_the_words_of_the_decoder(case: dict[str, Any]) -> None:
    obj = case["object"]
    schema = REGISTRY.schema(obj["apiVersion"], obj["kind"])
    assert schema is not None
    version = obj["apiVersion"].rpartition("/")[2]
    try:
        _, unknown = normalise(obj, schema, kind=obj["kind"], version=version)
        refusal = strict_error(obj["kind"], version, unknown)
    except ApiError as error:
        refusal = error
    assert (refusal.code, refusal.message) == (400, case["message"])


# An event is written with nulls for the times it does not have.
@pytest.mark.parametrize("name", [name for name in BASES if name != "event"])
def test_an_object_as_kubernetes_writes_it_is_clean(name: str) -> None:
    obj = BASES[name]["object"]
    schema = REGISTRY.schema(obj["apiVersion"], obj["kind"])
    assert schema is not None
    clean, unknown = normalise(obj, schema, kind=obj["kind"], version=obj["apiVersion"].rpartition("/")[2])
    assert clean is obj
    assert unknown == []
