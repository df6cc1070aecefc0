"""The requests of a test: a cluster that keeps how long each of them took, in cluster time.

On a cluster of ours that is what the profile says a request takes, and on a real one what the network and the API
server took. Watches are left out, as in Kubernetes' own objectives.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from ghostfleet.core.changes import Object
from ghostfleet.core.ratelimit import Saturated
from ghostfleet.drive.interface import Cluster, ClusterInfo, Kind, Seen

__all__ = ["RecordedCluster", "RequestKind", "Requests"]

T = TypeVar("T")


class RequestKind(NamedTuple):
    """Requests that are counted together."""

    resource: str
    verb: str
    #: `resource` for a single object; else how far a list goes: `namespace` or `cluster`.
    scope: str


class Requests:
    """How long requests took, in microseconds, and when each was sent."""

    def __init__(self) -> None:
        self._times: dict[RequestKind, list[tuple[int, int]]] = {}

    def add(self, kind: RequestKind, sent: int, took: int) -> None:
        self._times.setdefault(kind, []).append((sent, took))

    def since(self, moment: int) -> dict[RequestKind, list[int]]:
        """How long those took that were sent after a moment, by their kinds."""
        found = {kind: [took for sent, took in times if sent >= moment] for kind, times in self._times.items()}
        return {kind: times for kind, times in sorted(found.items()) if times}


class RecordedCluster:
    """A cluster whose requests are timed."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.requests = Requests()

    @property
    def info(self) -> ClusterInfo:
        return self._cluster.info

    def now(self) -> int:
        return self._cluster.now()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._cluster.run(work)

    async def sleep(self, microseconds: int) -> None:
        await self._cluster.sleep(microseconds)

    async def together(self, work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
        return await self._cluster.together(work)

    async def resolve(self, api_version: str, kind: str) -> Kind | None:
        return await self._cluster.resolve(api_version, kind)

    async def create(self, kind: Kind, obj: Object) -> Object:
        return await self._timed(kind, "POST", "resource", self._cluster.create(kind, obj))

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        return await self._timed(kind, "GET", "resource", self._cluster.get(kind, namespace, name))

    async def list(self, kind: Kind, namespace: str = "", labels: str = "") -> list[Object]:
        scope = "namespace" if namespace else "cluster"
        return await self._timed(kind, "LIST", scope, self._cluster.list(kind, namespace, labels))

    async def patch(self, kind: Kind, namespace: str, name: str, patch: Object) -> Object:
        return await self._timed(kind, "PATCH", "resource", self._cluster.patch(kind, namespace, name, patch))

    async def delete(self, kind: Kind, namespace: str, name: str) -> None:
        await self._timed(kind, "DELETE", "resource", self._cluster.delete(kind, namespace, name))

    async def delete_all(self, kind: Kind, namespace: str, labels: str) -> None:
        scope = "namespace" if namespace else "cluster"
        await self._timed(kind, "DELETE", scope, self._cluster.delete_all(kind, namespace, labels))

    async def saturation(self) -> Sequence[Saturated] | None:
        return await self._cluster.saturation()

    def watch(self, kind: Kind, namespace: str, labels: str, seen: Seen) -> Callable[[], None]:
        return self._cluster.watch(kind, namespace, labels, seen)

    def close(self) -> None:
        self._cluster.close()

    async def _timed(self, kind: Kind, verb: str, scope: str, request: Coroutine[Any, Any, T]) -> T:
        sent = self._cluster.now()
        try:
            return await request
        finally:
            self.requests.add(RequestKind(kind.plural, verb, scope), sent, self._cluster.now() - sent)
