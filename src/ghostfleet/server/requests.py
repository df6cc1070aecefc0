"""Requests: an HTTP request as the handlers need it.

Headers are looked up once, in one pass; the query is taken apart only if there is one. A body larger than the *limit*
is refused; what a client still sends of it is thrown away for a while, so that it gets to read the answer, and then
the connection is closed. Bodies that come in pieces are counted while they do: all clients together may have the server
hold so many bytes of unfinished requests, their *intake*, and no more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import unquote_plus

from ghostfleet.core.errors import request_too_large, too_many_requests

__all__ = ["BODY_LIMIT", "ClientGone", "Intake", "Message", "Query", "Receive", "Request", "Scope", "Send"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Query = dict[str, list[str]]

BODY_LIMIT = 3 * 1024 * 1024
_DISCARD_LIMIT = 16 * 1024 * 1024
_INTAKE_LIMIT = 256 * 1024 * 1024
_HEADERS = {
    b"accept": "accept",
    b"accept-encoding": "accept_encoding",
    b"authorization": "authorization",
    b"content-length": "content_length",
    b"content-type": "content_type",
    b"host": "host",
    b"if-none-match": "if_none_match",
    b"user-agent": "user_agent",
}
_NOTHING: Query = {}


class ClientGone(Exception):
    """The client went away before its request was complete."""


class Intake:
    """Bytes of bodies that have come in part."""

    def __init__(self, limit: int = _INTAKE_LIMIT) -> None:
        self._limit = limit
        self._held = 0

    def take(self, size: int) -> None:
        """Hold so many bytes more; 429 in the real server's words when that is too much."""
        if self._held + size > self._limit:
            raise too_many_requests("Too many requests, please try again later.", 1)
        self._held += size

    def give_back(self, size: int) -> None:
        self._held -= size


class Request:
    """One request; header fields that are absent are empty."""

    __slots__ = (
        "_query",
        "_query_string",
        "_receive",
        "accept",
        "accept_encoding",
        "authorization",
        "content_length",
        "content_type",
        "host",
        "if_none_match",
        "method",
        "path",
        "unread",
        "user_agent",
    )

    accept: str
    accept_encoding: str
    authorization: str
    content_length: str
    content_type: str
    host: str
    if_none_match: str
    user_agent: str

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self._query_string: bytes = scope["query_string"]
        self._query: Query | None = None
        self._receive = receive
        #: Whether some of the body may still be on its way, and nobody will read it.
        self.unread = False
        self.accept = self.accept_encoding = self.authorization = self.content_length = ""
        self.content_type = self.host = self.if_none_match = self.user_agent = ""
        for name, value in scope["headers"]:
            field = _HEADERS.get(name)
            if field is not None:
                text = value.decode("latin-1")
                # A field that is sent twice means the list of both.
                before = getattr(self, field)
                setattr(self, field, f"{before},{text}" if before else text)

    @property
    def query(self) -> Query:
        """The query's parameters, each with all its values."""
        if not self._query_string:
            return _NOTHING
        if self._query is None:
            self._query = _parse_query(self._query_string.decode("latin-1"))
        return self._query

    def parameter(self, name: str) -> str:
        """The first value of a parameter; "" when it is absent."""
        values = self.query.get(name)
        return values[0] if values else ""

    async def body(self, intake: Intake) -> bytes:
        """The whole body; 413 when it is larger than the limit, whatever its Content-Length says."""
        self.unread = True
        announced = self.content_length
        if announced.isascii() and announced.isdigit() and int(announced) > BODY_LIMIT + _DISCARD_LIMIT:
            raise request_too_large(f"limit is {BODY_LIMIT}")
        body, more = await self._chunk()
        if more:
            body, more = await self._rest(body, intake)
        if len(body) > BODY_LIMIT:
            await self._discard(more)
            raise request_too_large(f"limit is {BODY_LIMIT}")
        self.unread = False
        return body

    async def _rest(self, begun: bytes, intake: Intake) -> tuple[bytes, bool]:
        """A body that comes in pieces, up to the limit, and whether there is more of it."""
        chunks, size, held, more = [begun], len(begun), 0, True
        try:
            while more and size <= BODY_LIMIT:
                chunk, more = await self._chunk()
                intake.take(len(chunk))
                held += len(chunk)
                chunks.append(chunk)
                size += len(chunk)
        finally:
            intake.give_back(held)
        return b"".join(chunks), more

    async def _discard(self, more: bool) -> None:
        thrown = 0
        while more and thrown < _DISCARD_LIMIT:
            chunk, more = await self._chunk()
            thrown += len(chunk)

    async def _chunk(self) -> tuple[bytes, bool]:
        message = await self._receive()
        if message["type"] != "http.request":
            raise ClientGone
        return message.get("body", b""), message.get("more_body", False)


def _parse_query(text: str) -> Query:
    query: Query = {}
    for pair in text.split("&"):
        if not pair:
            continue
        name, _, value = pair.partition("=")
        query.setdefault(_unquoted(name), []).append(_unquoted(value))
    return query


def _unquoted(text: str) -> str:
    return unquote_plus(text) if "%" in text or "+" in text else text
