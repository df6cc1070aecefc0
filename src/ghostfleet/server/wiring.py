"""Wiring: uvicorn's HTTP protocol with a transport that sends a response's head together with its body.

uvicorn writes head and body apart, and uvloop sends at once what it is given: two system calls and two packets for
every small answer, and a client that wakes twice. A *corked* transport holds a head back until the first bytes of the
body come, or until the loop's next turn when none do.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ghostfleet.server.connections import Guarded

__all__ = ["CorkedTransport", "Protocol"]

_HEAD = b"HTTP/1.1 "
#: Joining costs a copy; with a larger body one more packet does not matter.
_LARGE = 64 * 1024


class CorkedTransport(asyncio.Transport):
    """Another transport, but heads wait for their bodies."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._head = b""
        self.is_closing = transport.is_closing  # type: ignore[method-assign]  # called often, so without a detour

    def write(self, data: Any) -> None:
        head = self._head
        if head:
            self._head = b""
            if len(data) < _LARGE:
                self._transport.write(head + data)
                return
            self._transport.write(head)
        elif data.startswith(_HEAD):
            self._head = data
            self._loop.call_soon(self._uncork)
            return
        self._transport.write(data)

    def _uncork(self) -> None:
        head = self._head
        if head:
            self._head = b""
            self._transport.write(head)

    def close(self) -> None:
        self._uncork()
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)


class Protocol(Guarded, HttpToolsProtocol):
    """HTTP/1.1 on a corked transport, under a guard."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(CorkedTransport(transport, self.loop))
