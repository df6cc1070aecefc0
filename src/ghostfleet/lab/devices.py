"""Devices of a cluster and who holds them, from slices and claims.

A device is *held* by a claim, and by the pods that the claim is reserved for; *free*; *tainted*, so that only claims
that tolerate it get it; or *used up*, because what it shares with others (the counters of partitions) is held by these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ghostfleet.api.devicetaints import PREVENTING, with_rules
from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import parse

__all__ = ["DeviceUse", "device_uses"]

Identity = tuple[str, str, str]
#: Driver, pool, counter set, counter.
Counter = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """A device, and what becomes of it."""

    #: "" for a device of no particular node.
    node: str
    driver: str
    pool: str
    device: str
    state: str
    #: `namespace/name` of claims and of pods that use these.
    claims: tuple[str, ...]
    pods: tuple[str, ...]


def device_uses(slices: Iterable[Object], claims: Iterable[Object], rules: Sequence[Object] = ()) -> list[DeviceUse]:
    """All devices of the newest generation of each pool, by node, driver and pool; `rules` are DeviceTaintRules."""
    current = [with_rules(each, rules) for each in _current(list(slices))]
    held: dict[Identity, list[Object]] = {}
    for claim in claims:
        for result in (((claim.get("status") or {}).get("allocation") or {}).get("devices") or {}).get("results") or ():
            held.setdefault((result["driver"], result["pool"], result["device"]), []).append(claim)
    left = _left(current, held)
    found = [
        _use(each, device, held.get(_identity(each, device), []), left)
        for each in current
        for device in each["spec"].get("devices") or ()
    ]
    return sorted(found, key=lambda use: (_natural(use.node), use.driver, use.pool))


def _current(slices: list[Object]) -> list[Object]:
    newest: dict[tuple[str, str], int] = {}
    for each in slices:
        pool = (each["spec"]["driver"], each["spec"]["pool"]["name"])
        newest[pool] = max(newest.get(pool, 0), each["spec"]["pool"]["generation"])
    return [
        each
        for each in slices
        if newest[each["spec"]["driver"], each["spec"]["pool"]["name"]] == each["spec"]["pool"]["generation"]
    ]


def _identity(resource_slice: Object, device: Object) -> Identity:
    spec = resource_slice["spec"]
    return spec["driver"], spec["pool"]["name"], device["name"]


def _consumed(resource_slice: Object, device: Object) -> Iterator[tuple[Counter, int]]:
    spec = resource_slice["spec"]
    for each in device.get("consumesCounters") or ():
        for name, amount in each["counters"].items():
            yield (spec["driver"], spec["pool"]["name"], each["counterSet"], name), parse(amount["value"]).nano


def _left(slices: Iterable[Object], held: dict[Identity, list[Object]]) -> dict[Counter, int]:
    """What devices that are held leave of counters."""
    left: dict[Counter, int] = {}
    for each in slices:
        spec = each["spec"]
        for counter_set in spec.get("sharedCounters") or ():
            for name, amount in counter_set["counters"].items():
                counter = (spec["driver"], spec["pool"]["name"], counter_set["name"], name)
                left[counter] = left.get(counter, 0) + parse(amount["value"]).nano
        for device in spec.get("devices") or ():
            if _identity(each, device) in held:
                for counter, used in _consumed(each, device):
                    left[counter] = left.get(counter, 0) - used
    return left


def _use(resource_slice: Object, device: Object, claims: list[Object], left: dict[Counter, int]) -> DeviceUse:
    spec = resource_slice["spec"]
    if claims:
        state = "held"
    elif any(left.get(counter, 0) < used for counter, used in _consumed(resource_slice, device)):
        state = "used up"
    else:
        preventing = [each for each in device.get("taints") or () if each.get("effect") in PREVENTING]
        state = "tainted" if preventing else "free"
    names = [f"{claim['metadata']['namespace']}/{claim['metadata']['name']}" for claim in claims]
    pods = [
        f"{claim['metadata']['namespace']}/{each['name']}"
        for claim in claims
        for each in claim["status"].get("reservedFor") or ()
        if each.get("resource") == "pods"
    ]
    return DeviceUse(
        node=spec.get("nodeName") or "",
        driver=spec["driver"],
        pool=spec["pool"]["name"],
        device=device["name"],
        state=state,
        claims=tuple(names),
        pods=tuple(pods),
    )


def _natural(name: str) -> tuple[str, int]:
    """Nodes in the order of their numbers."""
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :] or 0)
