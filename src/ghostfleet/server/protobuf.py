"""Requests in protobuf, turned into the JSON form that everything behind the server's edge works with.

Kubernetes' protobuf is an *envelope* (four magic bytes, then a message that names apiVersion and kind and holds the
object's own bytes) around ordinary messages, whose field numbers the schema knows. For every object type there is one
table from tags to *handlers*, functions that put a field into the object that is being built; a handler is made when
its tag is first seen. Handlers of single values leave the bytes to a *reader* (see `protovalues`).

Go writes plain fields even when they are zero, and pointers only when they are set. So zeros of the fields that JSON
would leave out (`Type.omits`) are dropped, and every other value on the wire is one the client meant. Unknown numbers
are skipped, as protobuf demands; anything malformed is a 400.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from ghostfleet.core.errors import bad_request, unsupported_media_type
from ghostfleet.core.schema import MISSING, Type
from ghostfleet.server.protovalues import READERS, Reader, signed
from ghostfleet.server.wire import BYTES, EIGHT_BYTES, INTEGER, Handler, read_integer, skip, walk

__all__ = ["decode", "struct_of"]

Object = dict[str, Any]

_MAGIC = b"k8s\0"
_WIRE_TYPES = {"integer": INTEGER, "boolean": INTEGER, "number": EIGHT_BYTES}


def decode(body: bytes, types: Callable[[str, str], Type | None]) -> Object:
    """The object in a request's body; `types` finds the type of an apiVersion and kind."""
    if not body.startswith(_MAGIC):
        raise bad_request("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    try:
        return _decode(body, types)
    except IndexError:
        raise bad_request("malformed protobuf: the message ends in the middle of a field") from None
    except ValueError as error:
        raise bad_request(f"malformed protobuf: {error}") from None


def _decode(body: bytes, types: Callable[[str, str], Type | None]) -> Object:
    envelope: Object = {}
    walk(_ENVELOPE, body, len(_MAGIC), len(body), envelope, 0)
    named = envelope.get("typeMeta", {})
    api_version, kind = named.get("apiVersion"), named.get("kind")
    if not api_version or not kind:
        raise bad_request(f"the object provided does not state its {'apiVersion' if kind else 'kind'}")
    type_ = types(api_version, kind)
    if type_ is None:
        raise bad_request(f'no kind "{kind}" is registered for version "{api_version}"')
    if not type_.name:
        raise unsupported_media_type(f"{kind} in {api_version} is a custom resource, which has no protobuf form")
    decoded: Object = {"apiVersion": api_version, "kind": kind}
    start, stop = envelope.get("raw", (0, 0))
    walk(_table(type_), body, start, stop, decoded, 0)
    return decoded


class _Table(dict[int, Handler]):
    """Handlers by tag, of one message."""

    def __init__(self, type_: Type) -> None:
        super().__init__()
        self._type = type_
        self._names = {number: name for name, number in type_.numbers.items()}

    def __missing__(self, tag: int) -> Handler:
        handler = self._make(tag >> 3, tag & 7)
        if handler is None:
            # Not kept: there are as many unknown tags as a client cares to invent.
            return skip
        self[tag] = handler
        return handler

    def _make(self, number: int, wire_type: int) -> Handler | None:
        if number == 0:
            raise ValueError("illegal field number 0")
        if inline := self._type.inlines.get(number):
            self._expect(f"number {number}", wire_type, BYTES)
            return _inline(inline)
        name = self._names.get(number)
        if name is None:
            return None
        type_ = self._type.fields[name]
        if type_.sort == "list" and not type_.wrapped:
            return self._list(name, _items(type_), wire_type)
        self._expect(name, wire_type, _wire_type(type_))
        if type_.sort == "object":
            return _object(name, type_)
        if type_.sort == "map":
            return _map(name, _items(type_))
        return _value(name, type_, name in self._type.omits)

    def _list(self, name: str, items: Type, wire_type: int) -> Handler:
        if wire_type == BYTES and _wire_type(items) == INTEGER:
            return _packed(name, items)
        self._expect(name, wire_type, _wire_type(items))
        return _list(name, items)

    def _expect(self, name: str, wire_type: int, expected: int) -> None:
        if wire_type != expected:
            raise ValueError(f"wrong wire type {wire_type} for field {name} of {self._type.name or 'a message'}")


@cache
def _table(type_: Type) -> _Table:
    return _Table(type_)


def _items(type_: Type) -> Type:
    if type_.items is None:
        raise TypeError(f"{type_!r} does not say what it holds")
    return type_.items


def _wire_type(type_: Type) -> int:
    return _WIRE_TYPES.get(type_.sort, BYTES)


def _inline(type_: Type) -> Handler:
    table = _table(type_)

    def handle(into: Object, data: bytes, start: int, stop: int, depth: int) -> None:
        walk(table, data, start, stop, into, depth + 1)

    return handle


def _object(name: str, type_: Type) -> Handler:
    table = _table(type_)

    def handle(into: Object, data: bytes, start: int, stop: int, depth: int) -> None:
        # A message that comes in two pieces is merged.
        walk(table, data, start, stop, into.setdefault(name, {}), depth + 1)

    return handle


def _map(name: str, items: Type) -> Handler:
    table = _Table(struct_of(key=_STRING, value=items))

    def handle(into: Object, data: bytes, start: int, stop: int, depth: int) -> None:
        entry: Object = {}
        walk(table, data, start, stop, entry, depth + 1)
        value = entry["value"] if "value" in entry else _zero(items)
        into.setdefault(name, {})[entry.get("key", "")] = value

    return handle


def _zero(type_: Type) -> Any:
    """What stands for a map's value that is not on the wire."""
    if type_.sort in _WIRE_TYPES:
        return _number(type_)(0)
    value = _reader(type_)(b"", 0, 0, 0)
    return None if value is MISSING else value


def _list(name: str, items: Type) -> Handler:
    if _wire_type(items) == INTEGER:
        convert = _number(items)
        return lambda into, value: into.setdefault(name, []).append(convert(value))
    read = _reader(items)

    def handle(into: Object, data: bytes, start: int, stop: int, depth: int) -> None:
        value = read(data, start, stop, depth)
        into.setdefault(name, []).append(None if value is MISSING else value)

    return handle


def _packed(name: str, items: Type) -> Handler:
    """A list of integers in one run of bytes."""
    convert = _number(items)

    def handle(into: Object, data: bytes, start: int, stop: int, _depth: int) -> None:
        values = into.setdefault(name, [])
        while start < stop:
            value, start = read_integer(data, start)
            values.append(convert(value))
        if start != stop:
            raise IndexError

    return handle


def _value(name: str, type_: Type, omitted: bool) -> Handler:
    """A field that holds one scalar, or what JSON shows as one value."""
    if _wire_type(type_) == INTEGER:
        return _integer(name, _number(type_), omitted)
    if type_.sort == "string":
        return _text(name, omitted)
    read = _reader(type_)

    def handle(into: Object, data: bytes, start: int, stop: int, depth: int) -> None:
        value = read(data, start, stop, depth)
        if value is MISSING or (omitted and not value):
            into.pop(name, None)
        else:
            into[name] = value

    return handle


def _integer(name: str, convert: Callable[[int], int], omitted: bool) -> Handler:
    def handle(into: Object, value: int) -> None:
        if value or not omitted:
            into[name] = convert(value)
        else:
            into.pop(name, None)

    return handle


def _text(name: str, omitted: bool) -> Handler:
    """Strings are most of what there is, so they get a handler without a reader in between."""

    def handle(into: Object, data: bytes, start: int, stop: int, _depth: int) -> None:
        if stop > start or not omitted:
            into[name] = data[start:stop].decode()
        else:
            into.pop(name, None)

    return handle


def _number(type_: Type) -> Callable[[int], int]:
    """From an unsigned integer of 64 bits to what it stands for."""
    if type_.sort == "boolean":
        return bool
    return partial(signed, bits=32) if type_.format == "int32" else signed


@cache
def _reader(type_: Type) -> Reader:
    if type_.sort == "object":
        return _read_fields(_table(type_))
    if type_.sort == "list":
        return _read_wrapped(_items(type_))
    if type_.sort == "any" and type_.numbers:
        return _read_union(_table(type_))
    return READERS[type_.sort]


def _read_fields(table: _Table) -> Reader:
    def read(data: bytes, start: int, stop: int, depth: int) -> Object:
        fields: Object = {}
        walk(table, data, start, stop, fields, depth + 1)
        return fields

    return read


def _read_wrapped(items: Type) -> Reader:
    listed = Type("list")
    listed.items = items
    read = _read_fields(_Table(struct_of(items=listed)))
    return lambda *message: read(*message).get("items", [])


def _read_union(table: _Table) -> Reader:
    """One of several messages or a boolean: what else there is outweighs the boolean."""
    read = _read_fields(table)

    def read_union(data: bytes, start: int, stop: int, depth: int) -> Any:
        given = sorted(read(data, start, stop, depth).values(), key=lambda value: isinstance(value, bool))
        return given[0] if given else MISSING

    return read_union


def struct_of(**fields: Type) -> Type:
    """A message with these fields, numbered from 1."""
    made = Type("object")
    made.fields = fields
    made.numbers = {name: number for number, name in enumerate(fields, 1)}
    return made


_STRING = Type("string")
_ENVELOPE = _Table(
    struct_of(
        typeMeta=struct_of(apiVersion=_STRING, kind=_STRING),
        raw=Type("bytes"),
        contentEncoding=_STRING,
        contentType=_STRING,
    )
)


def _keep_place(into: Object, _data: bytes, start: int, stop: int, _depth: int) -> None:
    into["raw"] = (start, stop)


_ENVELOPE[2 << 3 | BYTES] = _keep_place
