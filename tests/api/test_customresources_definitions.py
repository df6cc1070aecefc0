"""Definitions against what a real API server said about them.

`customresources/definitions.json` was recorded from kube-apiserver v1.36.3: definitions to create, or to put in the place of an
established one, and the findings of its validation. Kubernetes reports them in no particular order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from ghostfleet.api import customresources
from ghostfleet.api.strategy import apply_defaults

CASES = orjson.loads((Path(__file__).parent / "customresources" / "definitions.json").read_bytes())["cases"]
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
IDENTITY = {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1}


def established(definition: dict[str, Any]) -> dict[str, Any]:
    spec = definition["spec"]
    status = {
        "conditions": [{"type": "NamesAccepted", "status": "True"}, {"type": "Established", "status": "True"}],
        "acceptedNames": spec["names"],
        "storedVersions": [each["name"] for each in spec["versions"] if each["storage"]],
    }
    return {**definition, "metadata": {**definition["metadata"], **IDENTITY}, "status": status}


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """What we say about a definition, in the form of the recording."""
    definition, old = apply_defaults(DEFINITIONS, case["definition"]), None
    if "old" in case:
        old = established(apply_defaults(DEFINITIONS, case["old"]))
        metadata = {**definition["metadata"], **IDENTITY}
        definition = {**definition, "metadata": metadata, "status": old["status"]}
    errors = customresources.validate_definition(definition, old)
    if errors:
        causes = [(cause["field"], cause["reason"], cause["message"]) for cause in (each.cause() for each in errors)]
        return {"code": 422, "causes": sorted(map(list, causes))}
    warnings = customresources.definition_warnings(definition, old)
    return {"warnings": warnings} if warnings else {}


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_definition_is_judged_as_by_a_real_server(case):
    assert answer(case) == case["response"]
