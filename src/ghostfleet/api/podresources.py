"""What a pod asks for, summed up over its containers: the only such sum there is.

Containers run side by side and add up. Init containers run before them, one by one, so that only the largest counts;
those that keep running (*sidecars*) add up with all that start after them. A pod may state what it needs as a whole;
what it leaves out there follows from its containers. Its runtime may take an *overhead*. The *class* of a pod says how
well its requests are guaranteed, and so which pods suffer first when a node runs short.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import Quantity, add, parse

__all__ = [
    "ResourceList",
    "add_resources",
    "container_resources",
    "fill_pod_level_resources",
    "pod_resources",
    "service_class",
]

ResourceList = dict[str, Quantity]
Stated = Mapping[str, str | Quantity]
Which = Literal["requests", "limits"]
_NOTHING: Stated = {}
_COMPUTE = ("cpu", "memory")
_HUGE_PAGES = "hugepages-"


def pod_resources(pod: Object, which: Which = "requests", *, overhead: bool = True) -> ResourceList:
    """The requests or limits of a pod; its overhead included unless told otherwise."""
    spec = pod.get("spec") or {}
    found = container_resources(spec, which)
    for name, amount in ((spec.get("resources") or {}).get(which) or {}).items():
        found[name] = parse(amount)
    if overhead and (which == "requests" or found):
        add_resources(found, spec.get("overhead") or {})
    return found


def container_resources(spec: Object, which: Which = "requests", missing: Stated = _NOTHING) -> ResourceList:
    """The sum over the containers of a pod; `missing` counts where a container says nothing."""
    running: ResourceList = {}
    for container in spec.get("containers") or ():
        add_resources(running, _stated(container, which, missing))
    sidecars: ResourceList = {}
    starting: ResourceList = {}
    for container in spec.get("initContainers") or ():
        stated = _stated(container, which, missing)
        if container.get("restartPolicy") == "Always":
            add_resources(running, stated)
            add_resources(sidecars, stated)
            _raise(starting, sidecars)
        else:
            needed = {name: parse(amount) for name, amount in stated.items()}
            add_resources(needed, sidecars)
            _raise(starting, needed)
    _raise(running, starting)
    return running


def add_resources(total: ResourceList, more: Stated) -> None:
    """Add amounts to a sum."""
    for name, amount in more.items():
        total[name] = add(total[name], amount) if name in total else parse(amount)


def _stated(container: Object, which: str, missing: Stated) -> Stated:
    found: Stated = (container.get("resources") or {}).get(which) or _NOTHING
    return {**missing, **found} if missing else found


def _raise(total: ResourceList, least: ResourceList) -> None:
    for name, amount in least.items():
        if name not in total or total[name].nano < amount.nano:
            total[name] = amount


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
        for name, amount in container_resources(spec, "limits").items()
        if name.startswith(_HUGE_PAGES) and name not in requests
    }


def _implied_requests(spec: Object, limits: Object) -> Object:
    """Of CPU and memory what the containers request; of all else, or when they request none, up to the limit."""
    requested = container_resources(spec, "requests")
    from_limits = {name: amount for name, amount in limits.items() if name in _COMPUTE or name.startswith(_HUGE_PAGES)}
    return from_limits | {name: str(requested[name]) for name in _COMPUTE if name in requested}


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


def _positive(requirements: list[Object], side: Which) -> dict[str, int]:
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
