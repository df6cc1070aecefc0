"""`protobuf_cases.json` holds objects as Kubernetes' own Go library encodes them, beside their JSON."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.api.builtin import kind_type
from ghostfleet.core.errors import ApiError
from ghostfleet.core.schema import Type
from ghostfleet.server.protobuf import decode

CASES = json.loads(Path(__file__).with_name("protobuf_cases.json").read_text())["cases"]
BODIES = {case["name"]: base64.b64decode(case["body"]) for case in CASES}


def types(api_version: str, kind: str) -> Type | None:
    group, _, version = api_version.rpartition("/")
    return kind_type(group, version, kind)


def without_nulls(value: Any) -> Any:
    """Go shows null for a time that is not set; to the API it is the same as no field."""
    if isinstance(value, dict):
        return {key: without_nulls(part) for key, part in value.items() if part is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def body(api_version: str, kind: str, raw: bytes) -> bytes:
    return b"k8s\0" + field(1, field(1, api_version) + field(2, kind)) + field(2, raw) + field(3, "") + field(4, "")


def config_map(raw: bytes) -> dict[str, Any]:
    return decode(body("v1", "ConfigMap", raw), types)


def refusal(data: bytes) -> ApiError:
    with pytest.raises(ApiError) as caught:
        decode(data, types)
    return caught.value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_an_object_is_the_same_in_protobuf_and_in_json(case):
    assert decode(base64.b64decode(case["body"]), types) == without_nulls(case["object"])


def test_zeros_stay_where_they_mean_something():
    deployment = decode(BODIES["deployment scaled to nothing"], types)
    assert deployment["spec"]["replicas"] == 0
    assert deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    claim = decode(BODIES["claim without class"], types)
    assert claim["spec"]["storageClassName"] == ""


def test_zeros_go_where_they_mean_nothing():
    pod = decode(BODIES["smallest pod"], types)
    assert pod["metadata"] == {"name": "p", "namespace": "default"}
    assert pod["spec"] == {"containers": [{"name": "c", "image": "i", "resources": {}}]}


def test_unknown_fields_are_skipped():
    unknown = field(200, 5) + field(201, "x") + varint(202 << 3 | 1) + bytes(8) + varint(203 << 3 | 5) + bytes(4)
    found = config_map(unknown + field(1, unknown + field(1, "cm")) + unknown)
    assert found == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm"}}


def test_a_message_in_two_pieces_is_one_and_the_last_of_two_values_counts():
    first, second = field(1, "a") + field(3, "default"), field(1, "b") + field(3, "")
    assert config_map(field(1, first) + field(1, second))["metadata"] == {"name": "b"}


def test_a_map_entry_may_lack_its_key_or_its_value():
    found = config_map(field(2, field(1, "k")) + field(2, field(2, "v")) + field(3, field(1, "bytes")))
    assert found["data"] == {"k": "", "": "v"}
    assert found["binaryData"] == {"bytes": ""}


def test_lists_of_integers_may_be_packed():
    packed = field(3, varint(1) + varint(300) + varint(2**64 - 2))
    rule = field(1, "Ignore") + field(2, field(2, "In") + packed)
    job = decode(body("batch/v1", "Job", field(2, field(11, field(1, rule)))), types)
    assert job["spec"]["podFailurePolicy"]["rules"][0]["onExitCodes"]["values"] == [1, 300, -2]


@pytest.mark.parametrize("group", ["v1", "apps/v1", "coordination.k8s.io/v1"])
def test_delete_options_come_under_every_group(group):
    found = decode(body(group, "DeleteOptions", field(1, 0)), types)
    assert found == {"apiVersion": group, "kind": "DeleteOptions", "gracePeriodSeconds": 0}


def test_a_body_without_an_object_is_an_empty_one():
    assert decode(b"k8s\0" + field(1, field(1, "v1") + field(2, "Pod")), types) == {"apiVersion": "v1", "kind": "Pod"}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "does not appear to be a protobuf message"),
        (b'{"kind":"Pod"}', "does not appear to be a protobuf message"),
        (b"k8s\0", "does not state its kind"),
        (body("", "Pod", b""), "does not state its apiVersion"),
        (body("v1", "Teapot", b""), 'no kind "Teapot" is registered for version "v1"'),
        (body("v1", "ConfigMap", field(1, 5)), "wrong wire type 0 for field metadata"),
        (body("v1", "ConfigMap", field(2, field(1, 5))), "wrong wire type 0 for field key"),
        (body("v1", "ConfigMap", field(0, 5)), "illegal field number 0"),
        (body("v1", "ConfigMap", b"\x0b"), "illegal wire type 3"),
        (body("v1", "ConfigMap", b"\x08" + b"\xff" * 11), "longer than ten bytes"),
        (body("v1", "ConfigMap", b"\x0a\x7f"), "ends in the middle of a field"),
        (body("v1", "ConfigMap", field(1, b"\x38\x80")), "ends in the middle of a field"),
        (body("v1", "ConfigMap", field(1, field(1, b"\xff"))), "utf-8"),
        (body("v1", "ConfigMap", field(1, field(8, field(1, 1 << 62)))), "outside the years"),
        (body("v1", "ConfigMap", field(1, field(8, field(1, "x")))), "wrong wire type"),
        (body("apps/v1", "ControllerRevision", field(2, field(1, "{"))), "malformed protobuf"),
    ],
)
def test_what_is_wrong_with_a_body_is_said(data, words):
    error = refusal(data)
    assert (error.code, error.reason) == (400, "BadRequest")
    assert words in error.message


def test_a_body_that_was_cut_off_inside_its_object_is_refused():
    whole = BODIES["job"]
    first, last = whole.index(b"Job") + len(b"Job"), len(whole) - len(field(3, "") + field(4, ""))
    for length in range(first + 1, last):
        assert "ends in the middle of a field" in refusal(whole[:length]).message


def test_custom_resources_have_no_protobuf_form():
    with pytest.raises(ApiError) as caught:
        decode(body("x.io/v1", "Queue", b""), lambda *_: Type("object"))
    assert caught.value.code == 415


def test_nesting_is_bounded():
    schema = b""
    for _ in range(20_000):
        schema = field(28, schema)
    version = field(1, "v1") + field(4, field(1, schema))
    crd = body("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, field(7, version)))
    assert "nested too deeply" in refusal(crd).message


def decodes_or_is_refused(data: bytes) -> None:
    try:
        code = 200 if isinstance(decode(data, types), dict) else 500
    except ApiError as error:
        code = error.code
    assert code in (200, 400)


@given(st.binary(max_size=200))
def test_random_bytes_are_decoded_or_refused(data):
    decodes_or_is_refused(data)
    decodes_or_is_refused(b"k8s\0" + data)


@given(st.sampled_from(["v1 Pod", "v1 Secret", "batch/v1 Job", "apps/v1 ControllerRevision"]), st.binary(max_size=200))
def test_random_objects_are_decoded_or_refused(kind, data):
    decodes_or_is_refused(body(*kind.split(), data))


@given(st.sampled_from(list(BODIES.values())), st.data())
def test_mutilated_bodies_are_decoded_or_refused(whole, data):
    mutilated = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(mutilated)))
        removed = data.draw(st.integers(0, 3))
        mutilated[at : at + removed] = data.draw(st.binary(max_size=3))
    decodes_or_is_refused(bytes(mutilated))
