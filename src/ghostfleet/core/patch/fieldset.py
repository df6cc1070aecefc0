"""Field sets: which fields somebody owns, in the form that managedFields has in JSON (FieldsV1).

A set is a tree of dicts. A key is a *path element*: `f:<name>` is a field or a key of a map, `k:{<keys as JSON>}` an
item of a list by its keys, `v:<JSON>` an item of a list of scalars, `i:<n>` an item by its place. A node without
children is a *member* of the set; a node with children is one only if it holds `.`. The empty dict is thus a member as
a node, and the empty set as a root. Sets are never changed once made: operations share whatever they can, and give back
the same object when the result is the same set, so `is` tells cheaply that nothing happened. Keys stand in the order in
which Kubernetes writes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import orjson

from ghostfleet.core.patch.gotext import go_quote, go_value

__all__ = [
    "LEAF",
    "FieldSet",
    "difference",
    "has",
    "in_order",
    "intersection",
    "is_member",
    "path_text",
    "paths",
    "recursive_difference",
    "union",
]

FieldSet = dict[str, Any]

#: The node of a member without children, shared by all sets.
LEAF: FieldSet = {}
_SELF = "."


def is_member(node: FieldSet) -> bool:
    return not node or _SELF in node


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    """Members of either set; `one` itself if it has all of them."""
    if not other:
        return one
    return _union(one, other) if one else other


def _union(one: FieldSet, other: FieldSet) -> FieldSet:
    merged = one
    grown = False
    for key, theirs in other.items():
        mine = one.get(key)
        if mine is theirs:
            continue
        if mine is None:
            node, grown = theirs, True
        elif not theirs:
            node = mine if is_member(mine) else {_SELF: LEAF, **mine}
        elif not mine:
            node = theirs if _SELF in theirs else {_SELF: LEAF, **theirs}
        else:
            node = _union(mine, theirs)
        if node is not mine:
            if merged is one:
                merged = one.copy()
            merged[key] = node
    return in_order(merged) if grown else merged


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """Members of `one` that are not in `other`; taking a parent away leaves its children."""
    left = one
    for key, theirs in other.items():
        mine = one.get(key)
        if mine is None:
            continue
        node = None if key == _SELF else _node_difference(mine, theirs)
        if node is mine:
            continue
        if left is one:
            left = one.copy()
        if node is None:
            del left[key]
        else:
            left[key] = node
    return left


def _node_difference(mine: FieldSet, theirs: FieldSet) -> FieldSet | None:
    if not mine:
        return None if is_member(theirs) else mine
    if theirs:
        return _node(mine, difference(mine, theirs))
    if _SELF not in mine:
        return mine
    return {key: node for key, node in mine.items() if key != _SELF}


def _node(before: FieldSet, after: FieldSet) -> FieldSet | None:
    """What is left of a node with children: itself, a bare member, or nothing."""
    if after is before:
        return before
    if not after:
        return None
    return LEAF if len(after) == 1 and _SELF in after else after


def recursive_difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """Like `difference`, but a parent takes all below it along."""
    left = one
    for key, theirs in other.items():
        mine = one.get(key)
        if mine is None:
            continue
        node = None if is_member(theirs) else _node(mine, recursive_difference(mine, theirs)) if mine else mine
        if node is mine:
            continue
        if left is one:
            left = one.copy()
        if node is None:
            del left[key]
        else:
            left[key] = node
    return left


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    """Members of both sets."""
    common: FieldSet = {}
    for key, mine in one.items():
        theirs = other.get(key)
        if theirs is None:
            continue
        if mine is theirs:
            common[key] = mine
        elif mine and theirs:
            node = _node(mine, intersection(mine, theirs))
            if node is not None:
                common[key] = node
        elif is_member(mine) and is_member(theirs):
            common[key] = LEAF
    return common


def has(fields: FieldSet, path: tuple[str, ...]) -> bool:
    """Whether the path is a member."""
    node: FieldSet | None = fields
    for element in path:
        if not node:
            return False
        node = node.get(element)
    return node is not None and bool(path) and is_member(node)


def paths(fields: FieldSet, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All members: first those of this level, then those below each of them."""
    nodes = [(key, node) for key, node in fields.items() if key != _SELF]
    for key, node in nodes:
        if is_member(node):
            yield (*above, key)
    for key, node in nodes:
        if node:
            yield from paths(node, (*above, key))


def path_text(path: tuple[str, ...]) -> str:
    """A path as messages show it: `.spec.containers[name="a"].image`."""
    return "".join(map(_element_text, path))


def _element_text(element: str) -> str:
    sort, content = element[0], element[2:]
    if sort == "f":
        return f".{content}"
    if sort == "k":
        keys = orjson.loads(content)
        return "[" + ",".join(f"{key}={_scalar_text(keys[key])}" for key in sorted(keys)) + "]"
    return f"[={_scalar_text(orjson.loads(content))}]" if sort == "v" else f"[{content}]"


def _scalar_text(value: Any) -> str:
    return go_quote(value) if isinstance(value, str) else go_value(value)


def in_order(node: FieldSet) -> FieldSet:
    """The same node with its keys as Kubernetes sorts them."""
    elements = sorted(node)
    # Only fields and the node's own mark sort before "g", and those stand right as text.
    if elements and elements[-1] >= "g" and len(elements) > (2 if elements[0] == _SELF else 1):
        elements.sort(key=_rank)
    return {element: node[element] for element in elements}


@lru_cache(maxsize=8192)
def _rank(element: str) -> tuple[Any, ...]:
    if element == _SELF:
        return (0,)
    sort, content = element[0], element[2:]
    if sort == "f":
        return (1, content)
    if sort == "k":
        keys = orjson.loads(content)
        return (2, *((key, *_scalar_rank(keys[key])) for key in sorted(keys)))
    return (3, *_scalar_rank(orjson.loads(content))) if sort == "v" else (4, int(content))


def _scalar_rank(value: Any) -> tuple[int, Any]:
    """Numbers come before strings, strings before booleans."""
    if isinstance(value, bool):
        return (2, value)
    return (1, value) if isinstance(value, str) else (0, value)
