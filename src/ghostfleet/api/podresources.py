"""What a pod asks for, summed up over its containers.

Containers run side by side and add up. Init containers run before them, one by one, so that only the largest counts;
those that keep running (*sidecars*) add up with all that start after them. A pod may state what it needs as a whole,
and its runtime may take an *overhead*.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import Quantity, add, parse

__all__ = ["ResourceList", "pod_resources"]

ResourceList = dict[str, Quantity]


def pod_resources(
    pod: Object, which: Literal["requests", "limits"] = "requests", *, overhead: bool = True
) -> ResourceList:
    """The requests or limits of a pod; its overhead included unless told otherwise."""
    spec = pod.get("spec") or {}
    running: ResourceList = {}
    for container in spec.get("containers") or ():
        _add(running, _stated(container, which))
    sidecars: ResourceList = {}
    starting: ResourceList = {}
    for container in spec.get("initContainers") or ():
        stated = _stated(container, which)
        if container.get("restartPolicy") == "Always":
            _add(running, stated)
            _add(sidecars, stated)
            _raise(starting, sidecars)
        else:
            needed = {name: parse(amount) for name, amount in stated.items()}
            _add(needed, sidecars)
            _raise(starting, needed)
    _raise(running, starting)
    for name, amount in ((spec.get("resources") or {}).get(which) or {}).items():
        running[name] = parse(amount)
    if overhead and (which == "requests" or running):
        _add(running, spec.get("overhead") or {})
    return running


def _stated(container: Object, which: str) -> Mapping[str, str]:
    found: Mapping[str, str] = (container.get("resources") or {}).get(which) or {}
    return found


def _add(total: ResourceList, more: Mapping[str, str | Quantity]) -> None:
    for name, amount in more.items():
        total[name] = add(total[name], amount) if name in total else parse(amount)


def _raise(total: ResourceList, least: ResourceList) -> None:
    for name, amount in least.items():
        if name not in total or total[name].nano < amount.nano:
            total[name] = amount
