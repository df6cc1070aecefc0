"""Documents: what the server serves besides resources: discovery, OpenAPI, and the list of its own paths.

Large documents carry an *ETag*, and a client that has the current one gets 304 and no body. The documents of OpenAPI
v3 are found through an index that names each with a hash of its content; a request with an old hash is sent on to the
current one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import orjson

from ghostfleet.api.kinds import Registry
from ghostfleet.core.errors import not_acceptable
from ghostfleet.server import gnostic
from ghostfleet.server.discovery import Discovery, aggregated_version
from ghostfleet.server.health import PATHS
from ghostfleet.server.negotiation import JSON, MediaType, check_route, clauses, negotiate_plain
from ghostfleet.server.openapi import OpenApi
from ghostfleet.server.requests import Request
from ghostfleet.server.responses import Answer, object_answer, page_not_found

__all__ = ["Documents"]

_GNOSTIC = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_GNOSTIC_NAMES = (_GNOSTIC, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
_OTHER_PATHS = ["/metrics", "/openapi/v2", "/openapi/v3", "/version"]


class Documents:
    """All documents about a registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.discovery = Discovery(registry)
        self._openapi = OpenApi(registry)
        self._v2: dict[str, tuple[int, bytes, str]] = {}

    def answer(self, request: Request, parts: list[str]) -> Answer | None:
        """The document at a path's parts; None when no document has such a path."""
        match parts:
            case []:
                return self._root()
            case ["api"]:
                return self._aggregated(request, core=True) or object_answer(
                    200, self.discovery.core(request.host), negotiate_plain(request.accept)
                )
            case ["apis"]:
                return self._aggregated(request, core=False) or object_answer(
                    200, self.discovery.all_groups(), negotiate_plain(request.accept)
                )
            case ["api", version]:
                return self._resources(request, "", version)
            case ["apis", group]:
                return self._found(request, self.discovery.group(group))
            case ["apis", group, version]:
                return self._resources(request, group, version)
            case ["openapi", "v2"]:
                return self._openapi_v2(request)
            case ["openapi", "v3"]:
                return object_answer(200, self._openapi.v3_index())
            case ["openapi", "v3", *group_version]:
                return self._openapi_v3(request, "/".join(group_version))
        return None

    def _root(self) -> Answer:
        return object_answer(
            200,
            {"paths": sorted({*self.discovery.paths(), *PATHS, *_OTHER_PATHS})},
            MediaType(pretty=True),
        )

    def _found(self, request: Request, document: dict[str, object] | None) -> Answer | None:
        return object_answer(200, document, negotiate_plain(request.accept)) if document is not None else None

    def _resources(self, request: Request, group: str, version: str) -> Answer | None:
        known = self.discovery.groups.get(group)
        if known is not None and not known.custom:
            check_route(request.accept)
        return self._found(request, self.discovery.resources(group, version))

    def _aggregated(self, request: Request, *, core: bool) -> Answer | None:
        version = aggregated_version(request.accept)
        if not version:
            return None
        body, etag = self.discovery.aggregated(version, core=core)
        media = f"{JSON};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
        return _tagged(request, body, media, etag, b"public")

    def _openapi_v2(self, request: Request) -> Answer:
        for clause in clauses(request.accept) or clauses(JSON):
            if f"{clause.type}/{clause.subtype}" in _GNOSTIC_NAMES:
                return self._v2_answer(request, _GNOSTIC, lambda: gnostic.encode(self._openapi.v2_document()))
            if clause.allows(JSON):
                return self._v2_answer(request, JSON, lambda: orjson.dumps(self._openapi.v2_document()))
        raise not_acceptable([JSON, _GNOSTIC])

    def _v2_answer(self, request: Request, media: str, make: Callable[[], bytes]) -> Answer:
        kept = self._v2.get(media)
        if kept is None or kept[0] != self._registry.generation:
            body = make()
            kept = self._v2[media] = self._registry.generation, body, _etag(body)
        return _tagged(request, kept[1], media, kept[2], b"no-cache, private")

    def _openapi_v3(self, request: Request, group_version: str) -> Answer:
        body = self._openapi.v3_document(group_version)
        if body is None:
            return page_not_found()
        if not any(clause.allows(JSON) for clause in clauses(request.accept or JSON)):
            raise not_acceptable([JSON])
        url: str = self._openapi.v3_index()["paths"][group_version]["serverRelativeURL"]
        current, asked = url.rpartition("hash=")[2], request.parameter("hash")
        if asked and asked != current:
            return Answer(301, b"", JSON, [(b"location", url.encode()), (b"vary", b"Accept")])
        return _tagged(request, body, JSON, f'"{current}"', b"public, immutable" if asked else b"no-cache, private")


def _etag(body: bytes) -> str:
    return f'"{hashlib.sha512(body, usedforsecurity=False).hexdigest().upper()}"'


def _tagged(request: Request, body: bytes, media: str, etag: str, caching: bytes) -> Answer:
    headers = [(b"etag", etag.encode()), (b"vary", b"Accept"), (b"cache-control", caching)]
    if request.if_none_match == etag:
        return Answer(304, b"", media, headers)
    return Answer(200, body, media, headers)
