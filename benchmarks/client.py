"""The client of the HTTP benchmarks, in a process of its own so that it has a core of its own.

It speaks HTTP/1.1 over kept connections with as little work as can be: what is to be measured is the server. It reads
its task as JSON from stdin and prints what it measured.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import orjson

from benchmarks.objects import pod

__all__ = ["Client", "main"]

_PODS = "/api/v1/namespaces/default/pods"


class Connection(asyncio.Protocol):
    """A kept connection: one request at a time, its answer's status and body given to a callback."""

    def __init__(self, answered: Callable[[Connection, int, bytes], None]) -> None:
        self._answered = answered
        self._chunks: list[bytes] = []
        self._missing = 0
        self._chunked = False
        self._status = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if not self._missing:
            data = self._begin(data)
        self._chunks.append(data)
        if not self._chunked:
            self._missing -= len(data)
        elif b"".join(self._chunks[-2:]).endswith(b"0\r\n\r\n"):
            self._missing = 0
        if not self._missing:
            body, self._chunks = b"".join(self._chunks), []
            self._answered(self, self._status, body)

    def _begin(self, data: bytes) -> bytes:
        """Read the head of an answer, which comes in one piece; the rest is of its body.

        A body in chunks, as Go's servers send long ones, is missing until its last chunk; the chunks are not unpacked.
        """
        head, _, rest = data.partition(b"\r\n\r\n")
        self._status = int(head[9:12])
        length = head.lower().partition(b"content-length:")[2]
        self._chunked = not length
        self._missing = int(length.partition(b"\r\n")[0]) if length else 1
        return rest


class Watcher(asyncio.Protocol):
    """A connection that only counts the events that come in."""

    def __init__(self, request: bytes, counted: Callable[[int], None]) -> None:
        self._request = request
        self._counted = counted
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self._opened.done():
            self._opened.set_result(None)
            data = data.partition(b"\r\n\r\n")[2]
        # Every line of JSON ends with a newline, and so does a chunk's head, but after a carriage return. A frame of
        # protobuf has the magic bytes once.
        self._counted(data.count(b"}\n") or data.count(b"k8s\0"))

    async def opened(self) -> None:
        await self._opened


