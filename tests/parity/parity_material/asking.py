"""Asking: the requests that situations are made of, sent to the place of a case."""

from __future__ import annotations

from typing import Any

from parity_material.cases import PATCHES, Step
from parity_material.kinds import Place

__all__ = [
    "EXAMPLES",
    "PARTIAL",
    "PARTIAL_LIST",
    "TABLE",
    "WATCH",
    "Steps",
    "applied_part",
    "create",
    "deleted_now",
    "get",
    "listed",
    "numbered",
    "patch",
    "put",
]

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
WATCH = "watch=true&timeoutSeconds=1"
#: Kinds that stand for all where a situation is met before the kind is known.
EXAMPLES = ("pods", "nodes", "deployments.apps", "events", "widgets.parity.example.com")

Steps = list[Step]


def create(place: Place, obj: Any = None, query: str = "", number: str = "") -> Step:
    manager = "fieldManager=creator"
    target = f"{place.collection}?{manager}{'&' if query else ''}{query}"
    return Step("POST", target, place.numbered(number) if obj is None else obj)


def patch(place: Place, kind: str, body: Any, query: str = "", subresource: str = "") -> Step:
    at = f"{place.item}/{subresource}" if subresource else place.item
    query = query or "fieldManager=patcher"
    return Step("PATCH", f"{at}?{query}", body, PATCHES[kind])


def get(place: Place) -> Step:
    return Step("GET", place.item)


def listed(place: Place, query: str = "", accept: str = "application/json") -> Step:
    """The case's objects only; a cluster-wide collection holds those of others too."""
    target = f"{place.collection}?labelSelector=case%3D{place.own}{'&' if query else ''}{query}"
    return Step("GET", target, accept=accept)


def put(place: Place, body: Any, query: str = "", subresource: str = "") -> Step:
    at = f"{place.item}/{subresource}" if subresource else place.item
    return Step("PUT", f"{at}?fieldManager=putter{'&' if query else ''}{query}", body)


def deleted_now(place: Place) -> Step:
    return Step("DELETE", f"{place.item}?gracePeriodSeconds=0", {"propagationPolicy": "Background"})


def applied_part(place: Place, part: Any) -> Any:
    """An applied configuration of one part alone."""
    manifest = place.manifest
    named = {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "metadata": {"name": place.name}}
    return {**named, **part}


class Numbered(Place):
    """The same place, of another number."""

    number: str

    @property
    def name(self) -> str:
        return str(self.numbered(self.number)["metadata"]["name"])


def numbered(place: Place, number: str) -> Place:
    other = Numbered(place.kind, place.situation)
    object.__setattr__(other, "number", number)
    return other
