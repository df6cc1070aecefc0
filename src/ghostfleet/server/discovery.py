"""Discovery: what the server tells clients about its groups, versions and resources.

There are two ways to ask. The *plain* one has a document for the list of groups, for each group and for each version
of a group; the *aggregated* one has everything in the two documents `/api` and `/apis`, which a client gets when its
Accept header names `APIGroupDiscoveryList`. All of it is derived from the registry and kept until that changes. An
*ETag* is a digest by which a client can ask whether its copy is still good.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import orjson

from ghostfleet.api.builtin import SHARED_STORAGE
from ghostfleet.api.kinds import Registry, Resource
from ghostfleet.server.groups import ApiGroup, group_resources
from ghostfleet.server.negotiation import JSON, clauses

__all__ = ["Discovery", "aggregated_version"]

Document = dict[str, Any]

_AGGREGATED = "APIGroupDiscoveryList"
_AGGREGATED_GROUP = "apidiscovery.k8s.io"


@lru_cache(maxsize=64)
def aggregated_version(accept: str) -> str:
    """The version of aggregated discovery that a client wants most; "" when it wants the plain documents."""
    for clause in clauses(accept):
        if not clause.allows(JSON):
            continue
        asked = clause.parameters
        if not asked.keys() & {"as", "g", "v"}:
            return ""
        version = asked.get("v", "")
        if asked.get("as") == _AGGREGATED and asked.get("g") == _AGGREGATED_GROUP and version in ("v2", "v2beta1"):
            return version
    return ""


class Discovery:
    """Documents about the resources of a registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = -1
        self._groups: dict[str, ApiGroup] = {}
        self._documents: dict[str, Document | None] = {}
        self._aggregated: dict[str, tuple[bytes, str]] = {}

    @property
    def groups(self) -> dict[str, ApiGroup]:
        """All groups by name, the preferred ones first."""
        if self._generation != self._registry.generation:
            self._generation = self._registry.generation
            self._groups = group_resources(self._registry)
            self._documents.clear()
            self._aggregated.clear()
        return self._groups

    def core(self, server: str) -> Document:
        """`/api`: the versions of the core group; `server` is the address the client used."""
        return {
            "kind": "APIVersions",
            "versions": list(self.groups[""].versions) if "" in self.groups else [],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server}],
        }

    def all_groups(self) -> Document:
        """`/apis`."""
        return self._kept("/apis", self._group_list) or {}

    def group(self, name: str) -> Document | None:
        """`/apis/<group>`; None when there is no such group."""
        return self._kept(f"/apis/{name}", lambda: self._group(name))

    def resources(self, group: str, version: str) -> Document | None:
        """`/apis/<group>/<version>`; None when that is not served."""
        return self._kept(f"/apis/{group}/{version}", lambda: self._resource_list(group, version))

    def paths(self) -> list[str]:
        """Every path of a group or version."""
        found = ["/api", "/api/v1", "/apis", "/apis/"]
        for name, group in self.groups.items():
            if name:
                found.append(f"/apis/{name}")
                found.extend(f"/apis/{name}/{version}" for version in group.versions)
        return found

    def aggregated(self, version: str, *, core: bool) -> tuple[bytes, str]:
        """Everything about the core group, or about all others: the document and its ETag."""
        groups = self.groups
        key = f"{version} {core}"
        kept = self._aggregated.get(key)
        if kept is None:
            items = [_discovered(group) for group in groups.values() if (group.name == "") is core]
            header = {"kind": _AGGREGATED, "apiVersion": f"{_AGGREGATED_GROUP}/{version}", "metadata": {}}
            body = orjson.dumps({**header, "items": items}, option=orjson.OPT_APPEND_NEWLINE)
            etag = hashlib.sha512(body, usedforsecurity=False).hexdigest().upper()
            kept = self._aggregated[key] = body, f'"{etag}"'
        return kept

    def _kept(self, path: str, make: Callable[[], Document | None]) -> Document | None:
        groups = self.groups  # forgets what is stale
        if path not in self._documents:
            # A path that names nothing is not worth remembering: clients could invent them without end.
            document = make() if groups else None
            if document is None:
                return None
            self._documents[path] = document
        return self._documents[path]

    def _group_list(self) -> Document:
        listed = [_versions_of(group) for group in self.groups.values() if group.name]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}

    def _group(self, name: str) -> Document | None:
        group = self.groups.get(name)
        return {"kind": "APIGroup", "apiVersion": "v1", **_versions_of(group)} if group is not None else None

    def _resource_list(self, name: str, version: str) -> Document | None:
        group = self.groups.get(name)
        if group is None or version not in group.versions:
            return None
        listed = [entry for resource in group.versions[version] for entry in _entries(resource, version)]
        header = {"kind": "APIResourceList"} if not name else {"kind": "APIResourceList", "apiVersion": "v1"}
        return {**header, "groupVersion": f"{name}/{version}" if name else version, "resources": listed}