class Client:
    """Does one task."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.task = task
        self._tls = ssl.create_default_context(cafile=task["authority"]) if task["authority"] else None
        self.loop = asyncio.get_running_loop()

    def request(
        self, method: str, path: str, body: bytes = b"", media: str = "application/json", accept: str = ""
    ) -> bytes:
        accept = accept or self.task.get("accept", "application/json")
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.task['token']}\r\n"
            f"Accept: {accept}\r\nContent-Type: {media}\r\n"
            f"Content-Length: {len(body)}\r\n"
            "User-Agent: bench\r\n\r\n"
        )
        return head.encode() + body

    async def connect(self, make: Callable[[], Any]) -> Any:
        _, protocol = await self.loop.create_connection(make, "127.0.0.1", self.task["port"], ssl=self._tls)
        return protocol

    async def send_all(self, requests: list[bytes], connections: int) -> float:
        """Send requests over so many connections, each the next when it has its answer; answers the seconds."""
        waiting = iter(requests)
        left = len(requests)
        done = self.loop.create_future()

        def go_on(connection: Connection) -> None:
            request = next(waiting, None)
            if request is not None:
                connection.transport.write(request)

        def answered(connection: Connection, status: int, body: bytes) -> None:
            nonlocal left
            left -= 1
            if status >= 300:
                done.set_exception(RuntimeError(body[:1000]))
            elif not left:
                done.set_result(None)
            else:
                go_on(connection)

        opened = [await self.connect(lambda: Connection(answered)) for _ in range(connections)]
        began = time.perf_counter()
        for connection in opened:
            go_on(connection)
        await done
        took = time.perf_counter() - began
        for connection in opened:
            connection.transport.abort()
        return took

    def creates(self, first: int, count: int) -> list[bytes]:
        names = (f"pod-{number}" for number in range(first, first + count))
        return [self.request("POST", _PODS, orjson.dumps(pod(name))) for name in names]

    def patches(self, first: int, count: int, round_: int) -> list[bytes]:
        """A new status for each pod, as a node sends it when it starts one."""
        media = "application/strategic-merge-patch+json"
        return [
            self.request(
                "PATCH",
                f"{_PODS}/pod-{number}/status",
                b'{"status":{"phase":"Running","message":"started %d times"}}' % round_,
                media,
            )
            for number in range(first, first + count)
        ]

    async def write(self) -> dict[str, Any]:
        """Creates, then patches of the same pods."""
        count, connections, first = self.task["count"], self.task["connections"], self.task["first"]
        before = _processor_seconds(self.task["pid"])
        created = await self.send_all(self.creates(first, count), connections)
        between = _processor_seconds(self.task["pid"])
        patched = await self.send_all(self.patches(first, count, 1), connections)
        after = _processor_seconds(self.task["pid"])
        return {
            "creates": count / created,
            "patches": count / patched,
            "creates by processor": count / (between - before),
            "patches by processor": count / (after - between),
        }

    async def echo(self) -> dict[str, Any]:
        count, connections = self.task["count"], self.task["connections"]
        before = _processor_seconds(self.task["pid"])
        took = await self.send_all(self.creates(0, count), connections)
        return {"requests": count / took, "by processor": count / (_processor_seconds(self.task["pid"]) - before)}

    async def list(self) -> dict[str, Any]:
        """A list of so many pods: seconds until its last byte, the first time and at best."""
        await self.send_all(self.creates(0, self.task["count"]), 16)
        times = [await self.send_all([self.request("GET", _PODS)], 1) for _ in range(self.task["times"])]
        return {"seconds": min(times), "first": times[0]}

    async def watch(self) -> dict[str, Any]:
        """Patches seen by many watchers: events that come in a second, from the first write to the last event."""
        watchers, writes = self.task["watchers"], self.task["writes"]
        await self.send_all(self.creates(0, 100), 4)
        done = self.loop.create_future()
        missing = watchers * writes

        def counted(events: int) -> None:
            nonlocal missing
            missing -= events
            if missing <= 0 and not done.done():
                done.set_result(time.perf_counter())

        newest = await self._newest()
        request = self.request("GET", f"{_PODS}?watch=true&resourceVersion={newest}")
        for _ in range(watchers):
            watcher = await self.connect(lambda: Watcher(request, counted))
            await watcher.opened()
        requests = [each for round_ in range(writes // 100) for each in self.patches(0, 100, round_ + 2)]
        began = time.perf_counter()
        await self.send_all(requests, 4)
        return {"events": watchers * writes / (await done - began)}

    async def _newest(self) -> str:
        answers: list[bytes] = []
        done = self.loop.create_future()

        def answered(_connection: Connection, _status: int, body: bytes) -> None:
            answers.append(body)
            done.set_result(None)

        connection = await self.connect(lambda: Connection(answered))
        connection.transport.write(self.request("GET", f"{_PODS}?limit=1", accept="application/json"))
        await done
        newest: str = orjson.loads(answers[0])["metadata"]["resourceVersion"]
        return newest


def _processor_seconds(pid: int) -> float:
    """How long a process has been computing; other than its speed, that hardly depends on who else is there."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


async def _do(client: type[Client], task: dict[str, Any]) -> dict[str, Any]:
    measured: dict[str, Any] = await getattr(client(task), task["do"])()
    return measured


def main(client: type[Client] = Client) -> None:
    try:
        from uvloop import run
    except ImportError:
        from asyncio import run
    sys.stdout.buffer.write(orjson.dumps(run(_do(client, orjson.loads(sys.stdin.buffer.read())))))


if __name__ == "__main__":
    main()
