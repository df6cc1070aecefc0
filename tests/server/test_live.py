"""The server on a socket: what only a real connection shows."""

from __future__ import annotations

import socket

import orjson
import pytest

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"


def pod(name: str) -> dict:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def open_watch(live, path: str):
    connection = live.connect()
    connection.request("GET", path, headers={"authorization": f"Bearer {live.token}"})
    return connection, connection.getresponse()


def test_a_watch_tells_of_a_write_at_once(live):
    connection, response = open_watch(live, f"{PODS}?watch=true")
    assert response.getheader("transfer-encoding") == "chunked"
    assert live.call("POST", PODS, pod("a")).status == 201
    event = orjson.loads(response.readline())
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")
    connection.close()


def test_a_watch_ends_after_its_timeout(live):
    connection, response = open_watch(live, f"{PODS}?watch=true&timeoutSeconds=1")
    assert response.read() == b""
    connection.close()


def test_many_watchers_see_the_same(live):
    watches = [open_watch(live, f"{PODS}?watch=true") for _ in range(50)]
    for number in range(5):
        live.call("POST", PODS, pod(f"p{number}"))
    for connection, response in watches:
        names = [orjson.loads(response.readline())["object"]["metadata"]["name"] for _ in range(5)]
        assert names == [f"p{number}" for number in range(5)]
        connection.close()


def test_a_followed_log_goes_on_until_the_pod_ends(live):
    body = pod("p")
    body["spec"]["nodeName"] = "n"
    live.call("POST", PODS, body)
    merge = {"content_type": "application/merge-patch+json"}
    running = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    ended = {"terminated": {"startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:09Z", "exitCode": 3}}

    def become(phase: str, state: dict) -> None:
        status = {"status": {"phase": phase, "containerStatuses": [{"name": "c", "state": state}]}}
        assert live.call("PATCH", f"{PODS}/p/status", orjson.dumps(status), **merge).status == 200

    become("Running", running)
    connection, response = open_watch(live, f"{PODS}/p/log?follow=true")
    assert b"c started" in response.readline()
    become("Failed", ended)
    assert b"exited with code 3" in response.read()
    connection.close()


def test_a_namespace_goes_away_because_the_clock_is_driven(live):
    live.call("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
    connection, response = open_watch(live, "/api/v1/namespaces?watch=true&fieldSelector=metadata.name%3Dteam")
    assert orjson.loads(response.readline())["type"] == "ADDED"
    live.call("DELETE", "/api/v1/namespaces/team")
    while orjson.loads(response.readline())["type"] != "DELETED":
        pass
    connection.close()


def test_a_chunked_body_over_the_limit_is_refused_while_it_is_sent(live):
    connection = live.connect()
    chunks = (b"x" * 65_536 for _ in range(64))
    headers = {"authorization": f"Bearer {live.token}", "content-type": "application/json"}
    connection.request("POST", MAPS, chunks, headers, encode_chunked=True)
    response = connection.getresponse()
    assert (response.status, orjson.loads(response.read())["code"]) == (413, 413)
    connection.close()


def test_a_connection_is_kept_for_the_next_request(live):
    connection = live.connect()
    for _ in range(3):
        connection.request("GET", "/version")
        assert connection.getresponse().read()
    assert connection.sock is not None
    connection.close()


@pytest.mark.parametrize(
    "noise",
    [b"nonsense\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00", b"GET /\xff HTTP/1.1\r\n\r\n", b""],
)
def test_noise_on_the_wire_harms_nobody(live, noise):
    with socket.create_connection(("127.0.0.1", live.server.port), timeout=10) as wire:
        wire.sendall(noise)
        wire.shutdown(socket.SHUT_WR)
        wire.recv(1000)
    assert live.call("GET", "/readyz").body == b"ok"


def test_a_client_that_leaves_in_the_middle_of_its_body_harms_nobody(live):
    with socket.create_connection(("127.0.0.1", live.server.port), timeout=10) as wire:
        head = f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {live.token}\r\nContent-Length: 100\r\n\r\n{{"
        wire.sendall(head.encode())
    assert live.call("GET", "/readyz").body == b"ok"


@pytest.mark.parametrize("seconds", ["-1", "9223372036854775807"])
def test_a_watch_that_is_to_last_less_than_nothing_ends_at_once(live, seconds):
    reply = live.call("GET", f"{PODS}?watch=true&timeoutSeconds={seconds}")
    assert (reply.status, reply.body) == (200, b"")
    assert live.call("GET", f"{PODS}?timeoutSeconds={seconds}").json["kind"] == "PodList"


def test_a_timeout_of_a_watch_may_be_nonsense_and_of_a_list_may_not(live):
    assert live.call("GET", f"{PODS}?timeout=abc").status == 400
    assert live.call("GET", f"{PODS}?timeout=1h").status == 200
    assert live.call("GET", f"{PODS}?watch=true&timeoutSeconds=1&timeout=abc").status == 200
