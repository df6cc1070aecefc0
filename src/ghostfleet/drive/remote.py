"""A cluster behind an address: one that `ghostfleet up` serves, or a real one, by kubeconfig.

Tools are played by asyncio, and their requests by a bounded number of threads, each with a connection of its own: the
bound is how many requests are under way at once. The cluster's time is that of a served cluster's own clock, which may
be scaled, or else real time.
"""

from __future__ import annotations

import asyncio
import os
import threading
import urllib.parse
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND, WallClock
from ghostfleet.core.ratelimit import Saturated
from ghostfleet.drive.access import Access
from ghostfleet.drive.connection import Connection
from ghostfleet.drive.interface import ClusterInfo, Kind, Refused, Seen
from ghostfleet.drive.watching import Watcher

__all__ = ["Remote"]

T = TypeVar("T")
_ABOUT = "/ghostfleet"
#: What a cluster of ours says about its make, besides what has a place of its own.
_MADE = ("schedulers", "schedulerConfiguration", "kai", "stages", "commands", "without")


class Remote:
    """A cluster by its kubeconfig, as tools see it."""

    def __init__(self, access: Access, concurrency: int = 32) -> None:
        self._access = access
        self._own = threading.local()
        self._connections: list[Connection] = []
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="request")
        self._watchers: list[Watcher] = []
        self._groups: dict[str, list[Object]] = {}
        connection = self._connection()
        version = connection.get("/version")["gitVersion"]
        about = _about(connection)
        self._scale = float(about.get("scale") or 1.0)
        self._clock = WallClock(self._scale, start=about.get("microseconds"))
        self.info = ClusterInfo(
            address=access.url,
            clock="wall" if self._scale == 1.0 else f"scaled:{self._scale:g}",
            version=version,
            ghostfleet=bool(about),
            profile=about.get("profile", ""),
            dispatcher=about.get("dispatcher", ""),
            made={name: about[name] for name in _MADE if about.get(name)},
            uid=_uid(connection),
            kubeconfig=os.pathsep.join(str(file.absolute()) for file in access.files),
            context=access.context,
        )

    def now(self) -> int:
        return self._clock.now()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(work)

    async def sleep(self, microseconds: int) -> None:
        await asyncio.sleep(max(0, microseconds) / SECOND / self._scale)

    async def together(self, work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
        results = await asyncio.gather(*work, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return results  # type: ignore[return-value]  # none of them is an error

    async def resolve(self, api_version: str, kind: str) -> Kind | None:
        served = self._groups.get(api_version)
        if served is None:
            served = self._groups[api_version] = await self._do(lambda connection: _served(connection, api_version))
        for resource in served:
            if resource["kind"] == kind and "/" not in resource["name"]:
                group, _, version = api_version.rpartition("/")
                return Kind(group, version, resource["name"], resource["namespaced"])
        return None

    async def create(self, kind: Kind, obj: Object) -> Object:
        path = kind.path(obj["metadata"].get("namespace", ""))
        return await self._do(lambda connection: connection.create(path, obj))

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        return await self._do(lambda connection: connection.get(kind.path(namespace, name)))

    async def list(self, kind: Kind, namespace: str = "", labels: str = "") -> list[Object]:
        return await self._do(lambda connection: connection.items(kind.path(namespace) + _selecting(labels)))

    async def patch(self, kind: Kind, namespace: str, name: str, patch: Object) -> Object:
        return await self._do(lambda connection: connection.patch(kind.path(namespace, name), patch))

    async def delete(self, kind: Kind, namespace: str, name: str) -> None:
        await self._do(lambda connection: connection.delete(kind.path(namespace, name)))

    async def delete_all(self, kind: Kind, namespace: str, labels: str) -> None:
        await self._do(lambda connection: connection.delete(kind.path(namespace) + _selecting(labels)))

    async def saturation(self) -> Sequence[Saturated] | None:
        if not self.info.ghostfleet:
            return None
        about = await self._do(_about)
        return [Saturated(*each) for each in about["limits"]] if "limits" in about else None

    def watch(self, kind: Kind, namespace: str, labels: str, seen: Seen) -> Callable[[], None]:
        loop = asyncio.get_running_loop()

        def on_event(event: str, obj: Object) -> None:
            loop.call_soon_threadsafe(seen, self._clock.now(), event, obj)

        watcher = Watcher(self._access, kind.path(namespace), labels, on_event)
        self._watchers.append(watcher)
        watcher.start()
        return watcher.stop

    def close(self) -> None:
        for watcher in self._watchers:
            watcher.stop()
        self._threads.shutdown(cancel_futures=True)
        for connection in self._connections:
            connection.close()

    async def _do(self, request: Callable[[Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: request(self._connection()))

    def _connection(self) -> Connection:
        """The connection of this thread."""
        connection: Connection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = Connection(self._access)
            self._connections.append(connection)
        return connection


def _about(connection: Connection) -> Object:
    """What a cluster of ours says of itself; nothing for any other."""
    try:
        about: Object = connection.get(_ABOUT)
    except Refused:
        return {}
    return about if "ghostfleet" in about else {}


def _uid(connection: Connection) -> str:
    """What tells a cluster from all others; "" where whoever asks may not read it."""
    try:
        return str(connection.get("/api/v1/namespaces/kube-system")["metadata"]["uid"])
    except Refused:
        return ""


def _served(connection: Connection, api_version: str) -> list[Object]:
    """The resources of an API version; none when there is no such version."""
    try:
        found: list[Object] = connection.get(f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}")[
            "resources"
        ]
    except Refused as refusal:
        if refusal.code != 404:
            raise
        return []
    return found


def _selecting(labels: str) -> str:
    return f"?{urllib.parse.urlencode({'labelSelector': labels})}" if labels else ""
