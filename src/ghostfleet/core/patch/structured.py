"""Merging and cutting typed values: the mechanics of server-side apply.

A *configuration* is laid over a live value: leaves of the configuration win, objects and maps merge by key, lists that
are sets or maps merge by item, and whatever only the live value has stays. Items of merged lists stand as the
configuration has them, with the live ones in between where they were. Cutting takes the members of a field set out of a
value; where nothing is left inside a field, null stands there.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.core.patch.elements import item_element
from ghostfleet.core.patch.fieldset import LEAF, FieldSet, in_order, is_member
from ghostfleet.core.patch.ownership import is_leaf
from ghostfleet.core.schema import ANY, MISSING, Type

__all__ = ["cut", "merge_typed", "with_named_fields"]


def merge_typed(live: Any, config: Any, type: Type) -> Any:
    """The configuration laid over the live value; the live value itself where they agree."""
    if is_leaf(type):
        return live if live == config and live.__class__ is config.__class__ else config
    if type.sort == "any":
        return _merge_fields(live, config, ANY) if live.__class__ is dict else _unless_equal(live, config)
    if not live or live.__class__ is not (list if type.sort == "list" else dict):
        return _unless_equal(live, config)
    if not config:
        # Null and empty claim the container, not what others put into it.
        return live
    merge: Any = _merge_items if type.sort == "list" else _merge_fields
    return merge(live, config, type)


def _unless_equal(live: Any, config: Any) -> Any:
    return live if live == config and live.__class__ is config.__class__ else config


def _merge_fields(live: dict[str, Any], config: Any, type: Type) -> Any:
    if config is None:
        return live
    if config.__class__ is not dict:
        return config
    merged = live
    for key, value in config.items():
        current = live.get(key, MISSING)
        if current is MISSING:
            new = value
        else:
            new = merge_typed(current, value, type.child(key) or ANY)
            if new is current:
                continue
        if merged is live:
            merged = live.copy()
        merged[key] = new
    return merged


def _merge_items(live: list[Any], config: list[Any], type: Type) -> list[Any]:
    item_type = type.items or ANY
    live_elements = [item_element(item, type) for item in live]
    config_elements = [item_element(item, type) for item in config]
    ours = dict(zip(config_elements, config, strict=True))
    theirs: dict[str, Any] = {}
    for element, item in zip(live_elements, live, strict=True):
        # Live items that share an identity are not merged with, but replaced.
        theirs[element] = None if element in theirs else item

    def both(element: str) -> Any:
        current = theirs.get(element)
        return ours[element] if current is None else merge_typed(current, ours[element], item_type)

    merged = [
        both(element) if item is MISSING else item
        for element, item in _woven(live_elements, live, config_elements, ours)
    ]
    if len(merged) == len(live) and all(map(_is, merged, live)):
        return live
    return merged


def _is(one: Any, other: Any) -> bool:
    return one is other


def _woven(
    live_elements: list[str], live: list[Any], config_elements: list[str], ours: dict[str, Any]
) -> list[tuple[str, Any]]:
    """The order of the merged list: each element with its live item, or with MISSING if the configuration has it."""
    there = set(live_elements)
    row: list[tuple[str, Any]] = []
    done: set[str] = set()
    at = turn = 0
    while at < len(live) or turn < len(config_elements):
        if at < len(live):
            element = live_elements[at]
            wanted = config_elements[turn] if turn < len(config_elements) else None
            if element not in ours:
                row.append((element, live[at]))
                at += 1
                continue
            next_shared = next((each for each in config_elements[turn:] if each in there), None)
            if element != wanted and wanted is not None and next_shared not in (None, element):
                # Its turn has been, or comes when the configuration names it.
                at += 1
                continue
            if element == wanted or element in done:
                at += 1
        if turn < len(config_elements):
            row.append((config_elements[turn], MISSING))
            done.add(config_elements[turn])
            turn += 1
    return row


def cut(value: Any, fields: FieldSet, type: Type) -> Any:
    """The value without the members of the set; None if nothing is left of it."""
    if not fields or not isinstance(value, dict | list):
        return value
    if not value or is_leaf(type) or (type.sort == "any" and isinstance(value, list)):
        return None
    return _cut_items(value, fields, type) if isinstance(value, list) else _cut_fields(value, fields, type)


def _cut_fields(value: dict[str, Any], fields: FieldSet, type: Type) -> dict[str, Any] | None:
    left: dict[str, Any] = {}
    for key, item in value.items():
        node = fields.get(f"f:{key}")
        if node is None:
            left[key] = item
        elif not is_member(node):
            left[key] = cut(item, node, type.child(key) or ANY)
    return left or None


def _cut_items(value: list[Any], fields: FieldSet, type: Type) -> list[Any] | None:
    left: list[Any] = []
    for item in value:
        node = fields.get(item_element(item, type))
        if node is None:
            left.append(item)
        elif not is_member(node):
            left.append(cut(item, node, type.items or ANY) or {})
    return left or None


def with_named_fields(fields: FieldSet, type: Type | None) -> FieldSet:
    """The set with every declared field in it that holds members as a member itself."""
    result: FieldSet = {}
    for element, node in fields.items():
        if not node or element == ".":
            result[element] = node
            continue
        named = type is not None and type.sort == "object" and element[0] == "f" and element[2:] in type.fields
        inner = with_named_fields(node, _type_below(type, element))
        result[element] = in_order({".": LEAF, **inner}) if named and "." not in inner else inner
    return result


def _type_below(type: Type | None, element: str) -> Type | None:
    if type is None:
        return None
    if element[0] == "f":
        return type.child(element[2:]) if type.sort in ("object", "map", "any") else None
    return type.items if element[0] == "k" and type.sort == "list" else None
