"""Single values of JSON as protobuf has them: the other direction of `protovalues`.

A *writer* turns one value into the bytes of its field, tag and length included. Of times, quantities and their like,
which are messages in protobuf, the *body* is made once for every text and remembered.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import orjson

from ghostfleet.core.durations import parse_duration
from ghostfleet.core.schema import Sort
from ghostfleet.core.timestamps import MICRO, parse_rfc3339
from ghostfleet.server.wire import BYTES, EIGHT_BYTES, INTEGER

__all__ = ["FEW", "FieldWriter", "field", "field_heads", "framing", "text", "value_writer", "varint"]

#: A JSON value -> the bytes of its field.
FieldWriter = Callable[[Any], bytes]

_MASK = 0xFFFF_FFFF_FFFF_FFFF
_SMALL = 1 << 14
FEW = 256


def _long_varint(value: int) -> bytes:
    digits = bytearray()
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    digits.append(value)
    return bytes(digits)


_VARINTS = [_long_varint(number) for number in range(_SMALL)]


def varint(value: int) -> bytes:
    """An integer; a negative one as its complement of 64 bits."""
    return _VARINTS[value] if 0 <= value < _SMALL else _long_varint(value & _MASK)


@cache
def field_heads(number: int) -> tuple[list[bytes], bytes]:
    """What stands before the few bytes of a message or text of this number, by how many they are; and its tag."""
    tag = varint(number << 3 | BYTES)
    return [tag + varint(size) for size in range(FEW)], tag


@cache
def framing(number: int) -> Callable[[bytes], bytes]:
    """What makes the bytes of a message or text a field of this number."""
    heads, tag = field_heads(number)

    def frame(data: bytes) -> bytes:
        size = len(data)
        return (heads[size] if size < FEW else tag + varint(size)) + data

    return frame


def field(number: int, data: bytes) -> bytes:
    """A field that holds bytes."""
    return framing(number)(data)


def text(number: int) -> FieldWriter:
    """The writer of a string; most values are strings, so it does without another call."""
    heads, tag = field_heads(number)

    def write(value: str) -> bytes:
        data = value.encode()
        size = len(data)
        return (heads[size] if size < FEW else tag + varint(size)) + data

    return write


def value_writer(sort: Sort, number: int) -> FieldWriter:
    """The writer of a field that holds one value of this sort."""
    if sort in ("integer", "boolean"):
        return _integer(number)
    if sort == "number":
        return _double(number)
    if sort == "string":
        return text(number)
    body, frame = _BODIES[sort], framing(number)
    return lambda value: frame(body(value))


def _integer(number: int) -> FieldWriter:
    tag = varint(number << 3 | INTEGER)
    small = [tag + varint(value) for value in range(256)]

    def write(value: int) -> bytes:
        return small[value] if 0 <= value < 256 else tag + varint(value)

    return write


def _double(number: int) -> FieldWriter:
    tag = varint(number << 3 | EIGHT_BYTES)
    return lambda value: tag + struct.pack("<d", value)


def _bytes(value: str) -> bytes:
    return base64.b64decode(value)


@lru_cache(maxsize=8192)
def _quantity(value: str | int | float) -> bytes:
    return field(1, str(value).encode())


@lru_cache(maxsize=8192)
def _time(value: str) -> bytes:
    return _timestamp(parse_rfc3339(value) // MICRO, 0)


@lru_cache(maxsize=8192)
def _microtime(value: str) -> bytes:
    seconds, micros = divmod(parse_rfc3339(value), MICRO)
    return _timestamp(seconds, micros * 1000)


def _timestamp(seconds: int, nanos: int) -> bytes:
    return b"\x08" + varint(seconds) + b"\x10" + varint(nanos)


def _duration(value: str) -> bytes:
    return b"\x08" + varint(parse_duration(value) * 1000)


def _int_or_string(value: int | str) -> bytes:
    if isinstance(value, int):
        return b"\x08\x00\x10" + varint(value) + b"\x1a\x00"
    return b"\x08\x01\x10\x00" + field(3, value.encode())


def _json(value: Any) -> bytes:
    """JSON that travels as it is, in bytes."""
    return field(1, orjson.dumps(value))


_BODIES: dict[Sort, FieldWriter] = {
    "bytes": _bytes,
    "quantity": _quantity,
    "time": _time,
    "microtime": _microtime,
    "duration": _duration,
    "intorstring": _int_or_string,
    "any": _json,
    "fieldsv1": _json,
}
