"""Accept and Content-Type headers."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.errors import ApiError
from ghostfleet.server import negotiation
from ghostfleet.server.negotiation import (
    JSON,
    PROTOBUF,
    YAML,
    MediaType,
    body_media,
    check_route,
    error_form,
    negotiate,
    patch_type,
)

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", MediaType()),
        ("*/*", MediaType()),
        ("*", MediaType()),
        ("application/*", MediaType()),
        ("application/json", MediaType()),
        ("application/yaml", MediaType(YAML)),
        ("application/yaml;q=0.5, application/json", MediaType()),
        ("application/json;q=0.1,application/yaml;q=0.9", MediaType(YAML)),
        ("text/html, */*;q=0.1", MediaType()),
        ("application/vnd.kubernetes.protobuf, application/json", MediaType(PROTOBUF)),
        ("application/vnd.kubernetes.protobuf,*/*", MediaType(PROTOBUF)),
        (f"{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", MediaType(JSON, "Table", "v1")),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", MediaType(JSON, "Table", "v1beta1")),
        ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", MediaType()),
        (
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
            MediaType(PROTOBUF, "PartialObjectMetadataList", "v1"),
        ),
        ("application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1,application/json", MediaType()),
        ("application/json;stream=watch", MediaType()),
        ("application/json; pretty=1", MediaType(pretty=True)),
        ("application/json;charset=utf-8", MediaType()),
    ],
)
def test_the_best_form_that_is_served_is_chosen(accept, form):
    assert negotiate(accept) == form


@pytest.mark.parametrize(
    "accept",
    [
        "text/html",
        "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io",
        "application/cbor",
        "application/json;as=Foo;v=v1;g=meta.k8s.io",
        "application/json;as=Table;v=v1;g=apps",
        "application/json;stream=nope",
    ],
)
def test_a_form_that_is_not_served_is_not_acceptable(accept):
    with pytest.raises(ApiError, match="only the following media types are accepted: application/json") as raised:
        negotiate(accept)
    assert raised.value.code == 406
    assert error_form(accept) == MediaType(pretty=True)


def test_a_custom_resource_has_no_protobuf_but_that_of_its_metadata():
    assert negotiate(f"{PROTOBUF},{JSON}", custom=True) == MediaType()
    partial = f"{PROTOBUF};as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    assert negotiate(partial, custom=True) == MediaType(PROTOBUF, "PartialObjectMetadata", "v1")
    with pytest.raises(ApiError, match="only the following media types are accepted"):
        negotiate(PROTOBUF, custom=True)


@pytest.mark.parametrize("accept", ["application/*", "*", "text/html", "application/vnd.kubernetes.*"])
def test_the_router_takes_nothing_halfway(accept):
    with pytest.raises(ApiError, match="406: Not Acceptable\n\nAvailable representations: application/json, "):
        check_route(accept)
    check_route(f"{accept}, */*")


def test_headers_of_a_megabyte_are_not_remembered():
    accept = ",".join(f"text/x{number}" for number in range(100_000))
    before = negotiation._plain_form.cache_info().currsize
    assert error_form(accept) == MediaType(pretty=True)
    assert negotiation._plain_form.cache_info().currsize == before


def test_a_stream_comes_in_json_and_protobuf_only():
    assert negotiate("application/json", stream=True) == MediaType()
    assert negotiate(PROTOBUF, stream=True) == MediaType(PROTOBUF)
    with pytest.raises(ApiError, match="stream=watch"):
        negotiate("application/yaml", stream=True)


def test_an_error_comes_in_the_media_type_that_was_asked_for():
    assert error_form("application/yaml") == MediaType(YAML)
    assert error_form(f"{TABLE},{PROTOBUF}") == MediaType(PROTOBUF)
    assert error_form("") == MediaType()


@given(st.text(alphabet="apliction/jsonyml*;,=q.0159 \x00é", max_size=60))
def test_no_accept_header_does_worse_than_406(accept):
    with contextlib.suppress(ApiError):
        negotiate(accept)


@pytest.mark.parametrize(
    ("content_type", "media"),
    [
        ("", "json"),
        ("application/json", "json"),
        ("application/json; charset=utf-8", "json"),
        ("Application/JSON", "json"),
        ("application/yaml", "yaml"),
        ("application/vnd.kubernetes.protobuf", "protobuf"),
    ],
)
def test_bodies_come_in_three_media_types(content_type, media):
    assert body_media(content_type) == media


def test_a_body_in_another_media_type_is_refused():
    with pytest.raises(ApiError, match="the body of the request was in an unknown format") as raised:
        body_media("text/plain")
    assert raised.value.code == 415


def test_patches_are_told_by_their_media_type():
    assert patch_type("application/json-patch+json", custom=False) == "json"
    assert patch_type("application/merge-patch+json;charset=utf-8", custom=True) == "merge"
    assert patch_type("application/strategic-merge-patch+json", custom=False) == "strategic"
    assert patch_type("application/apply-patch+yaml", custom=True) == "apply"


@pytest.mark.parametrize("content_type", ["", "application/json", "application/apply-patch+cbor", "x"])
def test_other_patches_are_refused(content_type):
    with pytest.raises(ApiError) as raised:
        patch_type(content_type, custom=False)
    assert (raised.value.code, raised.value.message) == (415, "415: Unsupported Media Type")


def test_custom_resources_take_no_strategic_merge_patch():
    with pytest.raises(ApiError) as raised:
        patch_type("application/strategic-merge-patch+json", custom=True)
    assert "strategic" not in raised.value.message
