"""A connection to a cluster: plain requests, one at a time, over one kept HTTP connection.

A request that the server turns away for now is sent again, after the time that the server asks for or a growing pause,
and so is one that finds the kept connection closed. A connection belongs to one thread.
"""

from __future__ import annotations

import http.client
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from ghostfleet.core.clock import pause
from ghostfleet.drive.access import Access
from ghostfleet.drive.interface import ConnectionFailed, Refused

__all__ = ["Connection", "watch_lines"]

_PATIENCE_SECONDS = 60.0
#: A watch is silent for as long as nothing happens; servers send a bookmark every minute.
_WATCH_PATIENCE_SECONDS = 600.0
_TRIES = 6
_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 10.0
_FOR_NOW = frozenset((429, 502, 503, 504))
_MERGE_PATCH = "application/merge-patch+json"
_BACKGROUND = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}


class Connection:
    """Requests to one cluster."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.url = access.url
        self._http = _opened(access, _PATIENCE_SECONDS)

    def get(self, path: str) -> Any:
        return self._ask("GET", path)

    def create(self, path: str, obj: Any) -> Any:
        return self._ask("POST", path, obj)

    def patch(self, path: str, patch: Any) -> Any:
        """Change an object by a merge patch."""
        return self._ask("PATCH", path, patch, _MERGE_PATCH)

    def delete(self, path: str) -> Any:
        """Delete what is there, and in the background what it owns."""
        return self._ask("DELETE", path, _BACKGROUND)

    def items(self, path: str, chunk: int = 2000) -> list[Any]:
        """Everything that a list holds, in pages."""
        found: list[Any] = []
        token = ""
        while True:
            query = urllib.parse.urlencode({"limit": chunk, **({"continue": token} if token else {})})
            page = self.get(f"{path}{'&' if '?' in path else '?'}{query}")
            found += page["items"]
            token = page["metadata"].get("continue") or ""
            if not token:
                return found

    def close(self) -> None:
        self._http.close()

    def _ask(self, method: str, path: str, body: Any = None, media: str = "application/json") -> Any:
        content = orjson.dumps(body) if body is not None else None
        wait = _FIRST_PAUSE_SECONDS
        for _ in range(_TRIES):
            status, text, after = self._answered(method, path, content, media)
            if status == 401 and self.access.forget():
                continue
            if status not in _FOR_NOW and not after:
                break
            pause(max(after, wait))
            wait = min(wait * 2, _LONGEST_PAUSE_SECONDS)
        return _read(status, text)

    def _answered(self, method: str, path: str, content: bytes | None, media: str) -> tuple[int, bytes, float]:
        """The answer to one request; a kept connection that the server has closed meanwhile is opened once more."""
        kept = self._http.sock is not None
        try:
            return self._exchange(method, path, content, media)
        except ConnectionFailed:
            if not kept:
                raise
            return self._exchange(method, path, content, media)

    def _exchange(self, method: str, path: str, content: bytes | None, media: str) -> tuple[int, bytes, float]:
        """One request; answers its status, its text and for how long the server wants to be left alone."""
        with _failures_named(self.access, self._http.close):
            self._http.request(method, self.access.prefix + path, content, _headers(self.access, content, media))
            answer = self._http.getresponse()
            after = answer.getheader("Retry-After") or ""
            return answer.status, answer.read(), float(after) if after.isdecimal() else 0.0


def watch_lines(access: Access, path: str, opened: Callable[[http.client.HTTPConnection], None]) -> Iterator[Any]:
    """The events of one watch, until the server ends it; `opened` gets the connection, to close it from elsewhere."""
    connection = _opened(access, _WATCH_PATIENCE_SECONDS)
    opened(connection)
    try:
        with _failures_named(access, connection.close):
            connection.request("GET", access.prefix + path, None, _headers(access, None, ""))
            answer = connection.getresponse()
            if answer.status >= 400:
                _read(answer.status, answer.read())
            for line in answer:
                try:
                    event = orjson.loads(line)
                except orjson.JSONDecodeError:
                    raise ConnectionFailed(f"{access.url}: a watch broke off in the midst of an event") from None
                yield event
    finally:
        connection.close()


def _opened(access: Access, patience: float) -> http.client.HTTPConnection:
    if access.tls is None:
        return http.client.HTTPConnection(access.host, access.port, timeout=patience)
    return http.client.HTTPSConnection(access.host, access.port, timeout=patience, context=access.tls)


def _headers(access: Access, content: bytes | None, media: str) -> dict[str, str]:
    headers = {"Accept": "application/json", "User-Agent": "ghostfleet"}
    if authorization := access.authorization():
        headers["Authorization"] = authorization
    if content is not None:
        headers["Content-Type"] = media
    return headers


@contextmanager
def _failures_named(access: Access, close: Callable[[], None]) -> Iterator[None]:
    try:
        yield
    except (OSError, http.client.HTTPException) as error:
        close()
        raise ConnectionFailed(f"{access.url} does not answer: {error or type(error).__name__}") from error


def _read(status: int, text: bytes) -> Any:
    try:
        read = orjson.loads(text)
    except orjson.JSONDecodeError:
        read = {"message": text.decode(errors="replace").strip()}
    if status >= 400:
        raise Refused(status, read.get("reason", ""), read.get("message", f"HTTP {status}"))
    return read
