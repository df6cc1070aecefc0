"""Objects that were stored before their schema was tightened.

`customresources/ratcheting.json` was recorded from kube-apiserver v1.36.3: updates of objects that the schema of today would
refuse, and what became of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from ghostfleet.api import customresources

RECORDED = orjson.loads((Path(__file__).parent / "customresources" / "ratcheting.json").read_bytes())


def stored(spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "default", "uid": "u", "generation": 1}
    return {"apiVersion": "customresources-test.example.com/v1", "kind": "Ratchet", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("case", RECORDED["cases"], ids=[case["name"] for case in RECORDED["cases"]])
def test_what_was_stored_and_has_not_changed_is_forgiven(case):
    kind = customresources.resource_of(RECORDED["definition"])
    old = stored(case["old"])
    new = customresources.prepare_for_update(kind, old, stored(case["new"]), "")
    causes = [error.cause() for error in customresources.validate(kind, kind.storage, new, old)]
    found = sorted([cause["field"], cause["reason"], cause["message"]] for cause in causes)
    assert found == case["response"].get("causes", [])
