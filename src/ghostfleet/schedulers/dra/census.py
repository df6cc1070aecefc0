"""The census of devices: how many there are for each request of claims, and how many of them are left.

It tells why claims find no devices: none is of the class, none matches the request's own selectors, or those that do
are held by others, tainted, or used up together with what they share counters with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ghostfleet.api.devicetaints import tolerated
from ghostfleet.schedulers.dra.allocator import Allocator, ClassNotFound
from ghostfleet.schedulers.dra.counters import Counting
from ghostfleet.schedulers.dra.pools import Candidate
from ghostfleet.schedulers.dra.requests import PodClaims, Request

__all__ = ["RequestCensus", "census"]

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RequestCensus:
    """One request, or subrequest, of one claim."""

    claim: str
    request: str
    device_class: str
    #: How many it asks for; 0 for all there are.
    count: int
    #: All devices that nodes see, those of the class, those that match the request, and those of them that are free.
    devices: int
    in_class: int
    matching: int
    free: int
    #: The most that are free on one node, and that node; "" where none is.
    most: int
    node: str


def census(allocator: Allocator, nodes: Iterable[Object], claims: PodClaims) -> list[RequestCensus]:
    """Count devices for all requests; an AllocationError if something is wrong with a selector."""
    seen = {node["metadata"]["name"]: allocator.inventory.pools(node).candidates for node in nodes}
    return [
        _counted(allocator, seen, name, request)
        for name, spec in zip(claims.names, claims.specs, strict=True)
        for alternatives in spec.requests
        for request in alternatives
    ]


def _counted(allocator: Allocator, seen: Mapping[str, list[Candidate]], claim: str, request: Request) -> RequestCensus:
    try:
        device_class = allocator.device_class(request.class_name)
    except ClassNotFound:
        device_class = None
    everything = {device.id for candidates in seen.values() for device, _ in candidates}
    in_class, matching, free = set(), set(), set()
    most, best = 0, ""
    if device_class is not None:
        of_class = allocator.matcher(device_class, Request({"deviceClassName": request.class_name}, request.name))
        matcher = allocator.matcher(device_class, request)
        for node, candidates in seen.items():
            here = 0
            for device, pool in candidates:
                if not of_class.matches(device, claim):
                    continue
                in_class.add(device.id)
                if not matcher.matches(device, claim):
                    continue
                matching.add(device.id)
                if _is_free(allocator, request, (device, pool)):
                    free.add(device.id)
                    here += 1
            if here > most:
                most, best = here, node
    return RequestCensus(
        claim=claim,
        request=request.full_name,
        device_class=request.class_name,
        count=0 if request.all else request.count,
        devices=len(everything),
        in_class=len(in_class),
        matching=len(matching),
        free=len(free),
        most=most,
        node=best,
    )


def _is_free(allocator: Allocator, request: Request, candidate: Candidate) -> bool:
    device, pool = candidate
    if device.id in allocator.allocated.devices and not request.admin:
        return False
    if not tolerated(device.preventing, request.tolerations):
        return False
    return not device.consumes or Counting(allocator.allocated, allocator.features).take(device, pool)
