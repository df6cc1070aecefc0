"""Protobuf's wire format: messages as runs of fields.

A field is a *tag*, its number and its *wire type* in one integer, and a value: an integer, four or eight bytes, or a
length and that many bytes. `walk` reads the fields of one message and gives each to the *handler* that a table has for
its tag; handlers of fields that are messages walk on, one level deeper. Malformed input is a ValueError, and input that
ends too early an IndexError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["BYTES", "EIGHT_BYTES", "INTEGER", "Handler", "read_integer", "skip", "walk"]

INTEGER, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5
#: Takes what is being built and, for an integer, its value; for all else data, start, stop and depth.
Handler = Callable[..., None]

# Kubernetes' objects nest a few dozen messages deep; each level takes a few frames of Python's stack.
_DEEPEST = 100


def walk(handlers: Mapping[int, Handler], data: bytes, position: int, end: int, into: Any, depth: int) -> None:
    """Read the fields between two positions."""
    if depth > _DEEPEST:
        raise ValueError("messages are nested too deeply")
    while position < end:
        # Most integers take one byte, and a call for each of them would double the time: hence the repeated test.
        tag = data[position]
        position += 1
        if tag > 127:
            tag, position = read_integer(data, position - 1)
        wire_type = tag & 7
        if wire_type == BYTES:
            size = data[position]
            position += 1
            if size > 127:
                size, position = read_integer(data, position - 1)
            stop = position + size
            if stop > end:
                raise IndexError
            handlers[tag](into, data, position, stop, depth)
            position = stop
        elif wire_type == INTEGER:
            value = data[position]
            position += 1
            if value > 127:
                value, position = read_integer(data, position - 1)
            handlers[tag](into, value)
        else:
            stop = position + _fixed_size(wire_type)
            if stop > end:
                raise IndexError
            handlers[tag](into, data, position, stop, depth)
            position = stop
    if position != end:
        raise IndexError


def read_integer(data: bytes, position: int) -> tuple[int, int]:
    """An unsigned integer of 64 bits, and the position after it."""
    value = shift = 0
    while shift < 64:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position
        shift += 7
    raise ValueError("an integer is longer than ten bytes")


def skip(*_: Any) -> None:
    """The handler of a field that nobody knows."""


def _fixed_size(wire_type: int) -> int:
    if wire_type == EIGHT_BYTES:
        return 8
    if wire_type == FOUR_BYTES:
        return 4
    raise ValueError(f"illegal wire type {wire_type}")
