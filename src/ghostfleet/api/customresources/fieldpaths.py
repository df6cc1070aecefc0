"""Field paths: places in an object that a definition names, such as `.spec.replicas` or `.spec['a.b']`.

A path is followed through the schema, since it must lead to something the schema knows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ghostfleet.api.customresources.nodes import Raw

__all__ = ["follow", "is_field_path"]

_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]]+")


def follow(path: str, raw: Raw, *, brackets: bool = True) -> tuple[list[str], Raw | None]:
    """The fields that a path names and the schema it leads to; ValueError says why it leads nowhere."""
    tokens = _TOKEN.findall(path)
    fields: list[str] = []
    schema: Any = raw
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token == "[":
            if not brackets:
                raise ValueError("array notation is not allowed")
            name, position = _bracketed(tokens, position)
        elif token == ".":
            if position + 1 >= len(tokens):
                raise ValueError("unexpected end of JSON path")
            name, position = tokens[position + 1], position + 2
        else:
            raise ValueError(f"expected [ or . but got: {token}")
        schema = _step(schema, name)
        fields.append(name)
    return fields, schema if isinstance(schema, Mapping) else None


def is_field_path(path: str, raw: Raw) -> bool:
    try:
        follow(path, raw)
    except ValueError:
        return False
    return True


def _bracketed(tokens: list[str], position: int) -> tuple[str, int]:
    inside = tokens[position + 1 : position + 3]
    if not inside:
        raise ValueError("unexpected end of JSON path")
    if len(inside[0]) < 2 or not (inside[0].startswith("'") and inside[0].endswith("'")):
        raise ValueError(f"expected single quoted string but got {inside[0]}")
    if len(inside) < 2:
        raise ValueError("unexpected end of JSON path")
    if inside[1] != "]":
        raise ValueError(f"expected ] but got {inside[1]}")
    return re.sub(r"\\(.)", r"\1", inside[0][1:-1]), position + 3


def _step(schema: Any, name: str) -> Any:
    if isinstance(schema, Mapping) and schema.get("properties"):
        if name in schema["properties"]:
            return schema["properties"][name]
    elif isinstance(schema, Mapping) and schema.get("additionalProperties") is not None:
        return schema["additionalProperties"]
    raise ValueError("does not refer to a valid field")
