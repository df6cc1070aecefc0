"""Responses: answers to requests, and how they go over the wire.

An *answer* is complete before it is sent: a status code, a body and a few headers. Objects are written as JSON, or as
YAML or protobuf to those who want it. A large body is compressed for clients that allow it, in another thread, so that
the server goes on meanwhile.
"""

from __future__ import annotations

import asyncio
import unicodedata
import zlib
from collections.abc import Iterable
from typing import Any

import orjson

from ghostfleet.core.errors import ApiError
from ghostfleet.core.manifests import dump
from ghostfleet.server.negotiation import JSON, PLAIN, PROTOBUF, YAML, MediaType
from ghostfleet.server.protoanswers import encode_object
from ghostfleet.server.requests import Send

__all__ = [
    "Answer",
    "encode",
    "error_answer",
    "object_answer",
    "page_not_found",
    "send_answer",
    "text_answer",
    "warning",
]

Header = tuple[bytes, bytes]

#: Smaller bodies are not worth the work.
_COMPRESSED_FROM = 128 * 1024
_UNCACHED = (b"cache-control", b"no-cache, private")
_NO_SNIFFING = (b"x-content-type-options", b"nosniff")
_TEXT = "text/plain; charset=utf-8"
_WARNINGS_LIMIT = 4096


class Answer:
    """A complete answer."""

    __slots__ = ("body", "headers", "media", "status")

    def __init__(self, status: int, body: bytes, media: str = JSON, headers: Iterable[Header] = (_UNCACHED,)) -> None:
        self.status = status
        self.body = body
        self.media = media
        self.headers = headers


def encode(obj: Any, form: MediaType) -> bytes:
    """An object in the media type of a form."""
    if form.media == PROTOBUF:
        return encode_object(obj)
    if form.media == YAML:
        return dump(obj).encode()
    return orjson.dumps(obj, option=orjson.OPT_INDENT_2 if form.pretty else orjson.OPT_APPEND_NEWLINE)


def object_answer(status: int, obj: Any, form: MediaType = PLAIN, warnings: Iterable[str] = ()) -> Answer:
    """An answer with an object."""
    headers = (_UNCACHED, *map(warning, warnings)) if warnings else (_UNCACHED,)
    return Answer(status, encode(obj, form), form.media, _within_limit(headers) if warnings else headers)


def error_answer(error: ApiError, form: MediaType = PLAIN, *, unread: bool = False) -> Answer:
    """The Status of an error; a client that should try again later is told when.

    When some of the request was left unread, nothing can follow it on its connection.
    """
    headers = [_UNCACHED]
    if error.details is not None and (seconds := error.details.get("retryAfterSeconds")):
        headers.append((b"retry-after", str(seconds).encode()))
    if unread:
        headers.append((b"connection", b"close"))
    return Answer(error.code, encode(error.status(), form), form.media, headers)


def text_answer(status: int, text: str) -> Answer:
    return Answer(status, text.encode(), _TEXT, (_UNCACHED, _NO_SNIFFING))


def page_not_found() -> Answer:
    """What a path gets that no part of the API answers for."""
    return text_answer(404, "404 page not found\n")


def warning(text: str) -> Header:
    """A warning as a header; control characters cannot stand in one."""
    if not text.isprintable():
        text = "".join(letter for letter in text if unicodedata.category(letter) != "Cc")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return b"warning", f'299 - "{escaped}"'.encode(errors="replace")


def _within_limit(headers: Iterable[Header]) -> list[Header]:
    """As many headers, none twice, as clients are ready to read."""
    kept, room = [], _WARNINGS_LIMIT
    for header in dict.fromkeys(headers):
        room -= len(header[1])
        if room < 0:
            break
        kept.append(header)
    return kept


async def send_answer(send: Send, answer: Answer, accept_encoding: str = "", *, body_wanted: bool = True) -> None:
    """Send an answer, compressed if it is large and the client takes that."""
    body = answer.body
    headers = [(b"content-type", answer.media.encode()), *answer.headers]
    if len(body) > _COMPRESSED_FROM and _takes_gzip(accept_encoding):
        body = await asyncio.get_running_loop().run_in_executor(None, _gzip, body)
        headers += ((b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding"))
    if answer.status not in (204, 304):
        headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body if body_wanted else b""})


def _takes_gzip(accept_encoding: str) -> bool:
    return "gzip" in accept_encoding and "gzip" in (token.strip() for token in accept_encoding.split(","))


def _gzip(body: bytes) -> bytes:
    # Level 1 as the real server: the others cost far more time than they save bytes.
    return zlib.compress(body, level=1, wbits=31)
