"""`gnostic_case.json` holds a document with every feature, our own encoding of it, and whether gnostic reads the same from both.

`python tools/record wireforms` asks gnostic again.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

from ghostfleet.server.gnostic import encode
from ghostfleet.server.wire import walk

CASE = json.loads(Path(__file__).with_name("gnostic_case.json").read_text())


class Fields(dict):
    """Handlers that note every field."""

    def __missing__(self, tag):
        if tag & 7 == 0:
            return lambda into, value: into.append((tag >> 3, value))
        return lambda into, data, start, stop, depth: into.append((tag >> 3, data[start:stop]))


def fields(data: bytes) -> list[tuple[int, object]]:
    found: list[tuple[int, object]] = []
    walk(Fields(), data, 0, len(data), found, 0)
    return found


def at(data: bytes, *path: int) -> bytes:
    """The bytes of the first field with each of these numbers, one inside the other."""
    for number in path:
        data = next(value for found, value in fields(data) if found == number)
    return data


def test_a_document_with_every_feature_is_encoded_as_gnostic_reads_it():
    assert encode(CASE["document"]) == base64.b64decode(CASE["own_output"])
    assert CASE["read_as_the_document"]


def test_the_smallest_document_is_what_it_always_was():
    encoded = encode({"swagger": "2.0", "info": {"title": "k", "version": "v"}, "paths": {}, "definitions": {}})
    assert encoded == b"\x0a\x032.0\x12\x06\x0a\x01k\x12\x01v\x42\x00\x4a\x00"


def test_definitions_keep_their_order_and_names():
    encoded = encode({"definitions": {"b": {}, "a": {}}})
    assert [at(pair, 1) for number, pair in fields(at(encoded, 9)) if number == 1] == [b"b", b"a"]


def test_extensions_are_yaml():
    encoded = encode({"definitions": {"a": {"x-kubernetes-patch-merge-key": "name"}}})
    extension = at(encoded, 9, 1, 2, 31)
    assert at(extension, 1) == b"x-kubernetes-patch-merge-key"
    assert at(extension, 2, 2) == b'"name"'


def test_a_property_may_have_the_name_of_an_extension():
    encoded = encode({"definitions": {"a": {"properties": {"x-kubernetes-list-type": {"type": "string"}}}}})
    property_ = at(encoded, 9, 1, 2, 25, 1)
    assert at(property_, 1) == b"x-kubernetes-list-type"
    assert at(property_, 2, 22, 1) == b"string"


def test_false_is_written_where_it_is_a_choice():
    encoded = encode({"definitions": {"a": {"additionalProperties": False}}})
    assert fields(at(encoded, 9, 1, 2, 21)) == [(2, 0)]


def test_negative_numbers_take_ten_bytes():
    encoded = encode({"definitions": {"a": {"minLength": -1}}})
    assert fields(at(encoded, 9, 1, 2)) == [(12, 2**64 - 1)]


def test_keys_that_openapi_v2_does_not_know_are_left_out():
    assert encode({"definitions": {"a": {"oneOf": [], "nullable": True}}}) == encode({"definitions": {"a": {}}})
