"""Objects: how a test creates, patches and deletes what its templates make.

Names are `<basename>-<index>` and replace whatever name a template has. What is there already counts as created, what
is gone as deleted. A request that the server turns away for now is sent again, six times at most.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from ghostfleet.clusterloader.templates import ObjectKind
from ghostfleet.core.changes import Object
from ghostfleet.drive.interface import Cluster, Kind, Refused

__all__ = ["ObjectClient", "ObjectError"]

T = TypeVar("T")
_CONFLICT, _NOT_FOUND = 409, 404
#: Published: framework/client/objects.go of ClusterLoader2.
_TRIES = 6
_FIRST_PAUSE = 100_000
_PAUSE_FACTOR = 3
#: Versions in which objects look the same, so that one does for the other where only that is served: since Kubernetes
#: 1.34 beta versions of DRA are off by default.
_SAME = {"resource.k8s.io/v1beta2": ("resource.k8s.io/v1",), "resource.k8s.io/v1": ("resource.k8s.io/v1beta2",)}
_FOR_NOW = frozenset((429, 500, 502, 503, 504))


class ObjectError(Exception):
    """An object that could not be dealt with; the message says which one and why."""


class ObjectClient:
    """Writes objects of any kind to a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._kinds: dict[ObjectKind, Kind] = {}
        #: Objects by what was done to them.
        self.counts = {"created": 0, "patched": 0, "deleted": 0}

    async def create(self, namespace: str, name: str, obj: Object) -> None:
        """Create an object under a name of ours."""
        kind = await self.kind_of(_kind(obj))
        try:
            await self._persistent(lambda: self._cluster.create(kind, _named(obj, kind, namespace, name)))
        except Refused as refusal:
            if refusal.code != _CONFLICT or refusal.reason != "AlreadyExists":
                raise
        self.counts["created"] += 1

    async def patch(self, namespace: str, name: str, obj: Object) -> None:
        kind = await self.kind_of(_kind(obj))
        named = _named(obj, kind, namespace, name)
        await self._persistent(lambda: self._cluster.patch(kind, namespace if kind.namespaced else "", name, named))
        self.counts["patched"] += 1

    async def delete(self, object_kind: ObjectKind, namespace: str, name: str) -> None:
        kind = await self.kind_of(object_kind)
        try:
            await self._persistent(lambda: self._cluster.delete(kind, namespace if kind.namespaced else "", name))
        except Refused as refusal:
            if refusal.code != _NOT_FOUND:
                raise
        self.counts["deleted"] += 1

    async def kind_of(self, object_kind: ObjectKind) -> Kind:
        """Where objects of a kind are found; an ObjectError if the cluster does not serve them."""
        found = self._kinds.get(object_kind)
        if found is None:
            for version in (object_kind.api_version, *_SAME.get(object_kind.api_version, ())):
                found = found or await self._cluster.resolve(version, object_kind.kind)
            if found is None:
                raise ObjectError(f"the cluster does not serve {object_kind.kind} ({object_kind.api_version})")
            self._kinds[object_kind] = found
        return found

    async def _persistent(self, request: Callable[[], Coroutine[Any, Any, T]]) -> T:
        pause = _FIRST_PAUSE
        for _ in range(_TRIES - 1):
            try:
                return await request()
            except Refused as refusal:
                if refusal.code not in _FOR_NOW:
                    raise
            await self._cluster.sleep(pause)
            pause *= _PAUSE_FACTOR
        return await request()


def _kind(obj: Object) -> ObjectKind:
    if not isinstance(obj, dict) or not isinstance(obj.get("kind"), str) or not isinstance(obj.get("apiVersion"), str):
        raise ObjectError("expected an object with apiVersion and kind")
    return ObjectKind(obj["apiVersion"], obj["kind"])


def _named(obj: Object, kind: Kind, namespace: str, name: str) -> Object:
    metadata = obj.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise ObjectError("metadata: expected an object")
    own: Object = {key: value for key, value in (metadata or {}).items() if key != "generateName"}
    own["name"] = name
    if kind.namespaced and namespace:
        own["namespace"] = namespace
    return {**obj, "apiVersion": kind.api_version, "metadata": own}
