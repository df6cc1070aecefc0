"""How items of a list are told apart.

A list that is a *set* knows its items by their values, one that is a *map* by the fields its type calls keys; a key
that an item leaves out counts with its default. The *element* of an item is its name in paths: `v:"a"`,
`k:{"name":"a"}`.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import intern
from typing import Any

from ghostfleet.core.patch.gotext import go_json, go_quote
from ghostfleet.core.schema import Type

__all__ = ["REMEMBERED", "MalformedList", "element_maker", "item_element"]

#: How many answers a cache keeps before it starts anew.
REMEMBERED = 4096
_makers: dict[Type, Callable[[Any], str]] = {}


class MalformedList(ValueError):
    """A list whose items cannot be told apart by what its type says."""


def item_element(item: Any, type: Type) -> str:
    """The element of an item in a list of this type (a set or a map)."""
    return element_maker(type)(item)


def element_maker(type: Type) -> Callable[[Any], str]:
    """What makes elements for a list of this type, remembering them."""
    maker = _makers.get(type)
    if maker is None:
        if len(_makers) >= REMEMBERED:
            _makers.clear()
        maker = _makers[type] = _set_maker() if type.topology == "set" else _map_maker(type)
    return maker


def _set_maker() -> Callable[[Any], str]:
    known: dict[str, str] = {}

    def element(item: Any) -> str:
        if item.__class__ is not str:
            return _set_element(item)
        if item not in known:
            if len(known) >= REMEMBERED:
                known.clear()
            known[item] = _set_element(item)
        return known[item]

    return element


def _set_element(item: Any) -> str:
    if isinstance(item, dict):
        raise MalformedList("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise MalformedList("not supported: associative list with lists as elements")
    if item is None:
        raise MalformedList("associative list without keys has an element that's an explicit null")
    return intern(f"v:{go_json(item)}")


def _map_maker(type: Type) -> Callable[[Any], str]:
    names = type.map_keys
    first = names[0] if len(names) == 1 else None
    known: dict[Any, str] = {}

    def element(item: Any) -> str:
        if item.__class__ is not dict:
            word = "a null element" if item is None else "non-map elements"
            raise MalformedList(f"associative list with keys may not have {word}")
        # A key has one type, so that 1 and true do not meet here.
        memory = item.get(first) if first is not None else tuple([item.get(name) for name in names])
        try:
            found = known.get(memory)
        except TypeError:
            # A key that is a list or an object: validation will refuse it.
            return _map_element(item, type)
        if found is None:
            found = _map_element(item, type)
            if len(known) >= REMEMBERED:
                known.clear()
            known[memory] = found
        return found

    return element


def _map_element(item: dict[str, Any], type: Type) -> str:
    defaults = type.items.defaults if type.items is not None else {}
    keys = {name: defaults[name] for name in type.map_keys if name in defaults}
    keys.update((name, item[name]) for name in type.map_keys if name in item)
    if not keys:
        raise MalformedList(
            "associative list with keys has an element that omits all key fields "
            f"[{' '.join(map(go_quote, type.map_keys))}] (and doesn't have default values for any key fields)"
        )
    return intern(f"k:{go_json(keys)}")
