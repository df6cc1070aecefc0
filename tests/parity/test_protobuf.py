"""Our answers in protobuf against those of a real server: the same forms for the same clients, and the same bytes."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest
from parity_material.golden import GOLDEN, read_golden
from parity_material.protobuf import ask_forms
from parity_material.servers import Embedded

from ghostfleet.server.protoanswers import encode_object

FORMS = read_golden(GOLDEN / "forms.jsonl.gz")
OBJECTS = read_golden(GOLDEN / "protobuf.jsonl.gz")
#: What stays different: Kubernetes fails with 500, or answers a watch of lists with nothing at all.
_ODD = ("as=PartialObjectMetadataList",)


def is_odd(case: dict[str, Any]) -> bool:
    return any(odd in case["accept"] for odd in _ODD) and ("watch" in case["path"] or case["status"] == 500)


def test_every_client_gets_the_form_that_a_real_server_gives_it():
    server = Embedded()
    try:
        ours = list(ask_forms(server))
    finally:
        server.close()
    assert len(ours) == len(FORMS) > 300
    different = [
        (theirs, mine["status"], mine["media"])
        for theirs, mine in zip(FORMS, ours, strict=True)
        if mine != theirs and not is_odd(theirs)
    ]
    assert different == []


@pytest.mark.parametrize("case", OBJECTS, ids=[each["name"].partition(" ")[0] for each in OBJECTS])
def test_an_object_has_the_bytes_that_a_real_server_writes(case):
    assert encode_object(orjson.loads(case["json"])) == base64.b64decode(case["protobuf"])
