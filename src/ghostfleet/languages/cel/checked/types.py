"""The types of CEL: what an expression's value will be, as far as that is known before it is evaluated.

A type has a *kind*, a *name* and *parameters*: `list(int)` is a list with the parameter int. `dyn` may be anything; a
*parameter* such as `A` stands for a type that is still to be found. Types are written in declarations as they show in
messages: `map(string, list(A))`, `optional_type(int)`, or a name with a dot for a type that a library brings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["BOOL", "DYN", "ERROR", "INT", "Type", "list_of", "map_of", "optional_of", "read_type", "struct"]

_PRIMITIVES = ("bool", "int", "uint", "double", "string", "bytes")


@dataclass(frozen=True, slots=True)
class Type:
    kind: str
    name: str
    parameters: tuple[Type, ...] = ()

    def __str__(self) -> str:
        name = _SHOWN.get(self.kind, self.name)
        return f"{name}({', '.join(map(str, self.parameters))})" if self.parameters else name

    @property
    def declared(self) -> str:
        """The type with the full names of what it is made of."""
        return f"{self.name}({', '.join(each.declared for each in self.parameters)})" if self.parameters else self.name

    @property
    def is_dyn(self) -> bool:
        return self.kind in ("dyn", "any")

    @property
    def is_optional(self) -> bool:
        return self.name == "optional_type"

    @property
    def is_open(self) -> bool:
        """Whether values have to be looked at to know their type."""
        return self.kind in ("dyn", "any", "param", "error") or any(each.is_open for each in self.parameters)


_SHOWN = {"null": "null", "error": "!error!", "timestamp": "timestamp", "duration": "duration", "any": "any"}

BOOL, INT, UINT, DOUBLE, STRING, BYTES = (Type(name, name) for name in _PRIMITIVES)
DYN = Type("dyn", "dyn")
ANY = Type("any", "google.protobuf.Any")
ERROR = Type("error", "*error*")
NULL = Type("null", "null_type")

_KNOWN = {each.name: each for each in (BOOL, INT, UINT, DOUBLE, STRING, BYTES, DYN, NULL)} | {
    "any": ANY,
    "google.protobuf.Any": ANY,
    "timestamp": Type("timestamp", "google.protobuf.Timestamp"),
    "google.protobuf.Timestamp": Type("timestamp", "google.protobuf.Timestamp"),
    "duration": Type("duration", "google.protobuf.Duration"),
    "google.protobuf.Duration": Type("duration", "google.protobuf.Duration"),
    "type": Type("type", "type"),
}
_CONTAINERS = {"list": "list", "map": "map", "type": "type"}
_TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*|[(),]")


def list_of(item: Type) -> Type:
    return Type("list", "list", (item,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", "map", (key, value))


def optional_of(inner: Type) -> Type:
    return Type("opaque", "optional_type", (inner,))


def struct(name: str) -> Type:
    return Type("struct", name)


@lru_cache(maxsize=1024)
def read_type(text: str) -> Type:
    """The type that is written like this."""
    words = _TOKEN.findall(text)
    found, rest = _read(words)
    if rest:
        raise ValueError(f"not a type: {text!r}")
    return found


def _read(words: list[str]) -> tuple[Type, list[str]]:
    name, rest = words[0], words[1:]
    parameters: list[Type] = []
    if rest and rest[0] == "(":
        while rest[0] != ")":
            parameter, rest = _read(rest[1:])
            parameters.append(parameter)
        rest = rest[1:]
    if parameters:
        return Type(_CONTAINERS.get(name, "opaque"), name, tuple(parameters)), rest
    if len(name) == 1 and name.isupper():
        return Type("param", name), rest
    return _KNOWN.get(name) or struct(name), rest
