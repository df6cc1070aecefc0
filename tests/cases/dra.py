"""Cases of DRA allocation: objects in, AllocationResults out.

A file has one JSON document a line. A case of *one node* has `features` (the gates that are on), `node`, `classes`,
`slices`, `claims`, what is allocated already (`allocatedDevices`, `allocatedSharedDeviceIDs`, `allocatedCapacity`) and
what is `expected` of each make of the allocator; one of *several nodes* has `nodes`, what is `expected` for each, and
where that is `deterministic`: elsewhere only whether the claims are allocated has to agree. Share IDs are random, "any".
A line with `recorded` says who gave the answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ghostfleet.schedulers.dra import (
    AllocatedDevices,
    AllocationError,
    Allocator,
    ClassNotFound,
    DeviceID,
    Features,
    Inventory,
    PodClaims,
)

__all__ = ["Answer", "answers", "read", "run"]

Object = Mapping[str, Any]
_RANDOM = ("DRAAdminAccess", "DRADeviceTaints", "DRAPartitionableDevices", "DRAPrioritizedList")
_MAKES = ("stable", "incubating", "experimental")


class Answer(NamedTuple):
    """One question of a case: what was expected, and what came out."""

    name: str
    passed: bool
    expected: Any
    found: Any


def read(path: Path) -> Iterator[tuple[str, Object]]:
    """The cases of a file, by name."""
    with path.open() as lines:
        for place, line in enumerate(lines, 1):
            if line.strip() and "recorded" not in (case := json.loads(line)):
                yield str(case.get("id") or f"{path.name}:{place}"), case


def run(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Each case of a file, and what is wrong with the answers."""
    for name, case in read(path):
        wrong = [each for each in answers(case, name) if not each.passed]
        yield name, [f"{each.name}: expected {each.expected}, found {each.found}" for each in wrong]


def answers(case: Object, name: str) -> Iterator[Answer]:
    known_to_stable = "nodes" in case or "stable" in case["expected"]
    features = Features.of(case.get("features", _RANDOM), newer=not known_to_stable)
    inventory = Inventory(features, case.get("slices") or ())
    allocator = Allocator(inventory, _allocated(case), _classes(case))
    if "nodes" not in case:
        expected = case["expected"]
        wanted = next(expected[make] for make in _makes(features) if make in expected)
        yield _answer(name, _plain(wanted), _found(allocator, case["node"], case["claims"]), True)
        return
    for node in case["nodes"]:
        node_name = node["metadata"]["name"]
        wanted = _plain(case["expected"][node_name])
        sure = case.get("deterministic", {}).get(node_name, True)
        yield _answer(f"{name}/{node_name}", wanted, _found(allocator, node, case["claims"]), sure)


def _makes(features: Features) -> tuple[str, ...]:
    if features.stable:
        return _MAKES
    return _MAKES[2:] if features.list_attributes else _MAKES[1:]


def _classes(case: Object) -> Any:
    classes = {each["metadata"]["name"]: each for each in case.get("classes") or ()}

    def get(name: str) -> Object:
        if name not in classes:
            # the words of the lister that stood in for the API when the cases were made
            raise ClassNotFound(' "not found" not found')
        return classes[name]

    return get


def _allocated(case: Object) -> AllocatedDevices:
    allocated = AllocatedDevices()
    for text in case.get("allocatedDevices") or ():
        allocated.devices.add(_device(text))
    for text in case.get("allocatedSharedDeviceIDs") or ():
        device = _device(text)
        allocated.shares[device] = allocated.shares.get(device, 0) + 1
    for text, amounts in (case.get("allocatedCapacity") or {}).items():
        allocated.consume(_device(text), amounts)
    return allocated


def _device(text: str) -> DeviceID:
    return DeviceID(*text.split("/")[:3])


def _found(allocator: Allocator, node: Object, claims: list[Object]) -> Object:
    try:
        results = allocator.allocate(node, PodClaims(claims), lambda: "any")
    except AllocationError as error:
        return {"error": str(error), "results": []}
    return {"error": "", "results": [] if results is None else json.loads(json.dumps(results))}


def _plain(expected: Object) -> Object:
    return {"error": expected.get("error") or "", "results": expected.get("results") or []}


def _answer(name: str, expected: Object, found: Object, sure: bool) -> Answer:
    return Answer(name, (expected == found) if sure else (_verdict(expected) == _verdict(found)), expected, found)


def _verdict(answer: Object) -> str:
    return "error" if answer["error"] else "allocated" if answer["results"] else "not"
