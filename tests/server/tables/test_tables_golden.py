"""Cells and columns against what a real API server printed.

The files in `golden` were captured from kube-apiserver v1.36.3: `columns.json` holds name, type, format and priority of
every column by resource and version, the others hold objects and the cells the server made of them at time `now`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from ghostfleet.api.kinds import Column, Resource, Version
from ghostfleet.core.schema import ANY
from ghostfleet.server.tables import columns, row, table

GOLDEN = Path(__file__).parent / "golden"
COLUMNS: dict[str, list[list[Any]]] = orjson.loads((GOLDEN / "columns.json").read_bytes())["columns"]
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


def golden_cases() -> Iterator[dict[str, Any]]:
    for path in sorted(GOLDEN.glob("*.json")):
        if path.stem != "columns":
            yield from orjson.loads(path.read_bytes())["cases"]


def custom_columns(key: str, version: str) -> tuple[Column, ...]:
    for case in orjson.loads((GOLDEN / f"{DEFINITIONS}.json").read_bytes())["cases"]:
        for declared in case["object"]["spec"]["versions"]:
            if case["object"]["metadata"]["name"] == key and declared["name"] == version:
                return tuple(
                    Column(
                        entry["name"],
                        entry["type"],
                        entry["jsonPath"],
                        entry.get("description", ""),
                        entry.get("format", ""),
                        entry.get("priority", 0),
                    )
                    for entry in declared.get("additionalPrinterColumns", ())
                )
    return ()


def served(key: str, version: str) -> tuple[Resource, Version]:
    plural, _, group = key.partition(".")
    custom = group.endswith("example.com")
    declared = Version(version, ANY, columns=custom_columns(key, version) if custom else ())
    return Resource(group, plural, "", "", True, version, {version: declared}, custom=custom), declared


def comparable(cell: Any) -> tuple[bool, Any]:
    """Tells true from 1; integers that are longer than 64 bits are read as every client reads them."""
    too_long = isinstance(cell, int) and abs(cell) >= 2**63
    return isinstance(cell, bool), float(cell) if too_long else cell


def parameter(case: dict[str, Any]) -> Any:
    return pytest.param(case, id=f"{case['resource']}-{case['version']}-{case['object']['metadata']['name']}")


@pytest.mark.parametrize("case", [parameter(case) for case in golden_cases()])
def test_cells_are_those_of_a_real_server(case):
    resource, version = served(case["resource"], case["version"])
    made = table(resource, version, [case["object"]], revision="1", now_us=case["now"])["rows"][0]
    assert [comparable(cell) for cell in made["cells"]] == [comparable(cell) for cell in case["cells"]]
    assert made.get("conditions") == case.get("conditions")
    assert row(resource, version, case["object"], case["now"]) == made["cells"]


@pytest.mark.parametrize("served_at", sorted(COLUMNS))
def test_columns_are_those_of_a_real_server(served_at):
    made = columns(*served(*served_at.split()))
    assert [[entry["name"], entry["type"], entry["format"], entry["priority"]] for entry in made] == COLUMNS[served_at]
    assert all(entry["description"] for entry in made)
    assert all(list(entry) == ["name", "type", "format", "description", "priority"] for entry in made)
