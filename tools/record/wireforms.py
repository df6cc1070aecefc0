"""Protobuf: how Kubernetes' own packages encode objects, and whether they read a document as we encode it.

`tests/server/protobuf_cases.json` holds objects and their encodings. `gnostic_case.json` holds an OpenAPI document and
our own encoding of it (a document has more than one), from which gnostic must read the same as from the document.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

from goprograms import ask_program
from realcluster import write_cases

from ghostfleet.server.gnostic import encode

__all__ = ["record"]

SERVER = Path(__file__).parents[2] / "tests" / "server"


def record() -> None:
    objects, document = SERVER / "protobuf_cases.json", SERVER / "gnostic_case.json"
    cases, case = json.loads(objects.read_text())["cases"], json.loads(document.read_text())
    asked = [{"ask": "protobuf", "object": each["object"]} for each in cases]
    own = base64.b64encode(encode(case["document"])).decode()
    asked.append({"ask": "gnostic", "document": case["document"], "encoded": own})
    # Without blanks, since parts that are any JSON are encoded as they are written.
    versions, answers = ask_program("packages", (json.dumps(each, separators=(",", ":")) for each in asked))
    read = answers.pop()
    write_cases(
        objects,
        {"kubernetes": versions["kubernetes"]},
        [{**each, **answer} for each, answer in zip(cases, answers, strict=True)],
    )
    recorded = {"gnostic-models": versions["gnostic-models"]}
    told = {"recorded": recorded, "document": case["document"], "own_output": own, **read}
    document.write_text(json.dumps(told, indent=1) + "\n")
