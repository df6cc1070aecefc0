"""Protobuf definitions, as far as Kubernetes uses the language: messages of fields, no oneofs, no nested messages.

A *message* is known by its full name (`k8s.io.api.core.v1.Volume`); its fields keep the order of the file, which is the
order of the Go structs they were generated from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Message", "ProtoField", "read_protos"]

SCALARS = frozenset({"string", "bytes", "bool", "int32", "int64", "uint32", "uint64", "double", "float"})

_PACKAGE = re.compile(r"^package (\S+);$")
_MESSAGE = re.compile(r"^message (\w+) \{$")
_FIELD = re.compile(r"^  (optional|repeated) (\S+) (\w+) = (\d+)")
_MAP = re.compile(r"^  map<string, (\S+)> (\w+) = (\d+)")


@dataclass(frozen=True, slots=True)
class ProtoField:
    name: str
    number: int
    #: optional, repeated or map
    label: str
    #: a scalar of protobuf, or the full name of a message
    type: str


@dataclass(slots=True)
class Message:
    name: str
    fields: list[ProtoField] = field(default_factory=list)


def read_protos(paths: Iterable[Path]) -> dict[str, Message]:
    """All messages of these files, by full name."""
    messages: dict[str, Message] = {}
    for path in paths:
        messages.update(_messages_of(path.read_text()))
    return messages


def _messages_of(text: str) -> dict[str, Message]:
    messages: dict[str, Message] = {}
    package = ""
    current: Message | None = None
    for line in text.splitlines():
        if match := _PACKAGE.match(line):
            package = match[1]
        elif match := _MESSAGE.match(line):
            current = messages[f"{package}.{match[1]}"] = Message(f"{package}.{match[1]}")
        elif current is not None and (found := _field_of(line, package)):
            current.fields.append(found)
    return messages


def _field_of(line: str, package: str) -> ProtoField | None:
    if match := _FIELD.match(line):
        label, sort, name, number = match.groups()
    elif match := _MAP.match(line):
        label, (sort, name, number) = "map", match.groups()
    else:
        return None
    return ProtoField(name, int(number), label, _full_name(sort, package))


def _full_name(sort: str, package: str) -> str:
    if sort in SCALARS:
        return sort
    return sort[1:] if sort.startswith(".") else f"{package}.{sort}"
