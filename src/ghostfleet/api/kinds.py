"""Kinds: which resources the cluster serves, and under which names.

A *resource* is a collection that can be listed (`jobs` in group `batch`); its *key* is what Kubernetes prints for it in
messages, `jobs.batch`, or just `pods` for the core group. A resource has one or several *versions*, each with its
schema; objects are stored in the *storage version* only. A *subresource* is a part or an action of an object (`status`,
`scale`, `binding`). The `Registry` knows all resources, built in and custom, and tells those who listen when one comes
or goes.

Most versions differ in name only. Events are the exception: `events.k8s.io` shows the objects of the core group's
events under other field names, and both are one collection in the store. A custom resource may be another name for one
of another group, as after a project has moved; they too are one collection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ghostfleet.api.deviceversions import from_v1, to_v1
from ghostfleet.core.changes import Object
from ghostfleet.core.schema import Type

__all__ = [
    "OLD_DEVICES",
    "Column",
    "Registry",
    "Resource",
    "ScalePaths",
    "Version",
    "from_storage",
    "storage_key",
    "to_storage",
]
#: core/v1 name -> events.k8s.io/v1 name
_EVENT_FIELDS = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_CORE_FIELDS = {new: old for old, new in _EVENT_FIELDS.items()}
#: The version in which claims and slices of devices are written in another way.
OLD_DEVICES = "resource.k8s.io/v1beta1"


@dataclass(frozen=True, slots=True)
class Column:
    """One printer column: of a custom resource by JSONPath."""

    name: str
    type: str
    json_path: str
    description: str = ""
    format: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where a custom resource keeps what its scale subresource shows (dotted JSONPaths such as `.spec.replicas`)."""

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a resource."""

    name: str
    schema: Type
    served: bool = True
    deprecated: str = ""
    columns: tuple[Column, ...] = ()
    #: custom resources: field paths that field selectors may use, besides metadata.name and metadata.namespace
    selectable_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resource:
    """One served resource."""

    group: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    storage_version: str
    versions: Mapping[str, Version]
    verbs: tuple[str, ...] = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    list_kind: str = ""
    #: name -> (group, version, kind of what is sent there, verbs)
    subresources: Mapping[str, tuple[str, str, str, tuple[str, ...]]] = field(default_factory=dict)
    #: defined by a CustomResourceDefinition
    custom: bool = False
    scale: ScalePaths | None = None
    #: another resource's key, where this one is only another name for it
    stored_as: str = ""
    #: there is another of the same name, which is meant where no group is given
    secondary: bool = False

    @property
    def key(self) -> str:
        """`jobs.batch`, `pods`: the store's name for it, and the one in error messages."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def api_version(self, version: str) -> str:
        return f"{self.group}/{version}" if self.group else version

    @property
    def storage(self) -> Version:
        return self.versions[self.storage_version]

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources


class Registry:
    """All resources of a cluster, by group and plural, and by kind."""

    def __init__(self, resources: Iterable[Resource] = ()) -> None:
        self._by_path: dict[tuple[str, str], Resource] = {}
        self._by_kind: dict[tuple[str, str], Resource] = {}
        self._by_key: dict[str, Resource] = {}
        self._listeners: list[Callable[[], None]] = []
        #: rises with every change; caches of discovery and OpenAPI compare it
        self.generation = 0
        for resource in resources:
            self.add(resource)

    def add(self, resource: Resource) -> None:
        """Serve this resource; one of the same group and plural is replaced."""
        old = self._by_path.get((resource.group, resource.plural))
        if old is not None:
            self._by_kind.pop((old.group, old.kind), None)
        self._by_path[resource.group, resource.plural] = resource
        self._by_kind[resource.group, resource.kind] = resource
        self._by_key[resource.key] = resource
        self._changed()

    def remove(self, resource: Resource) -> None:
        self._by_path.pop((resource.group, resource.plural), None)
        self._by_kind.pop((resource.group, resource.kind), None)
        self._by_key.pop(resource.key, None)
        self._changed()

    def on_change(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def _changed(self) -> None:
        self.generation += 1
        for listener in self._listeners:
            listener()

    def at(self, group: str, version: str, plural: str) -> tuple[Resource, Version] | None:
        """What is served at `/apis/<group>/<version>/<plural>`."""
        resource = self._by_path.get((group, plural))
        if resource is None:
            return None
        served = resource.versions.get(version)
        return (resource, served) if served is not None and served.served else None

    def of_kind(self, api_version: str, kind: str) -> tuple[Resource, Version] | None:
        """What an object with this apiVersion and kind is."""
        group, _, version = api_version.rpartition("/")
        resource = self._by_kind.get((group, kind))
        if resource is None:
            return None
        served = resource.versions.get(version)
        return (resource, served) if served is not None and served.served else None

    def by_group_kind(self, group: str, kind: str) -> Resource | None:
        return self._by_kind.get((group, kind))

    def by_key(self, key: str) -> Resource | None:
        return self._by_key.get(key)

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._by_path.values())

    def schema(self, api_version: str, kind: str) -> Type | None:
        found = self.of_kind(api_version, kind)
        return found[1].schema if found else None

    def kinds(self) -> list[str]:
        """Every `Kind.group/version`, sorted, for messages that list what exists."""
        return sorted(
            f"{resource.api_version(version.name)}, Kind={resource.kind}"
            for resource in self
            for version in resource.versions.values()
            if version.served
        )


def storage_key(resource: Resource) -> str:
    """The store's name for the collection behind a resource."""
    return "events" if _is_new_event(resource) else resource.stored_as or resource.key


def to_storage(resource: Resource, obj: Object) -> Object:
    """An object as it is stored, from any served version."""
    if _is_new_event(resource):
        return {_CORE_FIELDS.get(key, key): value for key, value in obj.items()} | {"apiVersion": "v1"}
    stored, given = resource.api_version(resource.storage_version), obj.get("apiVersion")
    if given == stored:
        return obj
    if given == OLD_DEVICES:
        obj = to_v1(resource.plural, obj)
    return {**obj, "apiVersion": stored}


def from_storage(resource: Resource, version: Version, obj: Object) -> Object:
    """An object as `version` shows it, from its stored form."""
    shown = resource.api_version(version.name)
    if _is_new_event(resource):
        return {_EVENT_FIELDS.get(key, key): value for key, value in obj.items()} | {"apiVersion": shown}
    if obj.get("apiVersion") == shown:
        return obj
    if shown == OLD_DEVICES:
        obj = from_v1(resource.plural, obj)
    return {**obj, "apiVersion": shown}


def _is_new_event(resource: Resource) -> bool:
    return resource.group == "events.k8s.io" and resource.plural == "events"
