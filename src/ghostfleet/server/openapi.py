"""The OpenAPI documents of a cluster: one for v2, and for v3 one per group version with an index.

Documents are made when they are asked for and kept as long as what they describe stays the same. A v3 document's *hash*
stands in the index, so that clients may cache it for good: it is taken over what the document is made from, not over
the document, so the index costs no document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import orjson

from ghostfleet.api.builtin import MAJOR, MINOR, VERSION
from ghostfleet.api.kinds import Registry, Resource, Version
from ghostfleet.server.openapi_docs import docs_version
from ghostfleet.server.openapi_paths import group_path, operations, path_item
from ghostfleet.server.openapi_schemas import (
    Dialect,
    builtin_schema,
    custom_list_schema,
    custom_schema,
    list_schema_name,
    references,
    schema_name,
)

__all__ = ["OpenApi"]

_V2 = Dialect("#/definitions/", full=False)
_V3 = Dialect("#/components/schemas/", full=True)
_TOKEN = {"description": "Bearer Token authentication", "type": "apiKey", "name": "authorization", "in": "header"}
_WATCH_EVENT = "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent"

_Served = list[tuple[Resource, Version]]


class OpenApi:
    """Documents about everything a registry serves."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = -1
        self._served: dict[tuple[str, str], _Served] = {}
        self._hashes: dict[str, str] = {}
        self._documents: dict[str, tuple[str, bytes]] = {}
        self._v2: dict[str, Any] | None = None

    def v3_index(self) -> dict[str, Any]:
        """Where the document of each group version is found."""
        self._refresh()
        return {
            "paths": {
                path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
                for path, digest in sorted(self._hashes.items())
            }
        }

    def v3_document(self, group_version: str) -> bytes | None:
        """The document of a group version such as `api/v1` or `apis/batch/v1`, in JSON; None if it is not served."""
        self._refresh()
        digest = self._hashes.get(group_version)
        if digest is None:
            return None
        known = self._documents.get(group_version)
        if known is None or known[0] != digest:
            known = self._documents[group_version] = digest, self._make_v3(group_version)
        return known[1]

    def v2_document(self) -> dict[str, Any]:
        """The one swagger document of all group versions; not to be changed by who gets it."""
        self._refresh()
        if self._v2 is None:
            self._v2 = self._make_v2()
        return self._v2

    def _refresh(self) -> None:
        if self._generation == self._registry.generation:
            return
        self._generation = self._registry.generation
        self._v2 = None
        self._served = {}
        for resource in self._registry:
            for version in resource.versions.values():
                if version.served:
                    self._served.setdefault((resource.group, version.name), []).append((resource, version))
        self._hashes = {group_path(*key)[1:]: _digest(key, served) for key, served in self._served.items()}
        self._documents = {path: known for path, known in self._documents.items() if path in self._hashes}

    def _make_v3(self, group_version: str) -> bytes:
        key = next(key for key in self._served if group_path(*key)[1:] == group_version)
        served = self._served[key]
        paths = {path: path_item(path, found, _V3) for path, found in operations(*key, served)}
        roots = {*references(paths), *_watched(served)}
        document = {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": "unversioned"},
            "paths": paths,
            "components": {
                "schemas": _closure(roots, _custom_schemas(served, _V3), lambda name: builtin_schema(name, _V3, [key])),
                "securitySchemes": {"BearerToken": _TOKEN},
            },
        }
        return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)

    def _make_v2(self) -> dict[str, Any]:
        paths = {
            path: path_item(path, found, _V2)
            for key, served in sorted(self._served.items())
            for path, found in operations(*key, served)
        }
        everything = [each for _, served in sorted(self._served.items()) for each in served]
        roots = {*references(paths), *_watched(everything)}
        return {
            "swagger": "2.0",
            "info": {"title": "Kubernetes", "version": f"v{MAJOR}.{MINOR}"},
            "paths": paths,
            "definitions": _closure(
                roots, _custom_schemas(everything, _V2), lambda name: builtin_schema(name, _V2, self._served)
            ),
            "securityDefinitions": {"BearerToken": _TOKEN},
            "security": [{"BearerToken": []}],
        }


def _watched(served: _Served) -> list[str]:
    return [_WATCH_EVENT] if any("watch" in resource.verbs for resource, _ in served) else []


def _custom_schemas(served: _Served, dialect: Dialect) -> dict[str, Any]:
    schemas = {}
    for resource, version in served:
        if resource.custom:
            schemas[schema_name(resource, version.name)] = custom_schema(resource, version, dialect)
            schemas[list_schema_name(resource, version.name)] = custom_list_schema(resource, version, dialect)
    return schemas


def _closure(roots: Iterable[str], custom: dict[str, Any], builtin: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """The schemas of these names and of all that they refer to, sorted by name."""
    schemas: dict[str, Any] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in schemas:
            schemas[name] = custom[name] if name in custom else builtin(name)
            waiting.extend(references(schemas[name]))
    return dict(sorted(schemas.items()))


def _digest(key: tuple[str, str], served: _Served) -> str:
    parts: list[Any] = [VERSION, docs_version(), *key]
    for resource, version in served:
        names = [resource.plural, resource.kind, resource.list_kind, resource.namespaced, resource.verbs]
        parts.append([*names, resource.custom, resource.subresources, version.schema.raw if resource.custom else None])
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest().upper()
