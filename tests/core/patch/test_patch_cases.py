"""Patches and ownership, held against the recorded answers of a real API server.

Every step of a case starts from the state the real server had before it. The object is compared without what is
empty, as structs drop that, and without defaults where a case says so; managedFields are compared to the letter, but
for times.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from ghostfleet.api.builtin import kind_type
from ghostfleet.core.errors import ApiError
from ghostfleet.core.patch import (
    apply_json_patch,
    apply_merge_patch,
    apply_strategic_merge,
    server_side_apply,
    track_update,
)
from ghostfleet.core.schema import Type

CASES = Path(__file__).parent / "cases"
#: What the status endpoints of some kinds leave alone besides the spec.
KEPT_BY_STATUS = {
    "Pod": {"f:spec": {}, "f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}}},
    "Deployment": {"f:spec": {}, "f:metadata": {"f:labels": {}}},
    "Widget": {"f:spec": {}, "f:metadata": {}},
}


def steps():
    for path in sorted(CASES.glob("*.yaml")):
        content = yaml.load(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        answers = json.loads(path.with_suffix(".json").read_text())["cases"]
        for case in content["cases"]:
            definitions = content.get("definitions", [])
            answer = answers[case["name"]]
            if "created" in answer:
                arguments = (definitions, None, {"type": "create", **case}, answer["created"])
                yield pytest.param(*arguments, id=f"{case['name']}: created")
            state = answer.get("created", {}).get("object")
            for step, after in zip(case["steps"], answer["steps"], strict=True):
                yield pytest.param(definitions, state, step, after, id=f"{case['name']}: {step['name']}")
                state = after.get("object", state)


@pytest.mark.parametrize(("definitions", "before", "step", "answer"), list(steps()))
def test_a_patch_is_answered_as_the_real_server_answers_it(definitions, before, step, answer):
    after = answer.get("object")
    template = after or before or step["patch"]
    schema = schema_of(definitions, template["apiVersion"], template["kind"])
    if step["type"] == "create":
        new = without(after, step.get("untracked", []))
        assert entries(tracked(None, new, schema, step, step.get("creator", "creator"))) == entries(managed(after))
    elif after is None:
        check_failure(before, step, schema, answer["error"])
    elif step["type"] == "apply":
        result, owned = applied(before, step, schema)
        check_object(result, after, before is None or step.get("defaults", False))
        assert entries(owned) == entries(managed(after))
    else:
        patched = patch(before, step, schema)
        check_object(patched, after, step.get("defaults", False))
        new = without_bookkeeping(after)
        if "managedFields" in patched["metadata"]:
            new["metadata"]["managedFields"] = managed(patched)
        assert entries(tracked(before, new, schema, step, step.get("manager", "patcher"))) == entries(managed(after))


def check_failure(before, step, schema, error):
    if step.get("by_validation"):
        pytest.skip("refused by the validation of the kind, not by the patch")
    with pytest.raises(ApiError) as caught:
        applied(before, step, schema) if step["type"] == "apply" else patch(before, step, schema)
    # Which of several managers comes first is random on the real server.
    assert by_cause(caught.value.status()) == by_cause(error)


def by_cause(status):
    causes = status.get("details", {}).get("causes")
    if causes is None:
        return status
    return {
        **status,
        "details": {**status["details"], "causes": sorted(causes, key=lambda cause: sorted(cause.values()))},
    }


def check_object(result, after, with_defaults):
    ours, theirs = tidy(without_bookkeeping(result)), tidy(without_bookkeeping(after))
    assert within(ours, theirs) if with_defaults else ours == theirs


def patch(obj, step, schema):
    if step["type"] == "json":
        return apply_json_patch(obj, step["patch"])
    if step["type"] == "merge":
        return apply_merge_patch(obj, step["patch"])
    return apply_strategic_merge(obj, step["patch"], schema)


def applied(live, step, schema):
    subresource = step.get("subresource", "")
    return server_side_apply(
        live,
        step["patch"],
        schema,
        step.get("manager", "patcher"),
        (live or step["patch"])["apiVersion"],
        "T",
        step.get("force", False),
        subresource,
        kind=(live or step["patch"])["kind"],
        has_status="status" in schema.fields,
        ignored=ignored_by(live, subresource),
    )


def tracked(old, new, schema, step, manager):
    subresource = step.get("subresource", "")
    return track_update(
        old,
        new,
        schema,
        manager,
        new["apiVersion"],
        "T",
        subresource,
        has_status="status" in schema.fields,
        ignored=ignored_by(old, subresource),
    )


def ignored_by(obj, subresource):
    return KEPT_BY_STATUS.get(obj["kind"]) if obj is not None and subresource == "status" else None


def managed(obj):
    return obj["metadata"].get("managedFields", [])


def entries(listed):
    """Entries in an order that does not depend on how the seconds fell; fields as text, since their order counts."""
    kept = [{**entry, "fieldsV1": json.dumps(entry["fieldsV1"], indent=1)} for entry in listed]
    keys = ("operation", "manager", "apiVersion", "subresource")
    return sorted(kept, key=lambda entry: [entry.get(key, "") for key in keys])


def without_bookkeeping(obj):
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "managedFields"}}


def tidy(value):
    if isinstance(value, dict):
        inner = {key: tidy(item) for key, item in value.items()}
        return {key: item for key, item in inner.items() if item is not None and item != {} and item != []}
    return [tidy(item) for item in value] if isinstance(value, list) else value


def without(obj, paths):
    """The object without what the server fills in only after it looked who owns what."""
    for path in paths:
        field, _, inner = path.partition(".")
        rest = {key: value for key, value in obj.items() if key != field}
        obj = {**rest, field: without(obj[field], [inner])} if inner else rest
    return obj


def within(ours, theirs):
    """Whether the server's value is ours, maybe with more fields."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return all(key in theirs and within(value, theirs[key]) for key, value in ours.items())
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(within, ours, theirs))
    return ours == theirs


def schema_of(definitions, api_version, kind):
    group, _, version = api_version.rpartition("/")
    for definition in definitions:
        if definition["spec"]["group"] == group and definition["spec"]["names"]["kind"] == kind:
            return custom_type(json.dumps(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]))
    return built_in(group, version, kind)


@cache
def built_in(group: str, version: str, kind: str) -> Type:
    found = kind_type(group, version, kind)
    assert found is not None
    return found


@cache
def custom_type(text: str) -> Type:
    made = from_openapi(json.loads(text))
    meta = built_in("", "v1", "Pod").fields["metadata"]
    string = Type("string")
    made.fields = {"apiVersion": string, "kind": string, "metadata": meta, **made.fields}
    return made


def from_openapi(schema: dict[str, Any]) -> Type:
    sort = schema.get("type", "any")
    if sort == "array":
        made = Type("list")
        made.items = from_openapi(schema["items"])
        made.topology = schema.get("x-kubernetes-list-type", "atomic")
        made.map_keys = tuple(schema.get("x-kubernetes-list-map-keys", ()))
        return made
    if sort != "object":
        return Type(sort)
    made = Type("map" if "additionalProperties" in schema else "object")
    made.atomic = schema.get("x-kubernetes-map-type") == "atomic"
    made.preserve = schema.get("x-kubernetes-preserve-unknown-fields", False)
    if made.sort == "map":
        made.items = from_openapi(schema["additionalProperties"])
    properties = schema.get("properties", {})
    made.fields = {name: from_openapi(inner) for name, inner in properties.items()}
    made.defaults = {name: inner["default"] for name, inner in properties.items() if "default" in inner}
    return made
