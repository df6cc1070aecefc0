"""Defaulting: absent fields get the value that their schema states.

A default is put in where its parent is present, and into what it put in itself; null in a place where null is no value
counts as absent. One function per node is compiled when first used; it gives back the same object when nothing was
missing. Defaults are shared by all objects they are put into, which is safe because objects are frozen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ghostfleet.api.customresources.nodes import SchemaNode
from ghostfleet.api.kinds import Version
from ghostfleet.core.changes import Object
from ghostfleet.core.schema import MISSING

__all__ = ["apply_defaults"]

Fill = Callable[[Any], Any]


def apply_defaults(obj: Object, version: Version) -> Object:
    """The object with all defaults of this version's schema."""
    node = version.schema
    assert isinstance(node, SchemaNode)
    filled: Object = _filled(node, obj) if node.fills else obj
    return filled


def _filled(node: SchemaNode, value: Any) -> Any:
    fill = node.fill
    if fill is None:
        fill = node.fill = _compile(node)
    return fill(value)


def _compile(node: SchemaNode) -> Fill:
    absent = tuple(
        (key, _filled(child, child.default), child.nullable)
        for key, child in node.known.items()
        if child.default is not MISSING
    )
    parts = tuple((key, child) for key, child in node.known.items() if child.fills)
    additional = node.additional if node.additional is not None and node.additional.fills else None
    member = node.member if node.member is not None and node.member.fills else None

    def fill(value: Any) -> Any:
        if type(value) is dict:
            return fill_object(value)
        return _fill_items(value, member) if type(value) is list and member is not None else value

    def fill_object(value: Object) -> Object:
        added: Object | None = None
        for key, default, nullable in absent:
            if key not in value or (not nullable and value[key] is None):
                added = added or {}
                added[key] = default
        for key, child in parts:
            item = value.get(key)
            if type(item) is dict or type(item) is list:
                new = _filled(child, item)
                if new is not item:
                    added = added or {}
                    added[key] = new
        if additional is not None:
            for key, item in value.items():
                if key not in node.known and (new := _or_default(item, additional)) is not item:
                    added = added or {}
                    added[key] = new
        return value if added is None else {**value, **added}

    return fill


def _fill_items(value: list[Any], member: SchemaNode) -> list[Any]:
    items = [_or_default(item, member) for item in value]
    return items if any(new is not old for new, old in zip(items, value, strict=True)) else value


def _or_default(value: Any, node: SchemaNode) -> Any:
    if value is None and not node.nullable and node.default is not MISSING:
        value = node.default
    return _filled(node, value)
