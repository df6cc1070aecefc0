"""What a pod asks for, summed up over its containers: the only such sum there is.

Containers run side by side and add up. Init containers run before them, one by one, so that only the largest counts;
those that keep running (*sidecars*) add up with all that start after them. A pod may state what it needs as a whole,
and its runtime may take an *overhead*.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import Quantity, add, parse

__all__ = ["ResourceList", "add_resources", "container_resources", "pod_resources"]

ResourceList = dict[str, Quantity]
Stated = Mapping[str, str | Quantity]
Which = Literal["requests", "limits"]
_NOTHING: Stated = {}


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
