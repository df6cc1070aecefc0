from __future__ import annotations

import pytest

from ghostfleet.core.errors import ApiError
from ghostfleet.server.auth import ADMIN, Authenticator, is_public, new_token

TOKEN = "s3cret-token"


def test_the_administrators_token_makes_an_administrator():
    user = Authenticator(TOKEN).authenticate(b"Bearer " + TOKEN.encode())
    assert user == ADMIN
    assert user.name == "kubernetes-admin"
    assert user.groups == ("system:masters", "system:authenticated")


@pytest.mark.parametrize("header", [b"bearer s3cret-token", b"BEARER  s3cret-token ", b" Bearer s3cret-token"])
def test_scheme_and_blanks_are_read_leniently(header):
    assert Authenticator(TOKEN).authenticate(header) is ADMIN


@pytest.mark.parametrize(
    "header",
    [
        None,
        b"",
        b"Bearer",
        b"Bearer ",
        b"Bearer s3cret",
        b"Bearer s3cret-tokenX",
        b"Basic s3cret-token",
        b"s3cret-token",
    ],
)
def test_anything_else_is_unauthorized(header):
    with pytest.raises(ApiError) as caught:
        Authenticator(TOKEN).authenticate(header)
    assert caught.value.code == 401
    assert caught.value.status()["reason"] == "Unauthorized"


def test_an_issued_token_stands_for_its_user():
    authenticator = Authenticator(TOKEN)
    robot = "system:serviceaccount:default:robot"
    token = authenticator.issue(robot, ["system:serviceaccounts", "system:authenticated"])
    user = authenticator.authenticate(f"Bearer {token}".encode())
    assert user.name == robot
    assert user.groups == ("system:serviceaccounts", "system:authenticated")
    assert authenticator.user_of(b"another") is None


def test_a_cluster_does_not_know_the_tokens_of_another():
    token = Authenticator(TOKEN).issue("jane")
    assert Authenticator(TOKEN).user_of(token.encode()) is None


def test_tokens_are_long_and_never_repeat():
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(token) >= 43 for token in tokens)


def test_an_empty_token_opens_nothing():
    with pytest.raises(ValueError, match="empty"):
        Authenticator("")


@pytest.mark.parametrize(
    "path", ["/healthz", "/healthz/ping", "/livez", "/livez/", "/readyz", "/readyz/etcd", "/version", "/version/"]
)
def test_health_and_version_are_public(path):
    assert is_public(path)


@pytest.mark.parametrize("path", ["/", "/api", "/healthzz", "/versions", "/version/x", "/api/v1/healthz", "/metrics"])
def test_all_else_is_not_public(path):
    assert not is_public(path)
