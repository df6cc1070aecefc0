"""The kinds that Kubernetes itself defines, from a data file of facts about its API.

The file says of every *type* which fields it has, how lists merge and how protobuf numbers it, and of every *resource*
under which names and verbs it is served. A type is made into a `Type` when it is first named, and reads its fields when
they are first asked for: a process that never sees a FlowSchema never builds one. All of it is shared and never
changes, so every cluster of a process has the same types.

*Facts* are the file's own form of a type, for those who need what `Type` does not keep (OpenAPI does).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, cast

import orjson

from ghostfleet.api.kinds import Registry, Resource, Version
from ghostfleet.core.schema import Sort, Type

__all__ = [
    "MAJOR",
    "MINOR",
    "SHARED_STORAGE",
    "VERSION",
    "kind_type",
    "kind_type_name",
    "load_registry",
    "returns_deleted",
    "type_facts",
    "type_named",
    "type_names",
]

VERSION = "v1.36.3"
MAJOR, MINOR = VERSION.removeprefix("v").split(".")[:2]

#: Resources that are only another view of the objects of a resource elsewhere, by key.
SHARED_STORAGE: Mapping[str, str] = {"events.events.k8s.io": "events"}

#: Kinds that every group understands, whatever group and version they are labelled with.
_EVERYWHERE = frozenset(
    {"CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions", "WatchEvent"}
)
_FORMATS = {"time": "date-time", "microtime": "date-time", "intorstring": "int-or-string"}

#: Since when versions of resource.k8s.io are deprecated, and when they go.
_DEPRECATED_DEVICES = {"v1beta1": "v1.35+, unavailable in v1.38+", "v1beta2": "v1.36+, unavailable in v1.39+"}

_Facts = Mapping[str, Any]


def load_registry() -> Registry:
    """A new registry of all built-in resources."""
    return Registry(_resources())


@cache
def type_named(name: str) -> Type:
    """The built-in type of this full name; KeyError if there is none."""
    return _LazyType(name, _data()["types"][name])


def kind_type(group: str, version: str, kind: str) -> Type | None:
    """The built-in type of a kind, a resource's or one that only requests use (DeleteOptions, Scale, Eviction)."""
    name = kind_type_name(group, version, kind)
    return None if name is None else type_named(name)


def kind_type_name(group: str, version: str, kind: str) -> str | None:
    """The full name of a kind's built-in type."""
    if kind in _EVERYWHERE:
        group, version = "", "v1"
    return _names_by_kind().get((group, version, kind))


def returns_deleted(key: str) -> bool:
    """Whether deleting an object of this resource answers the object that is gone rather than a Status."""
    return key in _returned()


def type_facts(name: str) -> _Facts:
    """What the data file says of a type; KeyError if there is none of this name."""
    return cast(_Facts, _data()["types"][name])


def type_names() -> list[str]:
    """Full names of all built-in types, sorted."""
    return sorted(_data()["types"])


@cache
def _data() -> dict[str, Any]:
    content = resources.files("ghostfleet.api").joinpath("data", "kubernetes.json").read_bytes()
    return cast(dict[str, Any], orjson.loads(content))


@cache
def _names_by_kind() -> dict[tuple[str, str, str], str]:
    return {
        (group, version, kind): name
        for name, facts in _data()["types"].items()
        for group, version, kind in facts.get("kinds", ())
    }


@cache
def _resources() -> tuple[Resource, ...]:
    return tuple(_resource(facts) for facts in _data()["resources"])


@cache
def _returned() -> frozenset[str]:
    known = zip(_resources(), _data()["resources"], strict=True)
    return frozenset(resource.key for resource, facts in known if facts.get("returnsDeleted"))


def _deprecation(group: str, version: str, kind: str) -> str:
    """What clients of a version are warned of; "" where it is there to stay."""
    if (group, kind) == ("", "Endpoints"):
        return "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    if group == "resource.k8s.io" and version in _DEPRECATED_DEVICES and kind != "DeviceTaintRule":
        return f"{group}/{version} {kind} is deprecated in {_DEPRECATED_DEVICES[version]}"
    return ""


