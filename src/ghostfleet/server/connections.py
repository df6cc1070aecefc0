"""Connections: what clients may hold of the server, and for how long.

A *guard* knows all connections, oldest first, and looks at them once a second. One that has sent a part of a request
and not the rest, or that takes nothing of its answer, is closed after a bound; so is whoever was slow for the longest,
when the bytes that wait to be taken are too many all together. There is a *limit* to the connections themselves: past
it the oldest idle one makes room for the next, and when none is idle the next is refused.

What a connection does is read off uvicorn's protocol when the guard looks, so that requests pay nothing for it. *Head*,
*body* and *answer* are what it is busy with: a client must send the head and the body in time, and take its answer.
"""

from __future__ import annotations

import asyncio
import resource
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from uvicorn.protocols.http.flow_control import FlowControl

__all__ = ["Guard", "Guarded", "open_files"]

#: Seconds; the first two are the real server's (its ReadHeaderTimeout and --request-timeout), the third is estimated.
_PATIENCE = {"head": 32.0, "body": 60.0, "answer": 60.0}
_LOOK_SECONDS = 1.0
#: The longest head of a request, as in Go's servers.
_HEAD_LIMIT = 1024 * 1024
#: Bytes of answers and watches that wait to be taken, of all clients together.
_UNSENT_LIMIT = 256 * 1024 * 1024
_CONNECTIONS_LIMIT = 16_384
#: Files that are not connections.
_FILES_APART = 64
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\nretry-after: 1\r\n"
    b"connection: close\r\ncontent-length: 21\r\n\r\ntoo many connections\n"
)
_HEAD_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"connection: close\r\n\r\n431 Request Header Fields Too Large"
)


class _Cycle(Protocol):
    """A request and its answer."""

    response_complete: bool
    more_body: bool


class _Connection(Protocol):
    """What both of uvicorn's protocols have."""

    transport: asyncio.Transport
    flow: FlowControl
    cycle: _Cycle | None
    #: set while a kept connection waits for the first byte of the next request
    timeout_keep_alive_task: asyncio.TimerHandle | None


class _Seen(NamedTuple):
    """What a connection was busy with, with which request, and how much of its answer was left, since when."""

    doing: tuple[str, _Cycle | None, int]
    since: float


class Guard:
    """Looks after the connections of one server."""

    def __init__(self, limit: int = _CONNECTIONS_LIMIT) -> None:
        self._limit = limit
        self._connections: dict[_Connection, _Seen | None] = {}
        #: Bytes that wait to be taken, by the clients that have been slow for the longest first.
        self._slow: dict[_Connection, int] = {}
        self._unsent = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._connections)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._timer = loop.call_later(_LOOK_SECONDS, self._turn)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop = None

    def admit(self, connection: _Connection) -> None:
        """A client has come."""
        if len(self._connections) >= self._limit and not self._make_room():
            connection.transport.write(_REFUSAL)
            connection.transport.close()
            return
        self._connections[connection] = None

    def forget(self, connection: _Connection) -> None:
        """A client has gone."""
        self._connections.pop(connection, None)
        self.quicken(connection)

    def slow_down(self, connection: _Connection) -> None:
        """A client has fallen behind with its answer; when too much waits, the slowest ones are closed."""
        self.quicken(connection)
        self._slow[connection] = unsent = connection.transport.get_write_buffer_size()
        self._unsent += unsent
        while self._unsent > _UNSENT_LIMIT and len(self._slow) > 1:
            slowest = next(iter(self._slow))
            self.forget(slowest)
            slowest.transport.abort()

    def quicken(self, connection: _Connection) -> None:
        """A client has caught up."""
        self._unsent -= self._slow.pop(connection, 0)

    def _make_room(self) -> bool:
        for connection in self._connections:
            if connection.timeout_keep_alive_task is not None or _awaits_head(connection):
                self.forget(connection)
                connection.transport.abort()
                return True
        return False

    def _turn(self) -> None:
        if self._loop is not None:
            self.look(self._loop.time())
            self._timer = self._loop.call_later(_LOOK_SECONDS, self._turn)

    def look(self, now: float) -> None:
        """Close whoever has been too slow for too long."""
        for connection, seen in list(self._connections.items()):
            busy = _busy_with(connection)
            if not busy:
                self._connections[connection] = None
                continue
            # Who takes something of an answer, be it little, is not stuck.
            unsent = connection.transport.get_write_buffer_size() if busy == "answer" else 0
            doing = (busy, connection.cycle, unsent)
            if seen is None or seen.doing != doing:
                seen = self._connections[connection] = _Seen(doing, now)
            if now - seen.since >= _PATIENCE[busy]:
                connection.transport.abort()


def _busy_with(connection: _Connection) -> str:
    """What the client has to do; "" when it is the server's turn, or there is no request."""
    if connection.flow.write_paused:
        return "answer"
    if _awaits_head(connection):
        return "head"
    cycle = connection.cycle
    return "body" if cycle is not None and not cycle.response_complete and cycle.more_body else ""


def _awaits_head(connection: _Connection) -> bool:
    """Whether a request has begun, or should have, and its head is not complete."""
    cycle = connection.cycle
    return connection.timeout_keep_alive_task is None and (cycle is None or cycle.response_complete)


class Guarded(asyncio.Protocol):
    """What makes one of uvicorn's protocols a guarded one, when it stands before it among the bases."""

    guard: Guard
    transport: asyncio.Transport
    timeout_keep_alive_task: asyncio.TimerHandle | None
    cycle: Any
    flow: Any
    _head_size = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.guard.admit(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.guard.forget(self)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.guard.slow_down(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        self.guard.quicken(self)

    def data_received(self, data: bytes) -> None:
        if self.timeout_keep_alive_task is not None:
            self._head_size = 0
        elif _awaits_head(self):
            self._head_size += len(data)
            if self._head_size > _HEAD_LIMIT:
                self.transport.write(_HEAD_TOO_LARGE)
                self.transport.close()
                return
        super().data_received(data)


def open_files() -> int:
    """Allow this process as many open files as the system lets it; how many connections fit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _CONNECTIONS_LIMIT + _FILES_APART
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return _CONNECTIONS_LIMIT
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(allowed - _FILES_APART, allowed // 2)
