"""Filling: how absent values get into objects that nobody may change.

A *rule* takes one JSON value and gives it back with what was missing; when nothing was, it gives back the very same
value, and otherwise a copy along the changed path which shares all the rest. Rules are made from tables, once, at
import. A table tells four sorts of missing apart, as Go's types do: a *zero* field counts as missing while it is
empty ("", 0), an *absent* field only when it is not there (or null), a *null* field is shown as null when nothing is
known, and *parts* are fields whose values have rules of their own. Values in tables are shared by all objects they
are put into, which is safe because objects are frozen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ghostfleet.core.changes import Object

__all__ = ["ListRule", "ObjectRule", "each", "each_value", "replaced", "rule", "without"]

ObjectRule = Callable[[Object], Object]
ListRule = Callable[[list[Any]], list[Any]]

_NOTHING: Mapping[str, Any] = {}


def rule(
    *,
    zero: Mapping[str, Any] = _NOTHING,
    absent: Mapping[str, Any] = _NOTHING,
    null: tuple[str, ...] = (),
    parts: Mapping[str, Callable[[Any], Any]] = _NOTHING,
    last: ObjectRule | None = None,
) -> ObjectRule:
    """The rule of one kind of object. `last` sees the object after all else is filled in."""
    zeros = tuple(zero.items())
    # What a part's rule would add to an absent value is known now: no need to find it out object by object.
    absents = tuple((key, parts[key](value) if key in parts else value) for key, value in absent.items())
    inner = tuple(parts.items())

    def apply(obj: Object) -> Object:
        added: Object | None = None
        get = obj.get
        for key, default in zeros:
            if not get(key):
                added = added or {}
                added[key] = default
        for key, default in absents:
            if get(key) is None:
                added = added or {}
                added[key] = default
        for key in null:
            if key not in obj:
                added = added or {}
                added[key] = None
        for key, part in inner:
            value = get(key)
            if value is not None:
                new = part(value)
                if new is not value:
                    added = added or {}
                    added[key] = new
        if added is not None:
            obj = {**obj, **added}
        return obj if last is None else last(obj)

    return apply


def each(item_rule: Callable[[Any], Any]) -> ListRule:
    """The rule of a list whose items have `item_rule`."""

    def apply(items: list[Any]) -> list[Any]:
        for index, item in enumerate(items):
            new = item_rule(item)
            if new is not item:
                return [*items[:index], new, *map(item_rule, items[index + 1 :])]
        return items

    return apply


def each_value(value_rule: Callable[[Any], Any]) -> ObjectRule:
    """The rule of a map whose values have `value_rule`."""

    def apply(values: Object) -> Object:
        changed = {key: new for key, value in values.items() if (new := value_rule(value)) is not value}
        return {**values, **changed} if changed else values

    return apply


def replaced(obj: Object, key: str, value: Any) -> Object:
    """`obj` with `value` at `key`: itself, when it is there already; without the key, when `value` is None."""
    if value is None:
        return without(obj, key)
    return obj if obj.get(key) is value else {**obj, key: value}


def without(obj: Object, *keys: str) -> Object:
    """`obj` less the given keys."""
    if obj.keys().isdisjoint(keys):
        return obj
    return {key: value for key, value in obj.items() if key not in keys}
