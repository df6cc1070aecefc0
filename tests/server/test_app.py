"""The whole HTTP face, request by request."""

from __future__ import annotations

import logging

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ghostfleet.api.builtin import kind_type
from ghostfleet.server.app import App
from ghostfleet.server.auth import ADMIN, Authenticator
from ghostfleet.server.negotiation import PROTOBUF
from ghostfleet.server.protobuf import decode

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
MERGE = "application/merge-patch+json"


def pod(name: str, **spec) -> dict:
    containers = [{"name": "c", "image": "i"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": containers, **spec},
    }


def config_map(name: str, **data) -> dict:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


# -- who may ask -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/api/v1/pods", "/", "/api", "/apis", "/metrics", "/openapi/v2", "/nope", "//"])
def test_everything_needs_a_token(face, path):
    for token in ("", "wrong"):
        reply = face.call("GET", path, token=token)
        assert (reply.status, reply.json["message"]) == (401, "Unauthorized")


def test_a_server_without_tls_may_let_those_in_who_send_no_token(face):
    # kubectl and client-go do not send theirs over plain HTTP.
    face.app = App(face.cluster.api, Authenticator("secret"), anonymous=ADMIN)
    assert face.call("GET", "/api/v1/pods", token="").status == 200
    assert face.call("GET", "/api/v1/pods", token="wrong").status == 401


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/ping", "/version", "/version/"])
def test_health_and_version_are_for_everybody(face, path):
    assert face.call("GET", path, token="").status == 200


def test_health_can_be_told_in_detail(face):
    reply = face.get("/livez?verbose")
    assert reply.body.startswith(b"[+]ping ok\n")
    assert reply.body.endswith(b"livez check passed\n")
    assert face.get("/livez/nope").status == 404


def test_the_version_is_one_that_clients_can_parse(face):
    version = face.get("/version").json
    assert (version["major"], version["minor"], version["gitVersion"]) == ("1", "36", "v1.36.3")


# -- paths and methods -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/apis/nope", "/apis/nope/v1", "/apis/nope/v1/foos", "//api//v1//pods", "/nope", "/openapi", "/healthz/"]
)
def test_what_nothing_answers_for_is_a_page_not_found(face, path):
    reply = face.get(path)
    assert (reply.status, reply.body) == (404, b"404 page not found\n")
    assert reply.header("content-type") == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    "path",
    [
        "/api/v2",
        "/api/v2/pods",
        "/apis/apps/v9",
        "/apis/apps/v9/deployments",
        "/api/v1/nopes",
        "/api/v1/pods/x",
        "/api/v1/namespaces/default/nodes",
        f"{PODS}/x/nope",
        f"{PODS}/x/log/more",
    ],
)
def test_what_a_known_group_does_not_have_is_a_status(face, path):
    reply = face.get(path)
    assert reply.status == 404
    assert reply.json["message"] == "the server could not find the requested resource"
    assert reply.json["details"] == {}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("OPTIONS", PODS),
        ("HEAD", PODS),
        ("POST", "/api/v1/pods"),
        ("PUT", PODS),
        ("PATCH", PODS),
        ("POST", f"{PODS}/p"),
        ("DELETE", "/api/v1/namespaces"),
        ("DELETE", "/api/v1/pods"),
        ("GET", f"{PODS}/p/binding"),
        ("PUT", f"{PODS}/p/log"),
        ("POST", "/version"),
        ("DELETE", "/apis/apps/v1"),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
    ],
)
def test_a_method_that_does_not_fit_is_not_allowed(face, method, path):
    reply = face.call(method, path, {})
    assert reply.status == 405
    if method == "HEAD":
        assert reply.body == b""
    else:
        assert reply.json["message"] == "the server does not allow this method on the requested resource"


# -- verbs -------------------------------------------------------------------------------------------------------------


def test_an_object_is_created_read_changed_and_deleted(face):
    created = face.post(MAPS, config_map("a", x="1"))
    assert created.status == 201
    assert created.json["metadata"]["resourceVersion"]
    assert face.get(f"{MAPS}/a").json == created.json
    replaced = face.call("PUT", f"{MAPS}/a", {**created.json, "data": {"x": "2"}})
    assert (replaced.status, replaced.json["data"]) == (200, {"x": "2"})
    patched = face.call("PATCH", f"{MAPS}/a", b'{"data":{"y":"3"}}', content_type=MERGE)
    assert (patched.status, patched.json["data"]) == (200, {"x": "2", "y": "3"})
    deleted = face.call("DELETE", f"{MAPS}/a")
    assert (deleted.status, deleted.json["status"]) == (200, "Success")
    assert face.get(f"{MAPS}/a").status == 404


