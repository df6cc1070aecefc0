"""Unions: the places in a definition's schema that hold a schema or something simpler.

Kubernetes' data call their types "any", but it reads them by code of its own: `items` is a schema or a list of them,
`additionalProperties` a schema or a boolean, a dependency a schema or a list of names. Other values count as nothing,
except where a boolean should be.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ghostfleet.api.builtin import type_named
from ghostfleet.core.schema import Type

__all__ = ["Union", "union_of"]

_SCHEMA = "JSONSchemaProps"


class Union(NamedTuple):
    """A schema, or a list of `items`, or a boolean if there are none."""

    schema: Type
    items: Type | None


@cache
def union_of(name: str) -> Union | None:
    """The union that the type of this full name is, if it is one."""
    base, _, alternative = name.rpartition(f".{_SCHEMA}Or")
    if not base:
        return None
    schema = type_named(f"{base}.{_SCHEMA}")
    items = {"Array": schema, "StringArray": Type("string")}.get(alternative)
    return Union(schema, items)
