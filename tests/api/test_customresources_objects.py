"""Objects of custom resources against what a real API server made of them.

`customresources/objects.json` was recorded from kube-apiserver v1.36.3: definitions, requests to create or update an object, and
the answers, without what differs from run to run.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest

from ghostfleet.api import customresources
from ghostfleet.api.kinds import Resource
from ghostfleet.core.errors import ApiError, FieldError

RECORDED = orjson.loads((Path(__file__).parent / "customresources" / "objects.json").read_bytes())
CASES = RECORDED["cases"]


@cache
def resource(name: str) -> Resource:
    definition = RECORDED["definitions"][name]
    assert customresources.validate_definition(with_names(definition), None) == []
    return customresources.resource_of(definition)


def with_names(definition: dict[str, Any]) -> dict[str, Any]:
    names = definition["spec"]["names"]
    names = {"singular": names["kind"].lower(), "listKind": f"{names['kind']}List", **names}
    return {**definition, "spec": {**definition["spec"], "names": names}}


def read(kind: Resource, obj: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    if kind.namespaced:
        obj = {**obj, "metadata": {**obj["metadata"], "namespace": "default"}}
    obj, unknown = customresources.normalise(obj, kind, kind.storage)
    return obj, [f'unknown field "{path}"' for path in unknown]


def create(kind: Resource, obj: dict[str, Any]) -> tuple[dict[str, Any], list[FieldError], list[str]]:
    obj, warnings = read(kind, obj)
    obj = customresources.prepare_for_create(kind, customresources.apply_defaults(obj, kind.storage))
    return (
        obj,
        customresources.validate(kind, kind.storage, obj, None),
        warnings + customresources.finalizer_warnings(obj, None),
    )


def update(kind: Resource, case: dict[str, Any]) -> tuple[dict[str, Any], list[FieldError], list[str]]:
    old, _, _ = create(kind, case["old"])
    new, warnings = read(kind, case["object"])
    new = customresources.apply_defaults(new, kind.storage)
    part = case.get("subresource", "")
    new = customresources.prepare_for_update(kind, old, new, part)
    errors = customresources.validate(kind, kind.storage, new, old)
    return new, errors, warnings if part else warnings + customresources.finalizer_warnings(new, old)


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """What we say to a request, in the form of the recording."""
    kind = resource(case["definition"])
    try:
        obj, errors, warnings = update(kind, case) if "old" in case else create(kind, case["object"])
    except ApiError as error:
        return {"code": error.code, "message": error.message}
    told: dict[str, Any] = {"warnings": warnings} if warnings else {}
    if not errors:
        return {"object": obj} | told
    unknown = [warning for warning in warnings if warning.startswith("unknown")]
    causes = sorted([cause["field"], cause["reason"], cause["message"]] for cause in (each.cause() for each in errors))
    return {"code": 422, "causes": causes} | ({"warnings": unknown} if unknown else {})


@pytest.mark.parametrize("case", CASES, ids=[f"{case['definition']}: {case['name']}" for case in CASES])
def test_an_object_is_treated_as_by_a_real_server(case):
    assert answer(case) == case["response"]
