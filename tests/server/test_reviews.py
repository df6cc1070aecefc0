"""Reviews of access and tokens."""

from __future__ import annotations

import pytest

ACCESS = "/apis/authorization.k8s.io/v1"
IDENTITY = "/apis/authentication.k8s.io/v1"
ASKED = {"resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods"}}
TOKENS = "/api/v1/namespaces/default/serviceaccounts/default/token"


@pytest.mark.parametrize(
    "path", ["selfsubjectaccessreviews", "subjectaccessreviews", "namespaces/default/localsubjectaccessreviews"]
)
def test_who_has_a_token_may_do_everything(face, path):
    reply = face.post(f"{ACCESS}/{path}", {"spec": {**ASKED, "user": "bob"}})
    assert (reply.status, reply.json["status"]) == (201, {"allowed": True})
    assert reply.json["apiVersion"] == "authorization.k8s.io/v1"


def test_a_review_asks_about_one_thing(face):
    both = {**ASKED, "nonResourceAttributes": {"path": "/", "verb": "get"}}
    for spec in ({}, both):
        reply = face.post(f"{ACCESS}/selfsubjectaccessreviews", {"spec": spec})
        assert reply.status == 422
        assert "exactly one of nonResourceAttributes or resourceAttributes" in reply.json["message"]


def test_a_local_review_stays_in_its_namespace(face):
    reply = face.post(f"{ACCESS}/namespaces/kube-system/localsubjectaccessreviews", {"spec": {**ASKED, "user": "bob"}})
    assert reply.status == 422
    assert "must match metadata.namespace" in reply.json["message"]


def test_the_rules_allow_everything(face):
    reply = face.post(f"{ACCESS}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}})
    assert reply.json["status"]["resourceRules"] == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    assert face.post(f"{ACCESS}/selfsubjectrulesreviews", {"spec": {}}).status == 400


def test_users_can_ask_who_they_are(face):
    info = face.post(f"{IDENTITY}/selfsubjectreviews", {}).json["status"]["userInfo"]
    assert info == {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]}


def test_a_service_account_gets_a_token_that_works(face):
    reply = face.post(TOKENS, {"spec": {"expirationSeconds": 600}})
    assert reply.status == 201
    assert reply.json["status"]["expirationTimestamp"] == "2026-01-01T00:10:00Z"
    token = reply.json["status"]["token"]
    assert face.call("GET", "/api/v1/pods", token=token).status == 200
    info = face.call("POST", f"{IDENTITY}/selfsubjectreviews", {}, token=token).json["status"]["userInfo"]
    assert info["username"] == "system:serviceaccount:default:default"
    reviewed = face.post(f"{IDENTITY}/tokenreviews", {"spec": {"token": token}}).json["status"]
    assert (reviewed["authenticated"], reviewed["user"]["username"]) == (True, info["username"])


def test_a_wrong_token_is_told_from_a_missing_one(face):
    status = face.post(f"{IDENTITY}/tokenreviews", {"spec": {"token": "nope"}}).json["status"]
    assert status == {"user": {}, "error": "invalid bearer token"}
    assert face.post(f"{IDENTITY}/tokenreviews", {"spec": {}}).status == 400


def test_a_token_needs_an_account_and_a_life_of_some_length(face):
    assert face.post(TOKENS.replace("/default/token", "/nope/token"), {}).status == 404
    for seconds in (10, 1 << 33):
        assert face.post(TOKENS, {"spec": {"expirationSeconds": seconds}}).status == 422


@pytest.mark.parametrize("body", [b"[]", b'{"spec":5}', b'{"kind":"Pod"}', b'{"spec":{"resourceAttributes":"x"}}'])
def test_a_body_that_is_no_review_is_a_bad_request(face, body):
    assert face.call("POST", f"{ACCESS}/selfsubjectaccessreviews", body).status == 400
