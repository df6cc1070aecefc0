"""The client: requests to an API server over several kept connections at once, on asyncio.

This is written by hand because the agent sends thousands of small requests a second beside a few endless watches, and
the client libraries at hand spend more time on each request than the server does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import orjson

from ghostfleet.drive.access import Access
from ghostfleet.drive.interface import ConnectionFailed, Refused

__all__ = ["Answer", "Client"]

_PATIENCE_SECONDS = 60.0
#: Servers send a bookmark every minute or so.
_WATCH_PATIENCE_SECONDS = 600.0
_LOST = (OSError, EOFError, ValueError, asyncio.TimeoutError, asyncio.LimitOverrunError)


class Answer(NamedTuple):
    """What a server said to one request."""

    status: int
    body: bytes
    #: For how many seconds the server wants to be left alone.
    retry_after: float

    def message(self) -> str:
        try:
            return str(orjson.loads(self.body)["message"])
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return self.body.decode(errors="replace").strip() or f"HTTP {self.status}"

    def reason(self) -> str:
        try:
            return str(orjson.loads(self.body)["reason"])
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return ""


class _Line:
    """One kept connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def close(self) -> None:
        # At once: a farewell in TLS would outlive the loop when all ends.
        self._writer.transport.abort()

    def send(self, head: str, body: bytes) -> None:
        self._writer.write(head.encode() + body)

    async def head(self) -> tuple[int, dict[str, str]]:
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return int(lines[0].split(" ", 2)[1]), headers

    async def body(self, headers: dict[str, str]) -> bytes:
        if "content-length" in headers:
            return await self._reader.readexactly(int(headers["content-length"]))
        if headers.get("transfer-encoding") == "chunked":
            return b"".join([chunk async for chunk in self.chunks()])
        return b""

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            size = int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16)
            chunk = await self._reader.readexactly(size + 2)
            if not size:
                return
            yield chunk[:-2]


class Client:
    """Requests to one API server, over as many connections as they need."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self.url = access.url
        self._idle: list[_Line] = []

    async def read(self, path: str) -> Any:
        """What is at a path; Refused if the server says no."""
        answer = await self.ask("GET", path)
        if answer.status >= 400:
            raise Refused(answer.status, answer.reason(), answer.message())
        return orjson.loads(answer.body)

    async def ask(self, method: str, path: str, body: bytes = b"", media: str = "application/json") -> Answer:
        """Send one request; ConnectionFailed if no answer comes."""
        request = self._request(method, path, body, media)
        renewed = False
        while True:
            kept = bool(self._idle)
            line = self._idle.pop() if kept else await self._connect()
            try:
                async with asyncio.timeout(_PATIENCE_SECONDS):
                    line.send(request, body)
                    status, headers = await line.head()
                    content = await line.body(headers)
            except _LOST as error:
                line.close()
                # The server may have closed a kept connection long ago.
                if not kept:
                    raise self._failure(error) from error
                continue
            except BaseException:
                line.close()
                raise
            if headers.get("connection", "").lower() == "close":
                line.close()
            else:
                self._idle.append(line)
            if status == 401 and not renewed and self._access.forget():
                renewed = True
                request = self._request(method, path, body, media)
                continue
            after = headers.get("retry-after", "")
            return Answer(status, content, float(after) if after.isdecimal() else 0.0)

    async def watch(self, path: str) -> AsyncIterator[Any]:
        """The events of one watch, until the server ends it."""
        line = await self._connect()
        try:
            line.send(self._request("GET", path, b"", ""), b"")
            async with asyncio.timeout(_PATIENCE_SECONDS):
                status, headers = await line.head()
            if status >= 400:
                answer = Answer(status, await line.body(headers), 0.0)
                raise Refused(status, answer.reason(), answer.message())
            left = b""
            chunks = line.chunks()
            while True:
                async with asyncio.timeout(_WATCH_PATIENCE_SECONDS):
                    chunk = await anext(chunks, b"")
                if not chunk:
                    return
                *lines, left = (left + chunk).split(b"\n")
                for each in lines:
                    yield orjson.loads(each)
        except _LOST as error:
            raise self._failure(error) from error
        finally:
            line.close()

    def close(self) -> None:
        for line in self._idle:
            line.close()
        self._idle.clear()

    async def _connect(self) -> _Line:
        access = self._access
        port = access.port or (443 if access.tls is not None else 80)
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                return _Line(*await asyncio.open_connection(access.host, port, ssl=access.tls))
        except _LOST as error:
            raise self._failure(error) from error

    def _failure(self, error: BaseException) -> ConnectionFailed:
        return ConnectionFailed(f"{self.url} does not answer: {error or type(error).__name__}")

    def _request(self, method: str, path: str, body: bytes, media: str) -> str:
        access = self._access
        authorization = access.authorization()
        lines = [
            f"{method} {access.prefix}{path} HTTP/1.1",
            f"Host: {access.host}",
            "Accept: application/json",
            "User-Agent: ghostfleet-agent",
            *([f"Authorization: {authorization}"] if authorization else []),
            *([f"Content-Type: {media}", f"Content-Length: {len(body)}"] if body else []),
            "\r\n",
        ]
        return "\r\n".join(lines)
