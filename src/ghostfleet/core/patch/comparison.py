"""What changed between two states of an object, as field sets.

*Changed* are the fields that are new or have another value, *removed* those that are no more. Parts that both states
share (`is`) are not looked at. The fields that identify an object or that the server keeps (apiVersion, kind, name,
uid, resourceVersion and their like) belong to nobody and are left out, as are those a caller *ignores* because the
endpoint will not store them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from ghostfleet.core.patch.elements import item_element
from ghostfleet.core.patch.fieldset import LEAF, FieldSet, in_order, recursive_difference
from ghostfleet.core.patch.ownership import UNOWNED, all_fields, is_leaf
from ghostfleet.core.schema import ANY, MISSING, Type

__all__ = ["compare"]

_Sets = tuple[FieldSet | None, FieldSet | None]
_SAME: _Sets = (None, None)
_NOTHING: Mapping[str, Any] = {}

_SKIPPED = ("apiVersion", "kind", "metadata")
_SKIPPED_METADATA = frozenset(element[2:] for element in UNOWNED["f:metadata"])


def compare(
    old: dict[str, Any], new: dict[str, Any], type: Type, ignored: FieldSet = LEAF
) -> tuple[FieldSet, FieldSet]:
    """The sets of removed and of changed fields."""
    if old is new:
        return LEAF, LEAF
    unwritten = [key[2:] for key, node in ignored.items() if not node]
    removed, changed = _fields(old, new, type, (*_SKIPPED, *unwritten))
    before, after = old.get("metadata"), new.get("metadata")
    # Most writes leave the metadata as it is, and its parts are shared: that is told at once.
    if before is not after and before != after and "metadata" not in unwritten:
        metadata = type.child("metadata") or ANY
        inner_removed, inner_changed = _fields(before or _NOTHING, after or _NOTHING, metadata, _SKIPPED_METADATA)
        removed = _with_metadata(removed, inner_removed)
        changed = _with_metadata(changed, inner_changed)
    removed, changed = removed or LEAF, changed or LEAF
    if len(unwritten) < len(ignored):
        return recursive_difference(removed, ignored), recursive_difference(changed, ignored)
    return removed, changed


def _with_metadata(fields: FieldSet | None, metadata: FieldSet | None) -> FieldSet | None:
    if metadata is None:
        return fields
    return in_order({**(fields or LEAF), "f:metadata": metadata})


def _fields(old: Mapping[str, Any], new: Mapping[str, Any], type: Type, passed: Container[str] = ()) -> _Sets:
    """Compare two objects or maps key by key."""
    removed: FieldSet | None = None
    changed: FieldSet | None = None
    for key, value in new.items():
        before = old.get(key, MISSING)
        if before is value or key in passed:
            continue
        child = type.child(key) or ANY
        if before is MISSING:
            gone: FieldSet | None = None
            came: FieldSet | None = all_fields(value, child)
        else:
            gone, came = _values(before, value, child)
        if came is not None:
            changed = _put(changed, f"f:{key}", came)
        if gone is not None:
            removed = _put(removed, f"f:{key}", gone)
    for key in old:
        if key not in new and key not in passed:
            removed = _put(removed, f"f:{key}", all_fields(old[key], type.child(key) or ANY))
    return _sorted(removed), _sorted(changed)


def _put(fields: FieldSet | None, element: str, node: FieldSet) -> FieldSet:
    if fields is None:
        return {element: node}
    fields[element] = node
    return fields


def _sorted(fields: FieldSet | None) -> FieldSet | None:
    return fields if fields is None or len(fields) == 1 else in_order(fields)


def _values(old: Any, new: Any, type: Type) -> _Sets:
    """Compare two values at the same place."""
    if is_leaf(type):
        return _leaves(old, new)
    if type.sort == "any":
        return _deduced(old, new)
    container: Any = list if type.sort == "list" else dict
    before: Any = old if old.__class__ is container else container()
    after: Any = new if new.__class__ is container else container()
    if not before and not after:
        return _leaves(old, new)
    return _items(before, after, type) if container is list else _fields(before, after, type)


def _leaves(old: Any, new: Any) -> _Sets:
    if old != new or isinstance(old, bool) is not isinstance(new, bool):
        return None, LEAF
    return _SAME


def _deduced(old: Any, new: Any) -> _Sets:
    """Values without a schema: a map compares with a map by its keys, all else as one."""
    was_map, is_map = old.__class__ is dict and bool(old), new.__class__ is dict and bool(new)
    if was_map and (is_map or new is None or new == {}):
        return _fields(old, new or _NOTHING, ANY)
    if is_map and (old is None or old == {}):
        return _fields(_NOTHING, new, ANY)
    if not was_map and not is_map:
        return _leaves(old, new)
    gone, _ = _fields(old if was_map else _NOTHING, _NOTHING, ANY)
    _, came = _fields(_NOTHING, new if is_map else _NOTHING, ANY)
    return gone, {".": LEAF, **came} if came else LEAF


def _items(old: list[Any], new: list[Any], type: Type) -> _Sets:
    """Compare two lists by the identity of their items; their order means nothing."""
    item_type = type.items or ANY
    before, after = _by_element(old, type), _by_element(new, type)
    removed: FieldSet = {}
    changed: FieldSet = {}
    for element, items in after.items():
        gone, came = _item(before.get(element, []), items, item_type)
        if came is not None:
            changed[element] = came
        if gone is not None:
            removed[element] = gone
    for element, items in before.items():
        if element not in after:
            removed[element] = LEAF if len(items) > 1 else all_fields(items[0], item_type)
    return _sorted(removed or None), _sorted(changed or None)


def _by_element(items: list[Any], type: Type) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(item_element(item, type), []).append(item)
    return found


def _item(before: list[Any], after: list[Any], type: Type) -> _Sets:
    """Compare what stands under one identity; items that share it count as one leaf."""
    if len(before) <= 1 and len(after) <= 1:
        if not before:
            return None, all_fields(after[0], type)
        return _SAME if before[0] is after[0] else _values(before[0], after[0], type)
    if len(before) > 1 and len(after) > 1:
        return _leaves(before, after)
    if len(after) > 1:
        return all_fields(before[0], type) if before else None, LEAF
    return LEAF, all_fields(after[0], type)
