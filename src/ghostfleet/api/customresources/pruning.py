"""Pruning: an object loses what its schema does not know.

Unknown fields go, and so do nulls where null is no value and nothing stands in for it. Metadata, the object's own and
that of embedded objects, is checked by the built-in type instead. An object that loses nothing comes back as it is,
which a compiled function per node finds out; any other is walked with paths. What is inside an *open* node stays,
unless the schema speaks about it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ghostfleet.api.customresources.nodes import META_FIELDS, OBJECT_META, SchemaNode
from ghostfleet.api.kinds import Resource, Version
from ghostfleet.api.validation.shape import normalise as normalise_shape
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import ApiError, FieldError, bad_request
from ghostfleet.core.schema import MISSING

__all__ = ["normalise", "prune"]

Clean = Callable[[Any], bool]

_SCALARS = frozenset({str, int, float, bool})


def normalise(obj: Object, resource: Resource, version: Version) -> tuple[Object, list[str]]:
    """The object without what its schema does not know, and the paths of what it lost."""
    node = version.schema
    assert isinstance(node, SchemaNode)
    try:
        metadata, unknown = _clean_metadata(obj["metadata"], "metadata")
        if metadata is not obj["metadata"]:
            obj = {**obj, "metadata": metadata}
        if not _is_clean(node, obj):
            walk = _Walk()
            obj = walk.value(obj, node, "")
            unknown += sorted(walk.unknown) + sorted(walk.embedded)
    except ValueError as problem:
        kind = resource.kind
        raise bad_request(f'{kind} in version "{version.name}" cannot be handled as a {kind}: {problem}') from None
    return obj, unknown


def prune(value: Any, node: SchemaNode) -> Any:
    """A value of this node without unknown fields, nulls left alone."""
    return _Walk(nulls=True).value(value, node, "")


def _clean_metadata(metadata: Object, path: str) -> tuple[Object, list[str]]:
    """Metadata as its type has it: known fields with values in them; ValueError carries the words of Go's decoder."""
    if metadata.get("creationTimestamp", "") is None:
        metadata = {key: value for key, value in metadata.items() if key != "creationTimestamp"}
    try:
        metadata, unknown = normalise_shape(metadata, OBJECT_META, kind="", version="")
    except ApiError as error:
        raise ValueError(error.message.partition("cannot be handled as a : ")[2]) from None
    if not all(metadata.values()):
        metadata = {key: value for key, value in metadata.items() if value}
    return metadata, sorted(f"{path}.{field}" for field in unknown)


# Clean or not: compiled per node.


def _is_clean(node: SchemaNode, value: Any) -> bool:
    clean = node.clean
    if clean is None:
        clean = node.clean = _compile(node, node.open)
    return clean(value)


def _compile(node: SchemaNode, is_open: bool) -> Clean:
    """A test of values in the place of a field: null counts only where it is a value or a default stands in for it."""
    takes_null = node.nullable or node.default is not MISSING
    if not node.known and node.additional is None and node.member is None and not node.embedded and not is_open:
        return lambda value: type(value) in _SCALARS or (not value and (value is not None or takes_null))
    fields = _Fields(node, is_open)
    member = node.member
    items = None if member is None else _lazy(member, is_open or member.open)

    def clean(value: Any) -> bool:
        if type(value) is dict:
            for key, item in value.items():  # noqa: SIM110 - all() with a generator costs twice the time here
                if not fields[key](item):
                    return False
            return True
        if type(value) is list:
            if items is None:
                return is_open or not any(type(item) in (dict, list) for item in value)
            for item in value:  # noqa: SIM110 - as above
                if item is not None and not items(item):
                    return False
            return True
        return value is not None or takes_null

    return clean


def _lazy(node: SchemaNode, is_open: bool) -> Clean:
    """Compiled when first asked: most fields of a large schema are never used."""
    compiled: list[Clean] = []

    def clean(value: Any) -> bool:
        if not compiled:
            compiled.append(_compile(node, is_open))
        return compiled[0](value)

    return clean


class _Fields(dict[str, Clean]):
    """The tests of an object's fields, each compiled when it is first met."""

    def __init__(self, node: SchemaNode, is_open: bool) -> None:
        self.node = node
        if node.embedded:
            self.update(apiVersion=_is_string, kind=_is_string, metadata=_is_clean_metadata)
        if node.additional is not None:
            self.other = _compile(node.additional, node.additional.open)
        else:
            self.other = _always if is_open else _never

    def __missing__(self, key: str) -> Clean:
        child = self.node.known.get(key)
        if child is None:
            return self.other
        clean = self[key] = _compile(child, child.open)
        return clean


def _always(_: Any) -> bool:
    return True


def _never(_: Any) -> bool:
    return False


def _is_string(value: Any) -> bool:
    return type(value) is str


def _is_clean_metadata(value: Any) -> bool:
    if type(value) is not dict:
        return False
    try:
        return _clean_metadata(value, "")[0] is value
    except ValueError:
        return False


# Everything else: a slow walk with paths.


class _Walk:
    """One object being pruned."""

    def __init__(self, *, nulls: bool = False) -> None:
        self.unknown: list[str] = []
        #: unknown fields of embedded objects' metadata
        self.embedded: list[str] = []
        self._keeps_nulls = nulls

    def value(self, value: Any, node: SchemaNode | None, path: str, is_open: bool = False) -> Any:
        if node is not None and node.open:
            is_open = True
        if type(value) is dict:
            return self._object(value, node, path, is_open)
        if type(value) is list:
            member = None if node is None else node.member
            if is_open and member is None:
                return value
            items = [self.value(item, member, f"{path}[{index}]", is_open) for index, item in enumerate(value)]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        return value

    def _object(self, value: Object, node: SchemaNode | None, path: str, is_open: bool) -> Object:
        result: Object = {}
        changed = False
        for key, item in value.items():
            inner = f"{path}.{key}" if path else key
            child = None if node is None else node.known.get(key)
            if node is not None and node.embedded and key in META_FIELDS:
                if child is not None and self._is_void(item, child):
                    changed = True
                    continue
                new = self._meta_field(key, item, inner)
            elif child is None and node is not None and node.additional is not None:
                child = node.additional
                new = self.value(item, child, inner)
            elif child is None and is_open:
                new = item
            elif child is None:
                self.unknown.append(inner)
                changed = True
                continue
            else:
                new = self.value(item, child, inner)
            if child is not None and self._is_void(new, child):
                changed = True
                continue
            result[key] = new
            changed = changed or new is not item
        return result if changed else value

    def _is_void(self, value: Any, node: SchemaNode) -> bool:
        return value is None and not self._keeps_nulls and not node.nullable and node.default is MISSING

    def _meta_field(self, key: str, item: Any, path: str) -> Any:
        if key != "metadata":
            if not isinstance(item, str):
                raise ValueError(str(FieldError.invalid(path, item, "must be a string")))
            return item
        if item is None:
            return {}
        try:
            if not isinstance(item, dict):
                raise ValueError(f"json: cannot unmarshal {_json_sort(item)} into Go value of type v1.ObjectMeta")
            metadata, unknown = _clean_metadata(item, path)
        except ValueError as problem:
            raise ValueError(str(FieldError.invalid(path, item, str(problem)))) from None
        self.embedded += unknown
        return metadata


def _json_sort(value: Any) -> str:
    return {bool: "bool", str: "string", list: "array"}.get(type(value), "number")
