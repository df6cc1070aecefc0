"""Contents: what a schema asks of lists and embedded objects beyond their values.

The items of a list that is a *set* differ from each other, those of a list that is a *map* differ in their keys; an
embedded object says what it is. Whether a tree has such places at all is found out once a node.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from ghostfleet.api.customresources.metadata import embedded_errors
from ghostfleet.api.customresources.nodes import SchemaNode
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import FieldError
from ghostfleet.core.schema import MISSING

__all__ = ["Special", "duplicate_errors", "embedded_object_errors", "special_places"]


class Special:
    """The part of a schema's tree that leads to lists with keys and to embedded objects."""

    __slots__ = ("additional", "fields", "member", "node")

    def __init__(
        self, node: SchemaNode, fields: dict[str, Special], additional: Special | None, member: Special | None
    ) -> None:
        self.node = node
        self.fields = fields
        self.additional = additional
        self.member = member

    def inside(self, value: Any, path: str) -> Iterator[tuple[Special, Any, str]]:
        """The special places right below this one, with what is there."""
        if isinstance(value, dict):
            for key, item in value.items():
                if key in self.fields:
                    yield self.fields[key], item, f"{path}.{key}" if path else key
                elif self.additional is not None and key not in self.node.known:
                    yield self.additional, item, f"{path}[{key}]"
        elif isinstance(value, list) and self.member is not None:
            for index, item in enumerate(value):
                yield self.member, item, f"{path}[{index}]"


def special_places(node: SchemaNode, *, is_root: bool = False) -> Special | None:
    """The special places of a schema; None if it has none. A whole resource is not embedded in anything."""
    if node.special is MISSING:
        node.special = _special(node, is_root=is_root)
    found: Special | None = node.special
    return found


def _special(node: SchemaNode, *, is_root: bool = False) -> Special | None:
    fields = {key: found for key, child in node.known.items() if (found := _special(child)) is not None}
    additional = None if node.additional is None else _special(node.additional)
    member = None if node.member is None else _special(node.member)
    is_itself = node.topology != "atomic" or (node.embedded and not is_root)
    if not (is_itself or fields or additional or member):
        return None
    return Special(node, fields, additional, member)


def embedded_object_errors(place: Special, value: Any, path: str = "") -> list[FieldError]:
    errors: list[FieldError] = []
    if path and place.node.embedded and isinstance(value, dict):
        errors += embedded_errors(value, path)
    for inner, item, inner_path in place.inside(value, path):
        errors += embedded_object_errors(inner, item, inner_path)
    return errors


def duplicate_errors(place: Special, value: Any, path: str = "") -> list[FieldError]:
    errors: list[FieldError] = []
    if isinstance(value, list) and place.node.topology == "set":
        errors += [FieldError.duplicate(f"{path}[{index}]", value[index]) for index in _repeats(value)]
    elif isinstance(value, list) and place.node.topology == "map":
        errors += _repeated_keys(value, place.node.map_keys, path)
    for inner, item, inner_path in place.inside(value, path):
        errors += duplicate_errors(inner, item, inner_path)
    return errors


def _repeated_keys(value: list[Any], fields: tuple[str, ...], path: str) -> list[FieldError]:
    for index, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            why = "must be an object for an array of list-type map"
            return [FieldError.invalid(f"{path}[{index}]", item, why)]
    keys: list[Object] = [{field: item[field] for field in fields if field in item} if item else {} for item in value]
    return [FieldError.duplicate(f"{path}[{index}]", keys[index]) for index in _repeats(keys)]


def _repeats(items: list[Any]) -> list[int]:
    """Where something stands for the second time."""
    seen: dict[bytes, int] = {}
    found = []
    for index, item in enumerate(items):
        text = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            found.append(index)
    return found
