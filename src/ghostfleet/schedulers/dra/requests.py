"""What a claim asks for: its requests, read once for all claims of the same spec.

A request names a class of devices and how many of them: an exact count, or all. It may instead list *subrequests* to
be tried one after the other; then each of these has the request as its *parent*. Claims of a template have the same
spec, so that what is read from it is kept by its text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson

__all__ = ["EXACT_COUNT", "ClaimSpec", "PodClaims", "Request"]

Object = Mapping[str, Any]

ALL, EXACT_COUNT = "All", "ExactCount"


class Request:
    """A request of devices of one class, or a subrequest."""

    __slots__ = ("admin", "asks_admin", "capacity", "class_name", "count", "full_name", "mode", "name", "parent",
                 "selectors", "tolerations")  # fmt: skip

    def __init__(self, request: Object, name: str, parent: str = "") -> None:
        self.name = name
        self.parent = parent
        #: how results, constraints and configuration refer to it
        self.full_name = f"{parent}/{name}" if parent else name
        self.class_name: str = request.get("deviceClassName") or ""
        self.mode: str = request.get("allocationMode") or ""
        self.count: int = request.get("count") or 0
        #: subrequests never have it
        admin = None if parent else request.get("adminAccess")
        self.asks_admin = admin is not None
        self.admin = bool(admin)
        self.selectors: list[Object] = request.get("selectors") or []
        self.tolerations: list[Object] = request.get("tolerations") or []
        self.capacity: dict[str, Any] | None = request.get("capacity")

    @property
    def all(self) -> bool:
        return self.mode == ALL

    @property
    def group(self) -> str:
        """The request that devices count for in constraints."""
        return self.parent or self.name


class ClaimSpec:
    """The requests, constraints and configuration of a claim."""

    __slots__ = ("config", "constraints", "requests")

    def __init__(self, devices: Object) -> None:
        #: each request as the alternatives it has, just one unless it lists subrequests
        self.requests = [_alternatives(request) for request in devices.get("requests") or ()]
        self.constraints: list[Object] = devices.get("constraints") or []
        self.config: list[Object] = devices.get("config") or []


def _alternatives(request: Object) -> tuple[Request, ...]:
    name = request["name"]
    if listed := request.get("firstAvailable"):
        return tuple(Request(each, each["name"], name) for each in listed)
    return (Request(request.get("exactly") or {}, name),)


class PodClaims:
    """The claims of a pod that are to be allocated together."""

    __slots__ = ("key", "names", "specs")

    def __init__(self, claims: Sequence[Object]) -> None:
        self.names = [_full_name(claim["metadata"]) for claim in claims]
        #: the same for pods that ask for the same
        self.key = tuple(orjson.dumps(claim["spec"].get("devices"), option=orjson.OPT_SORT_KEYS) for claim in claims)
        self.specs = [_spec(each) for each in self.key]


def _full_name(metadata: Object) -> str:
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])


@lru_cache(maxsize=4096)
def _spec(devices: bytes) -> ClaimSpec:
    return ClaimSpec(orjson.loads(devices) or {})
