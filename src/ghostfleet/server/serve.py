"""Serving: an application on a socket, with uvicorn.

The socket is bound before anything is announced, so that a port that is taken is an error and not a surprise. A stop,
by signal or by `HttpServer.stop`, ends all watches at once and is done within a second, whatever clients do. uvloop
and httptools make the server several times as fast; without them it works too.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import uvicorn

from ghostfleet.core.clock import WallClock
from ghostfleet.server.connections import Guard, Guarded, open_files
from ghostfleet.server.pump import Pump
from ghostfleet.server.requests import Receive, Scope, Send

__all__ = ["Application", "BindError", "HttpServer", "is_accelerated"]

_BACKLOG = 2048
#: Clients such as kubectl and client-go keep idle connections for minutes.
_KEEP_ALIVE_SECONDS = 600
#: How long a stopping server waits for answers that are under way.
_PATIENCE_SECONDS = 0.4
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}


class Application(Protocol):
    """What can be served: an ASGI application that can be told to end what it has open."""

    def close(self) -> None: ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


class BindError(Exception):
    """The server cannot listen where it should; the message says why."""


def is_accelerated() -> bool:
    """Whether the packages that make the server fast are installed."""
    return find_spec("uvloop") is not None and find_spec("httptools") is not None


class HttpServer:
    """An application on a socket; the socket is bound when this is made."""

    def __init__(
        self,
        app: Application,
        *,
        address: str = "127.0.0.1",
        port: int = 0,
        tls: tuple[Path, Path] | None = None,
        clock: WallClock | None = None,
    ) -> None:
        """Port 0 is any free one; `tls` is the files of certificate and key; `clock` is driven while serving."""
        self._socket = _bound(address, port)
        scheme = "https" if tls is not None else "http"
        host = _ANYWHERE.get(address, address)
        #: Where clients on this machine reach the server.
        self.url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"
        fast = is_accelerated()
        self.guard = Guard(open_files())
        self._config = uvicorn.Config(
            app,
            interface="asgi3",
            loop="uvloop" if fast else "asyncio",
            http=_guarded(_fast_protocol() if fast else _plain_protocol(), self.guard),
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=_BACKLOG,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=1,
            ssl_certfile=tls[0] if tls is not None else None,
            ssl_keyfile=tls[1] if tls is not None else None,
        )
        self._server = _Server(self._config, app, clock, self.guard)

    @property
    def port(self) -> int:
        number: int = self._socket.getsockname()[1]
        return number

    def run(self, on_ready: Callable[[str], None] | None = None) -> None:
        """Serve until a signal or `stop`; `on_ready` is called with the URL once requests are taken."""
        if on_ready is not None:
            self._server.on_ready = lambda: on_ready(self.url)
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self.close()

    def close(self) -> None:
        """Give the socket up without having served."""
        self._socket.close()

    def stop(self) -> None:
        """End `run`, from any thread."""
        self._server.should_exit = True


class _Server(uvicorn.Server):
    """uvicorn's server with a clock, and with an end that does not wait for watches."""

    def __init__(self, config: uvicorn.Config, app: Application, clock: WallClock | None, guard: Guard) -> None:
        super().__init__(config)
        self._guard = guard
        self._app = app
        self._clock = clock
        self._pump: Pump | None = None
        self.on_ready: Callable[[], None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._guard.start(asyncio.get_running_loop())
        if self._clock is not None:
            self._pump = Pump(self._clock, asyncio.get_running_loop())
            self._pump.start()
        if self.on_ready is not None:
            self.on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.close()
        asyncio.get_running_loop().call_later(_PATIENCE_SECONDS, self._lose_patience)
        await super().shutdown(sockets)
        self._guard.stop()
        if self._pump is not None:
            self._pump.stop()

    def _lose_patience(self) -> None:
        self.force_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM, and unlike uvicorn's own do not raise them again afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handled = (signal.SIGINT, signal.SIGTERM)
        before = {each: signal.signal(each, self.handle_exit) for each in handled}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


def _fast_protocol() -> type[asyncio.Protocol]:
    # It needs httptools, which is not always there.
    from ghostfleet.server.wiring import Protocol

    return Protocol


def _plain_protocol() -> type[asyncio.Protocol]:
    from uvicorn.protocols.http.h11_impl import H11Protocol

    return type("PlainProtocol", (Guarded, H11Protocol), {})


def _guarded(protocol: type[asyncio.Protocol], guard: Guard) -> type[asyncio.Protocol]:
    return type(protocol.__name__, (protocol,), {"guard": guard})


def _bound(address: str, port: int) -> socket.socket:
    """A socket that listens at this address."""
    where = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    if not 0 <= port <= 65_535:
        raise BindError(f"cannot listen at {where}: ports are numbers from 0 to 65535")
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            address or "0.0.0.0", port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise BindError(f"cannot listen at {where}: {address!r} is no address or host name") from error
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        # Another program may still take the port between bind and listen.
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise BindError(f"cannot listen at {where}: {_reason(error, port)}") from error
    listener.setblocking(False)
    return listener


def _reason(error: OSError, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"another program has port {port}"
    if error.errno == errno.EADDRNOTAVAIL:
        return "this machine does not have that address"
    if error.errno == errno.EACCES:
        return f"port {port} needs more rights than this user has"
    return os.strerror(error.errno) if error.errno else str(error)