def test_a_list_says_what_its_items_are_and_they_need_not(face):
    for name in "ab":
        face.post(MAPS, config_map(name))
    listed = face.get(MAPS).json
    assert (listed["kind"], listed["apiVersion"]) == ("ConfigMapList", "v1")
    assert [item["metadata"]["name"] for item in listed["items"] if item["metadata"]["name"] in "ab"] == ["a", "b"]
    assert "kind" not in listed["items"][0]


def test_an_empty_list_has_no_items_but_a_revision(face):
    assert face.get(PODS).json["items"] == []
    assert face.get(PODS).json["metadata"] == {"resourceVersion": str(face.cluster.store.revision)}


def test_a_list_comes_in_pages(face):
    for name in "abcde":
        face.post(PODS, pod(name))
    seen, token = [], ""
    for _ in range(3):
        page = face.get(f"{PODS}?limit=2&continue={token}").json
        seen += [item["metadata"]["name"] for item in page["items"]]
        token = page["metadata"].get("continue", "")
    assert (seen, token) == (list("abcde"), "")
    assert face.get(f"{PODS}?limit=2").json["metadata"]["remainingItemCount"] == 3


def test_a_collection_is_deleted_by_a_selector(face):
    face.post(MAPS, {"metadata": {"name": "a", "labels": {"go": "yes"}}})
    face.post(MAPS, {"metadata": {"name": "b"}})
    reply = face.call("DELETE", f"{MAPS}?labelSelector=go%3Dyes")
    assert [item["metadata"]["name"] for item in reply.json["items"]] == ["a"]
    assert face.get(f"{MAPS}/a").status == 404
    assert face.get(f"{MAPS}/b").status == 200


def test_the_parts_of_an_object_have_their_own_paths(face):
    face.post(PODS, pod("p"))
    reply = face.call("PATCH", f"{PODS}/p/status", b'{"status":{"phase":"Running"}}', content_type=MERGE)
    assert reply.json["status"]["phase"] == "Running"
    bound = face.post(f"{PODS}/p/binding", {"metadata": {"name": "p"}, "target": {"name": "n"}})
    assert (bound.status, bound.json["kind"], bound.json["status"]) == (201, "Status", "Success")
    assert face.get(f"{PODS}/p").json["spec"]["nodeName"] == "n"


def test_applying_creates_and_then_changes(face):
    body = orjson.dumps(config_map("a", x="1"))
    apply = {"content_type": "application/apply-patch+yaml"}
    assert face.call("PATCH", f"{MAPS}/a?fieldManager=me", body, **apply).status == 201
    assert face.call("PATCH", f"{MAPS}/a?fieldManager=me", body, **apply).status == 200
    assert face.call("PATCH", f"{MAPS}/a", body, **apply).status == 422


def test_a_dry_run_changes_nothing(face):
    assert face.post(f"{MAPS}?dryRun=All", config_map("a")).status == 201
    assert face.get(f"{MAPS}/a").status == 404
    assert face.post(f"{MAPS}?dryRun=Some", config_map("a")).status == 422


def test_writes_belong_to_the_client_that_made_them(face):
    made = face.post(MAPS, config_map("a", x="1"), user_agent="kubectl/v1.36.3 (linux/amd64)").json
    assert [entry["manager"] for entry in made["metadata"]["managedFields"]] == ["kubectl"]


def test_unknown_and_repeated_fields_are_warned_of_or_refused(face):
    body = b'{"metadata":{"name":"a"},"data":{"x":"1","x":"2"},"nope":1}'
    strict = face.call("POST", f"{MAPS}?fieldValidation=Strict", body)
    assert strict.status == 400
    assert 'duplicate field "data.x"' in strict.json["message"]
    warned = face.call("POST", MAPS, body)
    assert warned.status == 201
    assert sorted(warned.all("warning")) == [
        r'299 - "duplicate field \"data.x\""',
        r'299 - "unknown field \"nope\""',
    ]
    assert warned.json["data"] == {"x": "2"}
    ignored = face.call("POST", f"{MAPS}?fieldValidation=Ignore", body.replace(b'"a"', b'"b"'))
    assert (ignored.status, ignored.all("warning")) == (201, [])


