"""Requests of an attack, what they are fired at, and how the answers are judged.

Whatever a client sends, the server must not fail, and must say what it has to say in Kubernetes' own form.
"""

from __future__ import annotations

import asyncio
import http.client
import ssl
from dataclasses import dataclass, field
from typing import Any

import orjson
import yaml
from fuzz_material.inspection import inspect_store

from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.core.clock import SECOND, VirtualClock
from ghostfleet.server.app import App
from ghostfleet.server.auth import Authenticator
from ghostfleet.server.protoanswers import _type_of as protobuf_type
from ghostfleet.server.protobuf import decode
from support.asgi import Reply, call

TOKEN = "a-token"
#: Nothing may take longer than this, in seconds.
PATIENCE = 20


@dataclass(frozen=True)
class Shot:
    """One request of an attack; the path is as a server gets it, with its percent-encodings."""

    method: str
    target: str
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    #: send the right token along
    admitted: bool = True

    def all_headers(self, token: str) -> list[tuple[str, str]]:
        return [*self.headers, ("authorization", f"Bearer {token}")] if self.admitted else list(self.headers)


def judge(shot: Shot, reply: Reply) -> None:
    """An answer must be in Kubernetes' form, and never the server's own failure."""
    told = f"{shot.method} {shot.target} -> {reply.status} {reply.body[:500]!r}"
    body = _parsed(reply, told)
    if reply.status >= 500:
        # The one such answer that a client can provoke: it asks for a revision that has not come yet.
        assert (reply.status, body["reason"]) == (504, "Timeout"), told
    if reply.status < 400 or reply.media.startswith("text/plain") or shot.method == "HEAD":
        return
    assert (body["kind"], body["apiVersion"], body["status"]) == ("Status", "v1", "Failure"), told
    assert int(body["code"]) == reply.status, told
    assert body["message"], told


def _parsed(reply: Reply, told: str) -> Any:
    """The body, or the last line of a stream, as it is."""
    if not reply.body or reply.media.startswith("text/plain"):
        reply.body.decode()
        return None
    if reply.media.startswith("application/vnd.kubernetes.protobuf"):
        if reply.status < 400:
            return None
        assert reply.body.startswith(b"k8s\0"), told
        return decode(reply.body, protobuf_type)
    if reply.media == "application/yaml":
        # Every scalar as it is written: Go and Python do not agree on which plain ones are more than text.
        return yaml.load(reply.body, yaml.BaseLoader)
    try:
        return orjson.loads(reply.body)
    except orjson.JSONDecodeError:
        lines = [orjson.loads(line) for line in reply.body.splitlines()]
        assert all(set(line) == {"type", "object"} for line in lines), told
        return lines[-1]


class Target:
    """A cluster on a virtual clock, attacked without a socket."""

    def __init__(self, count: list[int], runner: asyncio.Runner, config: ClusterConfig) -> None:
        self.clock = VirtualClock()
        self.cluster = Cluster(self.clock, config)
        self.app = App(self.cluster.api, Authenticator(TOKEN))
        self._count = count
        self._runner = runner

    def take(self, shot: Shot) -> Reply:
        """Answer a request, and judge the answer."""
        self._count[0] += 1
        asked = call(self.app, shot.method, shot.target, shot.all_headers(TOKEN), shot.body)
        reply = self._runner.run(asyncio.wait_for(asked, PATIENCE))
        self.clock.settle()
        judge(shot, reply)
        return reply

    def close(self) -> None:
        """Let controllers react for a while, then look at everything that is stored."""
        self.clock.advance(120 * SECOND)
        inspect_store(self.cluster)


@dataclass
class Served:
    """A cluster in a process of its own, attacked over a kept connection."""

    port: int
    context: ssl.SSLContext
    token: str
    count: list[int]
    _connection: http.client.HTTPSConnection | None = field(default=None)

    def take(self, shot: Shot) -> Reply | None:
        """Answer a request, and judge the answer; None when the server refuses to read on, which it may."""
        self.count[0] += 1
        if self._connection is None:
            self._connection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, timeout=PATIENCE, context=self.context
            )
        connection = self._connection
        try:
            connection.putrequest(shot.method, shot.target, skip_accept_encoding=True)
            for name, value in shot.all_headers(self.token):
                connection.putheader(name, value.encode("latin-1", "replace"))
            connection.putheader("Content-Length", str(len(shot.body)))
            connection.endheaders(shot.body)
            response = connection.getresponse()
            reply = Reply(response.status, response.getheaders(), response.read())
        except (http.client.HTTPException, ConnectionError):
            self.close()
            return None
        if response.will_close or shot.method == "CONNECT":
            self.close()
        if reply.media == "text/plain; charset=utf-8" and reply.body == b"Invalid HTTP request received.":
            return None
        judge(shot, reply)
        return reply

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
