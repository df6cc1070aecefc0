"""A cluster behind its HTTP face: called directly as an ASGI application, or served on a free port."""

from __future__ import annotations

import asyncio
import http.client
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest

from ghostfleet.cluster import BARE, Cluster, ClusterConfig
from ghostfleet.core.clock import VirtualClock, WallClock
from ghostfleet.server.app import App
from ghostfleet.server.auth import Authenticator
from ghostfleet.server.serve import HttpServer
from support.asgi import Reply, call

TOKEN = "a-token-for-tests"


def _payload(body: Any, headers: dict[str, str]) -> bytes:
    if body is None:
        return b""
    if isinstance(body, bytes):
        return body
    headers.setdefault("content-type", "application/json")
    return orjson.dumps(body)


@dataclass
class Face:
    """An application that is called without a socket, on a virtual clock."""

    config: ClusterConfig = BARE
    clock: VirtualClock = field(default_factory=VirtualClock)
    cluster: Cluster = field(init=False)
    app: App = field(init=False)

    def __post_init__(self) -> None:
        self.cluster = Cluster(self.clock, self.config)
        self.app = App(self.cluster.api, Authenticator(TOKEN))

    def call(self, method: str, target: str, body: Any = None, *, token: str = TOKEN, **headers: str) -> Reply:
        """Send one request; what it starts on the clock is run before the answer is given."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        payload = _payload(body, named)
        if token:
            named["authorization"] = f"Bearer {token}"
        reply = asyncio.run(call(self.app, method, target, named.items(), payload))
        self.clock.settle()
        return reply

    def get(self, target: str, **headers: str) -> Reply:
        return self.call("GET", target, **headers)

    def post(self, target: str, body: Any, **headers: str) -> Reply:
        return self.call("POST", target, body, **headers)


@pytest.fixture
def face() -> Face:
    return Face()


class Live:
    """A server on a free port of this machine."""

    def __init__(self, server: HttpServer, token: str, app: App) -> None:
        self.server = server
        self.app = app
        self.url = server.url
        self.token = token

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)

    def call(self, method: str, target: str, body: Any = None, **headers: str) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        payload = _payload(body, named)
        connection = self.connect()
        try:
            connection.request(method, target, payload, {"authorization": f"Bearer {self.token}", **named})
            response = connection.getresponse()
            return Reply(response.status, response.getheaders(), response.read())
        finally:
            connection.close()


@pytest.fixture
def live() -> Iterator[Live]:
    clock = WallClock()
    app = App(Cluster(clock, BARE).api, Authenticator(TOKEN))
    server = HttpServer(app, clock=clock)
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(lambda _url: ready.set(),))
    thread.start()
    try:
        assert ready.wait(10)
        yield Live(server, TOKEN, app)
    finally:
        server.stop()
        thread.join(10)
        assert not thread.is_alive()