def _versions_of(group: ApiGroup) -> Document:
    versions = [{"groupVersion": f"{group.name}/{version}", "version": version} for version in group.versions]
    return {"name": group.name, "versions": versions, "preferredVersion": versions[0]}


def _entries(resource: Resource, version: str) -> Iterable[Document]:
    """A resource and its subresources in an APIResourceList."""
    entry: Document = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    entry |= _names(resource)
    if "watch" in resource.verbs:
        entry["storageVersionHash"] = _storage_hash(resource)
    yield entry
    for name, (group, group_version, kind, verbs) in _parts(resource, version):
        part: Document = {"name": f"{resource.plural}/{name}", "singularName": "", "namespaced": resource.namespaced}
        if (group, group_version) != (resource.group, version):
            part |= {"group": group, "version": group_version}
        yield {**part, "kind": kind, "verbs": list(verbs)}


def _names(resource: Resource) -> Document:
    names: Document = {}
    if resource.short_names:
        names["shortNames"] = list(resource.short_names)
    if resource.categories:
        names["categories"] = list(resource.categories)
    return names


def _parts(resource: Resource, version: str) -> list[tuple[str, tuple[str, str, str, tuple[str, ...]]]]:
    """Subresources by name; one that shows the object itself shows it in the version that is asked for."""
    # Kubernetes lists built-in ones by name, and of custom resources the status before the scale.
    found = []
    for name in sorted(resource.subresources, reverse=resource.custom):
        group, group_version, kind, verbs = resource.subresources[name]
        if kind == resource.kind and group == resource.group:
            group_version = version
        found.append((name, (group, group_version, kind, verbs)))
    return found


def _discovered(group: ApiGroup) -> Document:
    versions = [
        {
            "version": version,
            "resources": [_discovered_resource(resource, version) for resource in resources],
            "freshness": "Current",
        }
        for version, resources in group.versions.items()
    ]
    return {"metadata": {"name": group.name} if group.name else {}, "versions": versions}


def _discovered_resource(resource: Resource, version: str) -> Document:
    found: Document = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource, version, resource.group, version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    found |= _names(resource)
    parts = [
        {
            "subresource": name,
            "responseKind": _response_kind(resource, version, group, group_version, kind),
            "verbs": list(verbs),
        }
        for name, (group, group_version, kind, verbs) in _parts(resource, version)
    ]
    if parts:
        found["subresources"] = parts
    return found


def _response_kind(resource: Resource, version: str, group: str, group_version: str, kind: str) -> Document:
    """Built-in kinds leave group and version empty where they are those of the list they stand in."""
    if not resource.custom and (group, group_version) == (resource.group, version):
        group = group_version = ""
    return {"group": group, "version": group_version, "kind": kind}


def _storage_hash(resource: Resource) -> str:
    """A short digest of what a resource is stored as."""
    group = "" if resource.key in SHARED_STORAGE else resource.group
    text = f"{group}/{resource.storage_version}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()
