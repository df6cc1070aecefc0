"""Pod level: what a pod as a whole asks for, as against its containers one by one.

A pod may state requests and limits for all its containers together; what it leaves out follows from theirs. Init
containers run before the others, so a pod needs the larger of the two groups, while *sidecars* (init containers that
are always restarted) run along with both. The *class* of a pod says how well its requests are guaranteed, and so
which pods suffer first when a node runs short.
"""

from __future__ import annotations

from typing import Literal

from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import Quantity, add, parse

__all__ = ["fill_pod_level_resources", "service_class"]

_Totals = dict[str, Quantity]
_Side = Literal["requests", "limits"]

_COMPUTE = ("cpu", "memory")
_HUGE_PAGES = "hugepages-"


def fill_pod_level_resources(spec: Object) -> Object:
    """The spec of a pod that has `resources` of its own, with what its containers imply for them."""
    resources: Object = spec["resources"]
    given_limits, given_requests = resources.get("limits") or {}, resources.get("requests") or {}
    if not (given_limits or given_requests):
        return spec
    limits = {**_huge_page_limits(spec, given_requests), **given_limits}
    requests = {**_implied_requests(spec, limits), **given_requests} if limits else given_requests
    sides = {"limits": limits, "requests": requests}
    changed = {side: amounts for side, amounts in sides.items() if amounts and amounts != resources.get(side)}
    return {**spec, "resources": {**resources, **changed}} if changed else spec


def _huge_page_limits(spec: Object, requests: Object) -> Object:
    return {
        name: str(amount)
        for name, amount in _aggregate(spec, "limits").items()
        if name.startswith(_HUGE_PAGES) and name not in requests
    }


def _implied_requests(spec: Object, limits: Object) -> Object:
    """Of CPU and memory what the containers request; of all else, or when they request none, up to the limit."""
    requested = _aggregate(spec, "requests")
    from_limits = {name: amount for name, amount in limits.items() if name in _COMPUTE or name.startswith(_HUGE_PAGES)}
    return from_limits | {name: str(requested[name]) for name in _COMPUTE if name in requested}


def _aggregate(spec: Object, side: _Side) -> _Totals:
    totals: _Totals = {}
    for container in spec.get("containers") or ():
        _add(totals, _amounts(container, side))
    sidecars: _Totals = {}
    peak: _Totals = {}
    for container in spec.get("initContainers") or ():
        amounts = _amounts(container, side)
        if container.get("restartPolicy") == "Always":
            _add(totals, amounts)
            _add(sidecars, amounts)
            _raise(peak, sidecars)
        else:
            _add(amounts, sidecars)
            _raise(peak, amounts)
    _raise(totals, peak)
    return totals


def _amounts(container: Object, side: _Side) -> _Totals:
    amounts = (container.get("resources") or {}).get(side) or {}
    return {name: parse(amount) for name, amount in amounts.items()}


def _add(totals: _Totals, amounts: _Totals) -> None:
    for name, amount in amounts.items():
        totals[name] = add(totals[name], amount) if name in totals else amount


def _raise(totals: _Totals, amounts: _Totals) -> None:
    for name, amount in amounts.items():
        if name not in totals or amount.nano > totals[name].nano:
            totals[name] = amount


def service_class(spec: Object) -> str:
    """The `qosClass` of a pod: Guaranteed, Burstable or BestEffort."""
    whole = spec.get("resources")
    if whole is not None:
        requirements = [whole]
        # A pod that limits nothing as a whole is not held to have limits for CPU and memory.
        bounded = not whole.get("limits") or _limits_compute(whole)
    else:
        containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
        requirements = [container.get("resources") or {} for container in containers]
        bounded = all(map(_limits_compute, requirements))
    requests, limits = _positive(requirements, "requests"), _positive(requirements, "limits")
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if bounded and requests == limits else "Burstable"


def _limits_compute(requirements: Object) -> bool:
    return len(_positive([requirements], "limits")) == len(_COMPUTE)


def _positive(requirements: list[Object], side: _Side) -> dict[str, int]:
    """Total CPU and memory, where there is any."""
    totals: dict[str, int] = {}
    for one in requirements:
        amounts = one.get(side)
        if not amounts:
            continue
        for name in _COMPUTE:
            if name in amounts and (nano := parse(amounts[name]).nano) > 0:
                totals[name] = totals.get(name, 0) + nano
    return totals
