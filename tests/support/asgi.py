"""Calls an application without a socket, as a server would, and waits for the whole answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import orjson

from ghostfleet.server.app import App

__all__ = ["Reply", "call"]


@dataclass(frozen=True)
class Reply:
    """What a request got."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        """The events of a stream."""
        return [orjson.loads(line) for line in self.body.splitlines()]

    @property
    def value(self) -> Any:
        """The body as JSON, a stream as the list of its lines, anything else as text."""
        if not self.media.startswith("application/json"):
            return self.body.decode()
        try:
            return self.json if self.body else None
        except orjson.JSONDecodeError:
            return self.lines

    @property
    def media(self) -> str:
        return self.header("content-type")

    def header(self, name: str) -> str:
        return next(iter(self.all(name)), "")

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name]


async def call(
    app: App, method: str, target: str, headers: Iterable[tuple[str, str]] = (), payload: bytes = b""
) -> Reply:
    """Send one request; a stream that has told everything is ended, as its timeout would do later."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "method": method,
        # Servers hand the path over decoded, as uvicorn does.
        "path": unquote(path),
        "query_string": query.encode("utf-8", "surrogateescape"),
        "headers": [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers],
    }
    incoming = [{"type": "http.request", "body": payload, "more_body": False}]
    outgoing: list[Any] = []

    async def receive() -> dict[str, Any]:
        if incoming:
            return incoming.pop()
        await asyncio.Event().wait()
        raise AssertionError("nothing sets that event")

    async def send(message: Any) -> None:
        outgoing.append(message)

    answering = asyncio.create_task(app(scope, receive, send))
    while not answering.done():
        for _ in range(50):
            await asyncio.sleep(0)
            if answering.done():
                break
        for stream in list(app.streams._open):
            stream.end()
        if not app.streams._open:
            await asyncio.wait([answering], timeout=0.01)
    await answering
    start, *bodies = outgoing
    named = [(name.decode(), value.decode("latin-1")) for name, value in start["headers"]]
    return Reply(start["status"], named, b"".join(message.get("body", b"") for message in bodies))
