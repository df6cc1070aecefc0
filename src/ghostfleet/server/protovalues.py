"""Single values of JSON that are messages, bytes or fixed-size numbers in protobuf: quantities, times and their like.

A *reader* turns the bytes of one value into JSON, or into MISSING where JSON would show null.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from typing import Any

import orjson

from ghostfleet.core.durations import format_duration
from ghostfleet.core.schema import MISSING, Sort
from ghostfleet.core.timestamps import MICRO, rfc3339, rfc3339_micro
from ghostfleet.server.wire import BYTES, INTEGER, Handler, skip, walk

__all__ = ["READERS", "Reader", "signed"]

#: (data, start, stop, depth) -> JSON
Reader = Callable[[bytes, int, int, int], Any]


def signed(value: int, bits: int = 64) -> int:
    """The number that an unsigned integer off the wire stands for, cut to so many bits."""
    sign = 1 << (bits - 1)
    return ((value & (2 * sign - 1)) ^ sign) - sign


class _Small(dict[int, Handler]):
    """A message of few integers and bytes, kept as they are, by field number."""

    def __init__(self, *wire_types: int) -> None:
        """The wire types of its fields, numbered from 1."""
        super().__init__()
        self._wire_types = dict(enumerate(wire_types, 1))
        for number, wire_type in self._wire_types.items():
            self[number << 3 | wire_type] = _keep_integer(number) if wire_type == INTEGER else _keep_bytes(number)

    def __missing__(self, tag: int) -> Handler:
        if tag >> 3 in self._wire_types:
            raise ValueError(f"wrong wire type {tag & 7} for field number {tag >> 3}")
        return skip

    def read(self, data: bytes, start: int, stop: int, depth: int) -> dict[int, Any]:
        parts: dict[int, Any] = {}
        walk(self, data, start, stop, parts, depth + 1)
        return parts


def _keep_integer(number: int) -> Handler:
    return lambda into, value: into.__setitem__(number, value)


def _keep_bytes(number: int) -> Handler:
    return lambda into, data, start, stop, _depth: into.__setitem__(number, data[start:stop])


_RAW = _Small(BYTES)
_TIMESTAMP = _Small(INTEGER, INTEGER)
_DURATION = _Small(INTEGER)
_INT_OR_STRING = _Small(INTEGER, INTEGER, BYTES)


def _string(data: bytes, start: int, stop: int, _depth: int) -> str:
    return data[start:stop].decode()


def _bytes(data: bytes, start: int, stop: int, _depth: int) -> str:
    return base64.b64encode(data[start:stop]).decode()


def _double(data: bytes, start: int, _stop: int, _depth: int) -> float:
    value: float = struct.unpack_from("<d", data, start)[0]
    return value


def _quantity(data: bytes, start: int, stop: int, depth: int) -> str:
    text: bytes = _RAW.read(data, start, stop, depth).get(1, b"")
    return text.decode() or "0"


def _time(data: bytes, start: int, stop: int, depth: int) -> Any:
    if start == stop:
        return MISSING
    return rfc3339(signed(_TIMESTAMP.read(data, start, stop, depth).get(1, 0)) * MICRO)


def _microtime(data: bytes, start: int, stop: int, depth: int) -> Any:
    if start == stop:
        return MISSING
    parts = _TIMESTAMP.read(data, start, stop, depth)
    return rfc3339_micro(signed(parts.get(1, 0)) * MICRO + signed(parts.get(2, 0), 32) // 1000)


def _duration(data: bytes, start: int, stop: int, depth: int) -> str:
    return format_duration(signed(_DURATION.read(data, start, stop, depth).get(1, 0)) // 1000)


def _int_or_string(data: bytes, start: int, stop: int, depth: int) -> int | str:
    parts = _INT_OR_STRING.read(data, start, stop, depth)
    if parts.get(1, 0) == 0:
        return signed(parts.get(2, 0), 32)
    text: bytes = parts.get(3, b"")
    return text.decode()


def _json(data: bytes, start: int, stop: int, depth: int) -> Any:
    """JSON that travels as it is, in bytes."""
    text = _RAW.read(data, start, stop, depth).get(1)
    return orjson.loads(text) if text else MISSING


READERS: dict[Sort, Reader] = {
    "string": _string,
    "bytes": _bytes,
    "number": _double,
    "quantity": _quantity,
    "time": _time,
    "microtime": _microtime,
    "duration": _duration,
    "intorstring": _int_or_string,
    "any": _json,
    "fieldsv1": _json,
}
