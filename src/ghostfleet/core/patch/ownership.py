"""Field sets of values: what somebody owns who wrote a value.

Three readings exist. *All fields* of a value are every node of it: its leaves, and every object, map and list that
holds them; this is what an update adds. *Created fields* are those of a new object: the same, but without what such an
object always has. Kinds that are built in are structs to Kubernetes, so nobody owns `spec` by creating a pod, only what
is in it; a schema tells such parts by a default that is zero. *Applied fields* are what a manager of server-side apply
claims: leaves, items of lists and keys of maps, but not the named fields that merely hold others. A *leaf* is a scalar,
an atomic value, or anything empty.

Objects of a kind come in few shapes, so the set of a shape is made once and shared: a *walk* of a type remembers, for
each order of keys it met, which of them hold more, and the node it made of what they held.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from sys import intern
from typing import Any

from ghostfleet.core.patch.elements import REMEMBERED, element_maker
from ghostfleet.core.patch.fieldset import LEAF, FieldSet, in_order
from ghostfleet.core.schema import ANY, MISSING, Type

__all__ = ["UNOWNED", "all_fields", "applied_fields", "created_fields", "is_leaf"]

_UNOWNED_METADATA = (
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
)
#: What never belongs to a manager.
UNOWNED: FieldSet = {
    "f:apiVersion": LEAF,
    "f:kind": LEAF,
    "f:metadata": {".": LEAF, **{f"f:{name}": LEAF for name in _UNOWNED_METADATA}},
}


class _Reading(Enum):
    ALL = "all"
    CREATED = "created"
    APPLIED = "applied"


#: Gives the node of a value, or None for a value that owns nothing.
Walk = Callable[[Any], FieldSet | None]
_Shape = tuple[tuple[tuple[str, Walk], ...], tuple[tuple[str, Any], ...], dict[tuple[Any, ...], FieldSet | None]]

_CONTAINERS = frozenset(("object", "map", "list", "any"))
_walks: dict[tuple[Type, _Reading, bool], Walk | None] = {}


def all_fields(value: Any, type: Type) -> FieldSet:
    """The node of a value with everything in it."""
    walk = _walk(type, _Reading.ALL, True)
    return LEAF if walk is None else walk(value) or LEAF


def created_fields(obj: dict[str, Any], type: Type) -> FieldSet:
    """The set that a manager owns by creating this object."""
    walk = _walk(type, _Reading.CREATED, False)
    return LEAF if walk is None else walk(obj) or LEAF


def applied_fields(obj: dict[str, Any], type: Type) -> FieldSet:
    """The set that a manager owns by applying this object."""
    walk = _walk(type, _Reading.APPLIED, False)
    return LEAF if walk is None else walk(obj) or LEAF


def is_leaf(type: Type) -> bool:
    """Whether a value of this type is owned as one, whatever it holds."""
    if type.sort not in _CONTAINERS or type.atomic:
        return True
    if type.sort == "any":
        # What a built-in kind holds without knowing it has a name, unlike what a custom one keeps as it comes.
        return bool(type.name)
    return type.sort == "list" and type.topology == "atomic"


def _walk(type: Type, reading: _Reading, member: bool) -> Walk | None:
    """The walk of a type, None if its values are leaves; `member` says that a node with children is one itself."""
    key = (type, reading, member)
    walk: Walk | None = _walks.get(key, MISSING)
    if walk is MISSING:
        if len(_walks) >= REMEMBERED:
            _walks.clear()
        walk = _walks[key] = _new_walk(type, reading, member)
    return walk


def _new_walk(type: Type, reading: _Reading, member: bool) -> Walk | None:
    if is_leaf(type):
        return None
    if type.sort == "any":
        return _deduced_walk(member)
    return _list_walk(type, reading, member) if type.sort == "list" else _object_walk(type, reading, member)


def _object_walk(type: Type, reading: _Reading, member: bool) -> Walk:
    shapes: dict[tuple[str, ...], _Shape] = {}
    empty = None if reading is _Reading.CREATED else LEAF

    def walk(value: Any) -> FieldSet | None:
        if not value or value.__class__ is not dict:
            return empty
        keys = tuple(value)
        shape = shapes.get(keys)
        if shape is None:
            if len(shapes) >= REMEMBERED:
                shapes.clear()
            shape = shapes[keys] = _shape(keys, type, reading)
        holders, zeros, nodes = shape
        children = [inner(value[key]) for key, inner in holders]
        # Nodes are kept alive by those that hold them, so an id stands for one node as long as it is remembered.
        memory = tuple(map(id, children))
        if zeros:
            memory = (*memory, *[value[key] == zero for key, zero in zeros])
        node: FieldSet | None = nodes.get(memory, MISSING)
        if node is MISSING:
            if len(nodes) >= REMEMBERED:
                nodes.clear()
            held = dict(zip((key for key, _ in holders), children, strict=True))
            held.update((key, None) for key, zero in zeros if value[key] == zero)
            found = {intern(f"f:{key}"): held.get(key, LEAF) for key in keys}
            node = nodes[memory] = _finished(found, member)
        return node

    return walk


def _shape(keys: tuple[str, ...], type: Type, reading: _Reading) -> _Shape:
    """What to look at in objects with these keys: those that hold more, and leaves that count only if not zero."""
    holders = []
    zeros = []
    for key in keys:
        child = type.child(key) or ANY
        zero = _zero(key, type) if reading is _Reading.CREATED else MISSING
        if zero is not MISSING and is_leaf(child):
            zeros.append((key, zero))
            continue
        if reading is _Reading.APPLIED:
            inner = _walk(child, reading, key not in type.fields)
        elif zero is MISSING:
            inner = _walk(child, _Reading.ALL, True)
        else:
            inner = _walk(child, _Reading.CREATED if zero == {} else _Reading.ALL, False)
        if inner is not None:
            holders.append((key, inner))
    return tuple(holders), tuple(zeros), {}


def _zero(key: str, type: Type) -> Any:
    """What a new struct has in a field, MISSING if nothing."""
    if not type.name:
        return MISSING
    default = type.defaults.get(key, MISSING)
    if default is MISSING:
        return None if key in type.required and key not in type.omits else MISSING
    return MISSING if default else default


def _finished(found: dict[str, FieldSet | None], member: bool) -> FieldSet | None:
    """The node in order and with its own mark; nothing if nobody owns anything of it."""
    node = {element: child for element, child in found.items() if child is not None}
    if not node:
        return LEAF if member else None
    if member:
        node["."] = LEAF
    return in_order(node)


def _deduced_walk(member: bool) -> Walk:
    """The walk of values without a schema: maps hold fields, lists are atomic."""

    def walk(value: Any) -> FieldSet | None:
        if not value or value.__class__ is not dict:
            return LEAF
        return _finished({intern(f"f:{key}"): inner(child) for key, child in value.items()}, member)

    # Keys of such a map are no declared fields, hence members in all readings.
    inner = walk if member else _deduced_walk(True)
    return walk


def _list_walk(type: Type, reading: _Reading, member: bool) -> Walk:
    element_of = element_maker(type)
    inner = _walk(type.items or ANY, reading, True)
    nodes: dict[tuple[Any, ...], FieldSet | None] = {}
    # An empty list that is applied claims nothing; null does.
    empty = None if reading is _Reading.APPLIED and not member else LEAF

    def walk(value: Any) -> FieldSet | None:
        if not value or value.__class__ is not list:
            return empty if value.__class__ is list else LEAF
        elements = list(map(element_of, value))
        children: list[FieldSet | None] = [LEAF] * len(value) if inner is None else list(map(inner, value))
        memory = (*elements, *map(id, children))
        node: FieldSet | None = nodes.get(memory, MISSING)
        if node is MISSING:
            if len(nodes) >= REMEMBERED:
                nodes.clear()
            node = nodes[memory] = made(elements, children)
        return node

    def made(elements: list[str], children: list[FieldSet | None]) -> FieldSet | None:
        found: dict[str, FieldSet | None] = {}
        for element, child in zip(elements, children, strict=True):
            # Items that cannot be told apart are owned as one.
            found[element] = LEAF if element in found else child
        return _finished(found, member)

    return walk
