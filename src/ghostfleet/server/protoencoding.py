"""Objects in protobuf, as the real server writes them: byte for byte, where its answer is known.

For every type there is one *encoder*, a function from an object to the bytes of its message, made when it is first
needed; it has a writer for each field, in the order of their numbers. Go writes plain fields even when they are absent
in JSON, and pointers only when they are set: a plain field has an *absent* form, which stands for it then. Maps come
sorted by their keys.

An answer is an *envelope*: four magic bytes and a message that names apiVersion and kind and holds the object's own. In
a watch, each event is a message with its type and such an envelope, and before it stands its length in four bytes.

Pods of one template share large parts of their specs, which are never changed; what was written for such a part is
remembered by the part itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any

from ghostfleet.core.schema import Type
from ghostfleet.server.protowriters import FEW, FieldWriter, field, field_heads, framing, text, value_writer, varint

__all__ = ["Encoder", "encoder", "envelope", "frame", "list_message"]

Object = dict[str, Any]
Encoder = Callable[[Object], bytes]
#: The absent forms of a message's fields in order; where and how each is written; and the same of those messages in it
#: that JSON does not show, for they have their fields in the object itself.
_Shape = tuple[list[bytes], dict[str, tuple[int, FieldWriter]], list[tuple[int, FieldWriter]]]

_MAGIC = b"k8s\0"
#: An envelope's contentEncoding and contentType, which are empty.
_ENVELOPE_END = b"\x1a\x00\x22\x00"
_EVENT_TYPES = {each: field(1, each.encode()) for each in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")}
_ITEMS = 2
#: Parts of specs that are remembered, for each field.
_REMEMBERED = 1024
_SHARING = ".PodSpec"
#: Times that are no pointers in Go, though the schema cannot say so.
_PLAIN_TIMES = frozenset(
    (
        "creationTimestamp",
        "deprecatedFirstTimestamp",
        "deprecatedLastTimestamp",
        "eventTime",
        "expirationTimestamp",
        "finishedAt",
        "firstTimestamp",
        "lastHeartbeatTime",
        "lastObservedTime",
        "lastProbeTime",
        "lastTimestamp",
        "lastTransitionTime",
        "lastUpdateTime",
        "startedAt",
    )
)
_ZEROS: dict[str, Any] = {"string": "", "integer": 0, "boolean": False, "number": 0.0}


def envelope(api_version: str, kind: str, message: bytes) -> bytes:
    """A whole answer."""
    return _head(api_version, kind) + varint(len(message)) + message + _ENVELOPE_END


@lru_cache(maxsize=1024)
def _head(api_version: str, kind: str) -> bytes:
    named = field(1, api_version.encode()) + field(2, kind.encode())
    return _MAGIC + field(1, named) + b"\x12"


def frame(type_: str, answer: bytes) -> bytes:
    """One event of a watch."""
    event = _EVENT_TYPES[type_] + field(2, field(1, answer))
    return len(event).to_bytes(4) + event


def list_message(metadata: Type, about: Object, items: Iterable[bytes]) -> bytes:
    """The message of a list, from what it says of itself and the messages of its items."""
    head = field(1, encoder(metadata)(about))
    item = framing(_ITEMS)
    return head + b"".join([item(each) for each in items])


@cache
def encoder(type_: Type) -> Encoder:
    """The encoder of a type."""
    shape: _Shape | None = None

    def encode(obj: Object) -> bytes:
        nonlocal shape
        if shape is None:
            # Not before: a type may hold itself.
            shape = _shape(type_)
        absent, fields, inlines = shape
        chunks = absent.copy()
        for name, value in obj.items():
            if name in fields and value is not None:
                place, write = fields[name]
                chunks[place] = write(value)
        for place, write in inlines:
            chunks[place] = write(obj)
        return b"".join(chunks)

    return encode


def _shape(type_: Type) -> _Shape:
    """How to write a message: the absent forms of its fields in order, and the place and writer of each."""
    names = {number: name for name, number in type_.numbers.items()}
    absent, fields, inlines = [], {}, []
    for place, number in enumerate(sorted((*names, *type_.inlines))):
        if number in type_.inlines:
            absent.append(b"")
            inlines.append((place, _message(number, encoder(type_.inlines[number]))))
            continue
        name = names[number]
        write = _writer(type_.fields[name], number)
        if type_.name.endswith(_SHARING) and type_.fields[name].sort in ("list", "object"):
            write = _remembering(write)
        absent.append(_absent(type_, name, number))
        fields[name] = (place, write)
    return absent, fields, inlines


def _absent(type_: Type, name: str, number: int) -> bytes:
    """What stands for a field that an object does not have: nothing, if Go has a pointer, list or map there."""
    shown = type_.fields[name]
    if shown.sort in ("time", "microtime"):
        return field(number, b"") if name in _PLAIN_TIMES else b""
    if name in type_.omits or (name in type_.defaults and not type_.defaults[name]):
        if shown.sort in _ZEROS:
            return value_writer(shown.sort, number)(_ZEROS[shown.sort])
        if shown.sort == "object":
            return _writer(shown, number)({})
    return b""


def _writer(type_: Type, number: int) -> FieldWriter:
    if type_.sort == "object":
        return _message(number, encoder(type_))
    if type_.sort == "map":
        return _map(number, _items(type_))
    if type_.sort == "list":
        return _wrapped(number, type_) if type_.wrapped else _list(_writer(_items(type_), number))
    if type_.sort == "any" and type_.numbers:
        return _message(number, lambda value: encoder(type_)(_alternatives(type_, value)))
    return value_writer(type_.sort, number)


def _message(number: int, encode: FieldWriter) -> FieldWriter:
    heads, tag = field_heads(number)

    def write(value: Any) -> bytes:
        data = encode(value)
        size = len(data)
        return (heads[size] if size < FEW else tag + varint(size)) + data

    return write


def _list(write: FieldWriter) -> FieldWriter:
    return lambda values: b"".join([write(value) for value in values if value is not None])


def _wrapped(number: int, type_: Type) -> FieldWriter:
    """A list that is a message of its own, the items being its field 1."""
    frame, write = framing(number), _list(_writer(_items(type_), 1))
    return lambda values: frame(write(values))


def _map(number: int, items: Type) -> FieldWriter:
    frame, key, write = framing(number), text(1), _writer(items, 2)

    def write_map(entries: Object) -> bytes:
        return b"".join([frame(key(name) + write(entries[name])) for name in sorted(entries)])

    return write_map


def _alternatives(union: Type, value: Any) -> Object:
    """A value that is one of several messages or a boolean, as the fields of a message that has a field for each."""
    for name, type_ in union.fields.items():
        if type_.sort == "list" and isinstance(value, list):
            return {name: value}
        if type_.sort == "object" and isinstance(value, dict):
            # A schema in the place of a boolean means that what it describes is allowed.
            return {"allows": True, name: value}
        if type_.sort == "boolean" and isinstance(value, bool):
            return {name: value}
    return {}


def _remembering(write: FieldWriter) -> FieldWriter:
    known: dict[int, tuple[Any, bytes]] = {}

    def remembered(value: Any) -> bytes:
        found = known.get(id(value))
        if found is not None and found[0] is value:
            return found[1]
        if len(known) >= _REMEMBERED:
            known.clear()
        written = write(value)
        known[id(value)] = (value, written)
        return written

    return remembered


def _items(type_: Type) -> Type:
    if type_.items is None:
        raise TypeError(f"{type_!r} does not say what it holds")
    return type_.items
