"""Fields whose zero value Kubernetes does not show, from the Go structs themselves.

Neither OpenAPI nor protobuf definitions tell a plain field from a pointer, yet it matters: the zero of a plain field
that is tagged `omitempty` means the same as its absence, while a pointer to zero is a value (`replicas: 0`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

__all__ = ["read_omissions"]

_STRUCT = re.compile(r"^type (\w+) struct \{$")
_FIELD = re.compile(r'^\t\w+\s+([^\s*]\S*)\s+`json:"([^",]+),(?:omitempty|omitzero)')


def read_omissions(modules: Iterable[Path]) -> dict[str, set[str]]:
    """By full name of a type: its fields that are neither pointers nor shown when zero."""
    omissions: dict[str, set[str]] = {}
    for module in modules:
        prefix = "io.k8s." + module.name.partition("@")[0]
        for path in sorted(module.rglob("types*.go")):
            package = ".".join((prefix, *path.parent.relative_to(module).parts))
            for name, fields in _structs_of(path.read_text()):
                omissions[f"{package}.{name}"] = fields
    return omissions


def _structs_of(text: str) -> list[tuple[str, set[str]]]:
    structs: list[tuple[str, set[str]]] = []
    for line in text.splitlines():
        if match := _STRUCT.match(line):
            structs.append((match[1], set()))
        elif structs and (match := _FIELD.match(line)):
            structs[-1][1].add(match[2])
    return structs
