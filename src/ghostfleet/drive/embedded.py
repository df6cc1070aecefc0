"""A cluster in this process, driven without a socket: tools are played on its virtual clock.

Requests go through the same API as those over HTTP, with defaults, validation and admission. Each of them takes the
*latency* of the cluster's profile in cluster time, as one over a network would.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from ghostfleet.api.builtin import VERSION
from ghostfleet.api.conversion import storage_key
from ghostfleet.api.kinds import Resource, Version
from ghostfleet.api.options import DeleteOptions, ListOptions, WriteOptions
from ghostfleet.cluster.assembly import Cluster as Assembled
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import VirtualClock
from ghostfleet.core.errors import ApiError
from ghostfleet.core.profile import load_profile
from ghostfleet.core.saturation import Saturated
from ghostfleet.core.selectors import parse_label_selector
from ghostfleet.drive.interface import ClusterInfo, Kind, Refused, Seen
from ghostfleet.drive.playing import Joined, Sleep, play

__all__ = ["Embedded"]

T = TypeVar("T")
_DELETION = DeleteOptions(propagation="Background")


class Embedded:
    """An embedded cluster as tools see it."""

    def __init__(self, cluster: Assembled) -> None:
        if not isinstance(cluster.clock, VirtualClock):
            raise TypeError("a cluster is driven in process on a virtual clock only; serve it for any other")
        self.cluster = cluster
        self._clock = cluster.clock
        self._latency = load_profile(cluster.config.profile).duration("client.latency")
        self._places: dict[Kind, tuple[Resource, Version]] = {}
        config = cluster.config
        self.info = ClusterInfo(
            "embedded", "virtual", VERSION, True, config.profile, config.dispatcher, made=cluster.made
        )

    def now(self) -> int:
        return self._clock.now()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return play(self._clock, work)

    async def sleep(self, microseconds: int) -> None:
        await Sleep(self._clock, microseconds)

    async def together(self, work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
        return await Joined(self._clock, work)

    async def resolve(self, api_version: str, kind: str) -> Kind | None:
        found = self.cluster.registry.of_kind(api_version, kind)
        if found is None:
            return None
        resource, version = found
        return Kind(resource.group, version.name, resource.plural, resource.namespaced)

    async def create(self, kind: Kind, obj: Object) -> Object:
        return await self._ask(
            lambda place: self.cluster.api.create(*place, obj["metadata"].get("namespace", ""), obj, WriteOptions()),
            kind,
        )

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        return await self._ask(lambda place: self.cluster.api.get(*place, namespace, name), kind)

    async def list(self, kind: Kind, namespace: str = "", labels: str = "") -> list[Object]:
        options = ListOptions(label_selector=labels)
        page = await self._ask(lambda place: self.cluster.api.list(*place, namespace, options), kind)
        return page.items

    async def patch(self, kind: Kind, namespace: str, name: str, patch: Object) -> Object:
        return await self._ask(
            lambda place: self.cluster.api.patch(*place, namespace, name, "merge", patch, WriteOptions())[0], kind
        )

    async def delete(self, kind: Kind, namespace: str, name: str) -> None:
        await self._ask(lambda place: self.cluster.api.delete(*place, namespace, name, _DELETION), kind)

    async def delete_all(self, kind: Kind, namespace: str, labels: str) -> None:
        options = ListOptions(label_selector=labels)
        await self._ask(lambda place: self.cluster.api.delete_collection(*place, namespace, options, _DELETION), kind)

    async def saturation(self) -> Sequence[Saturated]:
        return self.cluster.meters.reading(self._clock.now())

    def watch(self, kind: Kind, namespace: str, labels: str, seen: Seen) -> Callable[[], None]:
        resource, version = self._place(kind)
        matches = parse_label_selector(labels).matches if labels else None

        def on_event(change: Change) -> None:
            obj = change.new or change.old or {}
            if namespace and change.namespace != namespace:
                return
            if matches is None or matches(obj["metadata"].get("labels") or {}):
                seen(self._clock.now(), change.type, obj)

        for obj in self.cluster.api.list(resource, version, namespace, ListOptions(label_selector=labels)).items:
            seen(self._clock.now(), "ADDED", obj)
        return self.cluster.store.listen(storage_key(resource), on_event)

    def close(self) -> None:
        """Nothing is open."""

    async def _ask(self, verb: Callable[[tuple[Resource, Version]], T], kind: Kind) -> T:
        if self._latency:
            await Sleep(self._clock, self._latency)
        try:
            return verb(self._place(kind))
        except ApiError as error:
            raise Refused(error.code, error.reason, error.message) from error

    def _place(self, kind: Kind) -> tuple[Resource, Version]:
        found = self._places.get(kind)
        if found is None:
            place = self.cluster.registry.at(kind.group, kind.version, kind.plural)
            if place is None:
                raise Refused(404, "NotFound", "the server could not find the requested resource")
            found = self._places[kind] = place
        return found
