"""Objects in protobuf: what is written can be read again, for every kind there is."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ghostfleet.api.builtin import kind_type, load_registry
from ghostfleet.core.durations import format_duration
from ghostfleet.core.schema import Type
from ghostfleet.core.timestamps import MICRO, rfc3339, rfc3339_micro
from ghostfleet.server.protoanswers import Messages, encode_object
from ghostfleet.server.protobuf import decode
from ghostfleet.server.protoencoding import encoder, frame

KINDS = [
    (resource.api_version(version.name), resource.kind)
    for resource in load_registry()
    for version in resource.versions.values()
]
_SECONDS = st.integers(1, 4_000_000_000)
_WORDS = st.text(max_size=12)
_LEAVES = {
    "string": _WORDS,
    "boolean": st.booleans(),
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "quantity": st.integers(1, 10**12).map(lambda number: f"{number}m"),
    "time": _SECONDS.map(lambda seconds: rfc3339(seconds * MICRO)),
    "microtime": st.integers(1, 10**15).map(rfc3339_micro),
    "duration": st.integers(0, 10**12).map(format_duration),
    "intorstring": st.integers(-(2**31), 2**31 - 1) | _WORDS,
    "bytes": st.binary(max_size=12).map(lambda data: base64.b64encode(data).decode()),
    "any": st.dictionaries(_WORDS, st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=2),
    "fieldsv1": st.dictionaries(st.just("f:x"), st.just({}), min_size=1),
}
#: Deep enough for a container's probe; what is below is left out.
_DEEPEST = 7


def types(api_version: str, kind: str) -> Type | None:
    group, _, version = api_version.rpartition("/")
    return kind_type(group, version, kind)


def values(type_: Type, depth: int) -> st.SearchStrategy[Any]:
    """JSON values of a type, as the API stores them."""
    if type_.sort == "object":
        return objects(type_, depth + 1)
    if type_.sort == "integer":
        size = 31 if type_.format == "int32" else 63
        return st.integers(-(2**size), 2**size - 1)
    if type_.sort == "any" and type_.numbers:
        return _union(type_, depth + 1)
    if type_.sort in _LEAVES:
        return _LEAVES[type_.sort]
    assert type_.items is not None
    if type_.sort == "list":
        return st.lists(values(type_.items, depth + 1), min_size=1, max_size=2)
    return st.dictionaries(_WORDS, values(type_.items, depth + 1), min_size=1, max_size=2)


def _union(type_: Type, depth: int) -> st.SearchStrategy[Any]:
    """One of the alternatives, but no boolean that is false, which stands for itself only where nothing else can be."""
    fields = [each for each in type_.fields.values() if depth <= _DEEPEST or each.sort not in ("object", "list")]
    made = [st.just(True) if each.sort == "boolean" else values(each, depth) for each in fields]
    # Where no boolean is among them, an empty schema.
    return st.one_of(made) if made else st.just({})


def _is_plain(type_: Type, name: str) -> bool:
    """Whether the zero of a field means its absence."""
    return name in type_.omits


@st.composite
def objects(draw: st.DrawFn, type_: Type, depth: int = 0) -> dict[str, Any]:
    """Objects of a type: some of its fields, and always those that Go writes even when they are empty."""
    made: dict[str, Any] = {}
    shown = [name for name in type_.fields if name not in ("apiVersion", "kind") or name in type_.numbers]
    always = [name for name in shown if type_.fields[name].sort == "object" and type_.defaults.get(name) == {}]
    chosen = draw(st.sets(st.sampled_from(shown), max_size=5)) if shown else set()
    for name in sorted({*chosen, *always}):
        field = type_.fields[name]
        if depth > _DEEPEST and field.sort in ("object", "list", "map"):
            if name in always:
                made[name] = draw(objects(field, depth + 1))
            continue
        value = draw(values(field, depth))
        if value or not _is_plain(type_, name):
            made[name] = value
    for name, default in type_.defaults.items():
        # Plain fields that JSON always shows.
        if type_.fields[name].sort in ("string", "integer", "boolean") and not default and name not in type_.omits:
            made.setdefault(name, default)
    return made


@pytest.mark.parametrize(("api_version", "kind"), KINDS, ids=[f"{version} {kind}" for version, kind in KINDS])
def test_an_object_of_any_kind_is_read_as_it_was_written(api_version, kind):
    type_ = types(api_version, kind)
    assert type_ is not None

    @settings(max_examples=max(3, settings.default.max_examples // 10))
    @given(objects(type_))
    def check(made: dict[str, Any]) -> None:
        obj = {**made, "apiVersion": api_version, "kind": kind}
        assert decode(encode_object(obj), types) == obj

    check()


def test_fields_come_in_the_order_of_their_numbers_and_maps_in_that_of_their_keys():
    pod = kind_type("", "v1", "ConfigMap")
    assert pod is not None
    one = encoder(pod)({"data": {"b": "2", "a": "1"}, "metadata": {"uid": "u", "name": "n"}})
    other = encoder(pod)({"metadata": {"name": "n", "uid": "u"}, "data": {"a": "1", "b": "2"}})
    assert one == other


def test_null_is_absence():
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "creationTimestamp": None}, "status": None}
    del (bare := {**pod, "metadata": {"name": "p"}})["status"]
    assert encode_object(pod) == encode_object(bare)


def test_an_event_is_a_frame_with_its_length():
    body = frame("ADDED", b"k8s\0rest")
    assert body[:4] == len(body[4:]).to_bytes(4)
    assert body[4:] == b"\x0a\x05ADDED\x12\x0a\x0a\x08k8s\0rest"


def config_map(name: str, revision: int, data: str = "") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": str(revision)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": data}}


def test_a_message_is_written_once_for_each_revision():
    messages = Messages()
    first = messages.of("v1", "ConfigMap", config_map("a", 1, "old"))
    assert messages.of("v1", "ConfigMap", config_map("a", 1, "old")) is first
    second = messages.of("v1", "ConfigMap", config_map("a", 2, "new"))
    assert b"new" in second
    assert b"old" not in second


def test_messages_that_are_remembered_have_a_bound():
    messages = Messages(limit=10_000)
    first = messages.of("v1", "ConfigMap", config_map("first", 1))
    for number in range(100):
        messages.of("v1", "ConfigMap", config_map(f"c{number}", 1, "x" * 100))
    assert messages._size <= 10_000
    assert len(messages._known) < 30
    again = messages.of("v1", "ConfigMap", config_map("first", 1))
    assert again == first
    assert again is not first
