"""How Kubernetes' own printers show objects in tables: `tests/server/tables/golden/*.json`.

Recording prints the objects of the files again, as old as they were at the time `now` of their case. `columns.json`
holds name, type, format and priority of every column by resource and version.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from goprograms import ask_program
from realcluster import write_cases

__all__ = ["record"]

GOLDEN = Path(__file__).parents[2] / "tests" / "server" / "tables" / "golden"
_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io.json"
#: What the server shows of custom objects whose definition has no columns.
_AGE = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}

Object = dict[str, Any]


def record() -> None:
    files = {
        path: json.loads(path.read_text())["cases"] for path in sorted(GOLDEN.glob("*.json")) if path.stem != "columns"
    }
    defined = {case["object"]["metadata"]["name"]: case["object"] for case in files[GOLDEN / _DEFINITIONS]}
    asked = [json.dumps(_question(case, defined)) for cases in files.values() for case in cases]
    versions, answers = ask_program("packages", asked)
    recorded = {"kubernetes": versions["kubernetes"]}
    columns = {}
    for path, cases in files.items():
        told = []
        for case in cases:
            answer = answers.pop(0)
            columns[f"{case['resource']} {case['version']}"] = answer.pop("columns")
            asked_for = {name: case[name] for name in ("resource", "version", "now")}
            told.append({**asked_for, **answer, "object": case["object"]})
        write_cases(path, recorded, told)
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(columns[key])}" for key in sorted(columns))
    (GOLDEN / "columns.json").write_text(f'{{"recorded": {json.dumps(recorded)}, "columns": {{\n{lines}\n}}}}\n')


def _question(case: Object, defined: dict[str, Object]) -> Object:
    question = {"ask": "table", "object": case["object"], "now": case["now"]}
    if (definition := defined.get(case["resource"])) is not None:
        versions = {each["name"]: each for each in definition["spec"]["versions"]}
        question["columns"] = versions[case["version"]].get("additionalPrinterColumns") or [_AGE]
    return question