def _resource(facts: _Facts) -> Resource:
    group, kind, verbs = facts["group"], facts["kind"], tuple(facts["verbs"])
    parts = facts.get("subresources", {})
    return Resource(
        group=group,
        plural=facts["plural"],
        singular=facts["singular"],
        kind=kind,
        namespaced=facts["namespaced"],
        storage_version=facts["versions"][0],
        versions={
            name: Version(name, _kind_type(group, name, kind), deprecated=_deprecation(group, name, kind))
            for name in facts["versions"]
        },
        verbs=verbs,
        short_names=tuple(facts.get("shortNames", ())),
        categories=tuple(facts.get("categories", ())),
        list_kind=f"{kind}List" if "list" in verbs else "",
        subresources={name: (*shown, tuple(allowed)) for name, (*shown, allowed) in parts.items()},
    )


def _kind_type(group: str, version: str, kind: str) -> Type:
    return type_named(_names_by_kind()[group, version, kind])


class _LazyType(Type):
    """A named type that reads its facts when anything but its name and sort is asked for."""

    __slots__ = ("_facts",)

    def __init__(self, name: str, facts: _Facts) -> None:
        # The other slots stay empty, so that reading one of them lands in __getattr__, once.
        self.name = name
        self.sort = facts.get("sort", "object")
        self._facts = facts

    def __getattr__(self, slot: str) -> Any:
        if slot not in Type.__slots__:
            raise AttributeError(slot)
        super().__init__(self.sort, self.name)
        _fill(self, self._facts)
        return getattr(self, slot)


def _fill(target: Type, facts: _Facts) -> None:
    fields = facts.get("fields", {})
    strategies = {name: fact["strategy"] for name, fact in fields.items() if "strategy" in fact}
    target.fields = {name: _type_of(fact) for name, fact in fields.items()}
    target.required = tuple(facts.get("required", ()))
    target.defaults = {name: fact["default"] for name, fact in fields.items() if "default" in fact}
    target.numbers = {name: fact["number"] for name, fact in fields.items() if "number" in fact}
    target.inlines = {int(number): type_named(name) for number, name in facts.get("inlines", {}).items()}
    target.omits = frozenset(name for name, fact in fields.items() if "omitempty" in fact)
    target.retain_keys = frozenset(name for name, strategy in strategies.items() if "retainKeys" in strategy)
    target.replaces = frozenset(name for name, strategy in strategies.items() if strategy == "replace")
    target.atomic = facts.get("mapType") == "atomic"
    target.format = _FORMATS.get(target.sort, "")


def _type_of(fact: _Facts) -> Type:
    if "ref" in fact:
        return _referred(fact["ref"], fact.get("mapType"))
    if "list" in fact:
        return _list(fact)
    if "map" in fact:
        return _map(fact)
    return _scalar(fact["sort"], fact.get("format", ""), tuple(fact.get("enum", ())))


@cache
def _referred(name: str, map_type: str | None) -> Type:
    """A named type, as a field sees it that says for itself whether server-side apply may look inside."""
    facts = type_facts(name)
    if map_type is None or (map_type == "atomic") == (facts.get("mapType") == "atomic"):
        return type_named(name)
    return _LazyType(name, {**facts, "mapType": map_type})


def _list(fact: _Facts) -> Type:
    made = Type("list")
    made.items = _type_of(fact["list"])
    made.wrapped = "wrapped" in fact
    made.merges = "merge" in fact.get("strategy", "").split(",")
    made.merge_key = fact.get("mergeKey")
    made.topology = fact.get("listType", "atomic")
    made.map_keys = tuple(fact.get("keys", ()))
    if "listType" not in fact and made.merges:
        # Lists older than server-side apply state only how to patch them, and are merged the same way.
        made.topology = "set" if made.merge_key is None else "map"
        made.map_keys = () if made.merge_key is None else (made.merge_key,)
    return made


def _map(fact: _Facts) -> Type:
    made = Type("map")
    made.items = _type_of(fact["map"])
    made.atomic = fact.get("mapType") == "atomic"
    return made


@cache
def _scalar(sort: Sort, form: str, enum: tuple[str, ...]) -> Type:
    made = Type(sort)
    made.format = form
    made.enum = enum
    return made