# -- forms -------------------------------------------------------------------------------------------------------------


def test_kubectl_gets_a_table(face):
    face.post(PODS, pod("p"))
    for path, revision in ((PODS, str(face.cluster.store.revision)), (f"{PODS}/p", None)):
        table = face.get(path, accept=f"{TABLE},application/json").json
        assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
        assert table["rows"][0]["cells"][:3] == ["p", "0/1", "Pending"]
        assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
        assert revision in (None, table["metadata"]["resourceVersion"])
    assert face.get(f"{PODS}?includeObject=None", accept=TABLE).json["rows"][0]["object"] is None
    assert face.get(f"{PODS}?includeObject=Bad", accept=TABLE).status == 400


def test_metadata_can_be_had_alone(face):
    face.post(PODS, pod("p"))
    one = face.get(f"{PODS}/p", accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io").json
    assert set(one) == {"kind", "apiVersion", "metadata"}
    many = face.get(PODS, accept="application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io").json
    assert (many["kind"], many["items"][0]["kind"]) == ("PartialObjectMetadataList", "PartialObjectMetadata")
    assert face.get(PODS, accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io").status == 406


def test_a_body_of_yaml_with_more_values_than_any_object_has_is_refused(face):
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: many}\ndata: [" + b"a," * 300_000 + b"]"
    reply = face.post(MAPS, body, content_type="application/yaml")
    assert reply.status == 400
    assert b"more than 200,000 values" in reply.body


def test_answers_come_in_yaml_for_those_who_want_it(face):
    face.post(MAPS, config_map("a", x="yes"))
    reply = face.get(f"{MAPS}/a", accept="application/yaml")
    assert reply.header("content-type") == "application/yaml"
    assert b'data:\n  x: "yes"\n' in reply.body
    assert face.get(f"{MAPS}/nope", accept="application/yaml").body.startswith(b"apiVersion: v1\ncode: 404\n")


def test_a_form_that_is_not_served_is_not_acceptable(face):
    for accept in ("text/html", "application/cbor"):
        assert face.get(PODS, accept=accept).status == 406


def binary(reply) -> dict:
    """The object in an answer in protobuf."""
    assert reply.header("content-type") == PROTOBUF
    return decode(reply.body, lambda api_version, kind: kind_type("", "v1", kind))


def test_answers_come_in_protobuf_for_those_who_want_it(face):
    made = binary(face.post(MAPS, config_map("a", x="1"), accept=PROTOBUF))
    assert (made["kind"], made["data"]) == ("ConfigMap", {"x": "1"})
    assert binary(face.get(f"{MAPS}/a", accept=PROTOBUF)) == made
    listed = binary(face.get(f"{MAPS}?limit=1", accept=PROTOBUF))
    assert [each["metadata"]["uid"] for each in listed["items"]] == [made["metadata"]["uid"]]
    assert listed["metadata"]["resourceVersion"] == face.get(MAPS).json["metadata"]["resourceVersion"]
    patch = {"accept": PROTOBUF, "content_type": "application/merge-patch+json"}
    assert binary(face.call("PATCH", f"{MAPS}/a", b'{"data":{"x":"2"}}', **patch))["data"] == {"x": "2"}
    # What is remembered of an object is never that of an earlier revision.
    assert binary(face.get(MAPS, accept=PROTOBUF))["items"][0]["data"] == {"x": "2"}
    gone = binary(face.call("DELETE", f"{MAPS}/a", accept=PROTOBUF))
    assert (gone["kind"], gone["status"]) == ("Status", "Success")
    missing = binary(face.get(f"{MAPS}/a", accept=PROTOBUF))
    assert (missing["code"], missing["reason"]) == (404, "NotFound")


def test_a_watch_in_protobuf_comes_in_frames(face):
    face.post(MAPS, config_map("a", x="1"))
    reply = face.get(f"{MAPS}?watch=true&timeoutSeconds=1&allowWatchBookmarks=true", accept=PROTOBUF)
    assert reply.header("content-type") == f"{PROTOBUF};stream=watch"
    events, rest = [], reply.body
    while rest:
        size = int.from_bytes(rest[:4])
        events.append(rest[4 : 4 + size])
        rest = rest[4 + size :]
    assert [event[2 : 2 + event[1]] for event in events[:2]] == [b"ADDED", b"BOOKMARK"]
    added = decode(events[0][events[0].index(b"k8s\0") :], lambda api_version, kind: kind_type("", "v1", kind))
    assert (added["metadata"]["name"], added["data"]) == ("a", {"x": "1"})
    late = face.get(f"{MAPS}?watch=true&resourceVersion=999", accept=PROTOBUF)
    assert late.body[4:11] == b"\x0a\x05ERROR"


def test_a_review_comes_in_protobuf_too(face):
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    reply = face.post(path, review, accept=PROTOBUF)
    assert reply.status == 201
    assert reply.body.startswith(b"k8s\0")


def test_people_with_curl_get_indented_json(face):
    assert face.get(PODS, user_agent="curl/8").body.startswith(b'{\n  "kind"')
    assert face.get(f"{PODS}?pretty=true").body.startswith(b'{\n  "kind"')
    assert face.get(f"{PODS}?pretty=false", user_agent="curl/8").body.startswith(b'{"kind"')


def test_objects_may_be_sent_in_yaml(face):
    body = b"metadata:\n  name: a\ndata:\n  x: 'on'\n"
    reply = face.call("POST", MAPS, body, content_type="application/yaml")
    assert (reply.status, reply.json["data"]) == (201, {"x": "on"})


# -- watches and logs --------------------------------------------------------------------------------------------------


def test_a_watch_begins_with_what_is_there(face):
    face.post(PODS, pod("p"))
    reply = face.get(f"{PODS}?watch=true&allowWatchBookmarks=true")
    assert reply.status == 200
    assert [event["type"] for event in reply.lines] == ["ADDED", "BOOKMARK", "BOOKMARK"]
    added, end, _ = (event["object"] for event in reply.lines)
    assert (added["kind"], added["metadata"]["name"]) == ("Pod", "p")
    assert end["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_a_watch_from_a_revision_shows_what_came_after(face):
    revision = face.post(PODS, pod("a")).json["metadata"]["resourceVersion"]
    face.post(PODS, pod("b"))
    face.call("DELETE", f"{PODS}/a")
    reply = face.get(f"{PODS}?watch=1&resourceVersion={revision}")
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in reply.lines] == [
        ("ADDED", "b"),
        ("DELETED", "a"),
    ]


def test_the_old_watch_paths_still_work(face):
    face.post(PODS, pod("a"))
    face.post(PODS, pod("b"))
    many = face.get("/api/v1/watch/namespaces/default/pods")
    assert len(many.lines) == 2
    one = face.get("/api/v1/watch/namespaces/default/pods/b")
    assert [event["object"]["metadata"]["name"] for event in one.lines] == ["b"]
    assert face.get("/api/v1/watch/namespaces/default/pods/b?fieldSelector=metadata.name%3Da").status == 400


def test_a_watch_of_the_future_or_the_forgotten_past_is_told_so_in_the_stream(face):
    face.post(PODS, pod("a"))
    reply = face.get(f"{PODS}?watch=1&resourceVersion=999999")
    assert (reply.status, reply.lines[0]["type"]) == (200, "ERROR")
    face.cluster.store.bucket("pods").history.forget()
    reply = face.get(f"{PODS}?watch=1&resourceVersion=1")
    assert (reply.status, reply.lines[0]["object"]["code"], reply.lines[0]["object"]["reason"]) == (200, 410, "Expired")


def test_a_watch_without_initial_events_waits_for_news(face):
    face.post(PODS, pod("a"))
    query = "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
    assert face.get(f"{PODS}?{query}").lines == []


def test_a_log_tells_the_life_of_a_container(face):
    face.post(PODS, pod("p", nodeName="n"))
    assert face.get(f"{PODS}/p/log").status == 204
    started = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    status = {"phase": "Running", "containerStatuses": [{"name": "c", "state": started}]}
    face.call("PATCH", f"{PODS}/p/status", orjson.dumps({"status": status}), content_type=MERGE)
    reply = face.get(f"{PODS}/p/log")
    assert reply.header("content-type") == "text/plain"
    assert b"c started" in reply.body
    assert face.get(f"{PODS}/p/log?container=zz").json["message"] == "container zz is not valid for pod p"
    assert face.get(f"{PODS}/p/log?limitBytes=5").body == reply.body[:5]


def test_a_followed_log_ends_with_its_pod(face):
    face.post(PODS, pod("p", nodeName="n"))
    ended = {"terminated": {"startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:05Z", "exitCode": 0}}
    status = {"phase": "Succeeded", "containerStatuses": [{"name": "c", "state": ended}]}
    face.call("PATCH", f"{PODS}/p/status", orjson.dumps({"status": status}), content_type=MERGE)
    assert b"exited with code 0" in face.get(f"{PODS}/p/log?follow=true").body


def test_there_is_no_way_into_a_simulated_container(face):
    face.post(PODS, pod("p"))
    reply = face.post(f"{PODS}/p/exec?command=ls", b"")
    assert reply.status == 400
    assert "its node is simulated" in reply.json["message"]
    assert face.post(f"{PODS}/nope/exec?command=ls", b"").json["reason"] == "NotFound"


# -- documents ---------------------------------------------------------------------------------------------------------


def test_discovery_is_aggregated_for_those_who_ask_and_cached_by_its_etag(face):
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    reply = face.get("/apis", accept=accept)
    assert reply.header("content-type") == "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    assert reply.json["kind"] == "APIGroupDiscoveryList"
    again = face.get("/apis", accept=accept, if_none_match=reply.header("etag"))
    assert (again.status, again.body) == (304, b"")
    assert face.get("/apis").json["kind"] == "APIGroupList"
    assert face.get("/api", host="there:1").json["serverAddressByClientCIDRs"][0]["serverAddress"] == "there:1"


def test_openapi_comes_in_two_versions(face):
    index = face.get("/openapi/v3").json["paths"]["api/v1"]["serverRelativeURL"]
    document = face.get(index)
    assert document.json["openapi"] == "3.0.0"
    assert face.get("/openapi/v3/api/v1?hash=old").header("location") == index
    assert face.get(index, if_none_match=document.header("etag")).status == 304
    assert face.get("/openapi/v3/api/v9").status == 404
    assert face.get("/openapi/v2").json["swagger"] == "2.0"
    gnostic = face.get("/openapi/v2", accept="application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
    assert gnostic.header("content-type") == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    assert face.get("/openapi/v2", accept="text/html").status == 406


def test_the_root_lists_the_paths(face):
    paths = face.get("/").json["paths"]
    assert {"/api/v1", "/apis/batch/v1", "/healthz", "/openapi/v3", "/version"} <= set(paths)


# -- custom resources --------------------------------------------------------------------------------------------------

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "queues.a.example.com"},
    "spec": {
        "group": "a.example.com",
        "scope": "Namespaced",
        "names": {"plural": "queues", "singular": "queue", "kind": "Queue", "listKind": "QueueList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
QUEUES = "/apis/a.example.com/v1/namespaces/default/queues"


def test_a_custom_resource_is_served_as_soon_as_it_is_defined(face):
    assert face.get(QUEUES).body == b"404 page not found\n"
    assert face.post(DEFINITIONS, DEFINITION).status == 201
    queue = {"apiVersion": "a.example.com/v1", "kind": "Queue", "metadata": {"name": "q"}, "spec": {"any": 1}}
    assert face.post(QUEUES, queue).status == 201
    listed = face.get(QUEUES).json
    assert listed["kind"] == "QueueList"
    assert (listed["items"][0]["kind"], listed["items"][0]["spec"]) == ("Queue", {"any": 1})
    for path in ("/apis/a.example.com/v9", "/apis/a.example.com/v1/nopes", "/apis/a.example.com/v1/queues/q"):
        assert face.get(path).body == b"404 page not found\n"
    strategic = "application/strategic-merge-patch+json"
    assert face.call("PATCH", f"{QUEUES}/q", b"{}", content_type=strategic).status == 415
    assert face.call("POST", QUEUES, b"x", content_type="application/vnd.kubernetes.protobuf").status == 415


# -- bad requests ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body", [b"{", b"", b"[]", b'"x"', b"5", b'{"kind":5}', b'{"metadata":5}', b"\xff", b"{} x", b'{"spec":[]}']
)
def test_a_body_that_is_no_object_is_a_bad_request(face, body):
    assert face.call("POST", PODS, body).status == 400


def test_a_body_that_is_too_large_is_refused(face):
    reply = face.call("POST", MAPS, b'{"data":"' + b"x" * 3 * 1024 * 1024 + b'"}')
    assert (reply.status, reply.json["reason"]) == (413, "RequestEntityTooLarge")


def test_a_body_in_an_unknown_format_is_refused(face):
    assert face.call("POST", MAPS, b"x", content_type="text/plain").status == 415
    assert face.call("DELETE", f"{MAPS}/x", b"x", content_type="text/plain").status == 415
    assert face.call("PATCH", f"{MAPS}/x", b"{}", content_type="application/json").status == 415


@pytest.mark.replaces
def test_our_own_mistakes_are_logged_and_answered(face, monkeypatch, caplog):
    def broken(*_args, **_kwargs):
        raise KeyError("oops")

    monkeypatch.setattr(face.cluster.api, "list", broken)
    with caplog.at_level(logging.ERROR):
        reply = face.get(PODS)
    assert (reply.status, reply.json["reason"]) == (500, "InternalError")
    assert "KeyError" in caplog.text


NAMES = [
    "api",
    "apis",
    "v1",
    "apps",
    "namespaces",
    "default",
    "pods",
    "p",
    "status",
    "watch",
    "openapi",
    "v3",
    "é",
    "%",
]
RANDOM_PATHS = st.lists(st.sampled_from(NAMES), max_size=7).map(lambda names: "/" + "/".join(names))
COLLECTIONS = [
    PODS,
    MAPS,
    DEFINITIONS,
    "/api/v1/nodes",
    "/api/v1/namespaces",
    "/api/v1/namespaces/default/services",
    "/api/v1/namespaces/default/serviceaccounts",
    "/api/v1/namespaces/default/bindings",
    "/apis/apps/v1/namespaces/default/deployments",
    "/apis/batch/v1/namespaces/default/jobs",
    "/apis/events.k8s.io/v1/namespaces/default/events",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/apis/authentication.k8s.io/v1/tokenreviews",
    "/apis/metrics.k8s.io/v1beta1/nodes",
]
PARTS = ["", "/p", "/default", "/p/status", "/p/scale", "/p/log", "/p/binding", "/p/eviction", "/default/token"]
PATHS = RANDOM_PATHS | st.tuples(st.sampled_from(COLLECTIONS), st.sampled_from(PARTS)).map("".join)
METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "BREW"])
VALUES = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=4)
FIELDS = ["metadata", "spec", "status", "name", "namespace", "labels", "annotations", "ownerReferences", "finalizers"]
FIELDS += ["kind", "apiVersion", "containers", "template", "selector", "replicas", "target", "op", "path", "value", "a"]
BODIES = st.recursive(
    VALUES | st.sampled_from(["p", "Pod", "v1", "add", "/metadata/labels", "remove"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=10,
)
QUERIES = st.dictionaries(
    st.sampled_from(
        ["limit", "continue", "dryRun", "fieldManager", "labelSelector", "fieldSelector", "resourceVersion"]
    ),
    st.text(alphabet="ab01=!,%&+ ().é", max_size=5),
    max_size=2,
)
CONTENT_TYPES = st.sampled_from(
    [
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/json-patch+json",
        MERGE,
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
        "x",
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(METHODS, PATHS, QUERIES, BODIES | st.binary(max_size=20), CONTENT_TYPES)
def test_no_request_is_answered_with_an_internal_error(face, method, path, query, body, content_type):
    face.post(PODS, pod("p"))
    given = "&".join(f"{name}={text}" for name, text in query.items())
    sent = body if isinstance(body, bytes) else orjson.dumps(body)
    reply = face.call(method, f"{path}?{given}", sent, content_type=content_type)
    # The real server calls some bad patches its own fault too; what must not be is an exception that nobody expected.
    assert b"Internal error occurred" not in reply.body
