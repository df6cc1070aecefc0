"""What a pod asks of a node, counted as the scheduler counts it.

*Requests* are integers by resource: thousandths of a CPU, whole units of everything else. Containers run side by side
and add up; init containers run one after another, so the largest counts; a restartable init container (a *sidecar*)
stays and adds to all that comes after it. Overhead comes on top, and requests of the pod as a whole replace those of
its containers. The *weighed* requests are used for scores only: there a container that asks for no CPU or memory
counts as a small one, so that many of them still spread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ghostfleet.core.quantity import parse

__all__ = ["CPU", "MEMORY", "PODS", "STORAGE", "Requests", "is_counted", "is_scalar", "pod_requests", "resource_amount"]

CPU, MEMORY, STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"

#: What a container without a request for it is weighed with: 100m CPU, 200 MB.
_WEIGHED = {CPU: 100 * 10**6, MEMORY: 200 * 1024 * 1024 * 10**9}
_NANO = 10**9

Nanos = dict[str, int]


class Requests(NamedTuple):
    """The requests of one pod."""

    #: What the node must have, by resource.
    asked: dict[str, int]
    #: CPU and memory with the small amounts for containers that ask for none: what the node is charged in scores.
    weighed_cpu: int
    weighed_memory: int
    #: The same for the pod's own score on a node, which looks at containers only.
    score_cpu: int
    score_memory: int
    #: What the pod asks for by its containers only, pod-wide requests left aside.
    by_containers: dict[str, int]


def is_scalar(name: str) -> bool:
    """Whether the resource is counted in whole units of its own: GPUs, huge pages and the like."""
    return "/" in name or name.startswith(("hugepages-", "attachable-volumes-"))


def is_counted(name: str) -> bool:
    """Whether the scheduler counts the resource at all."""
    return name in (CPU, MEMORY, STORAGE) or is_scalar(name)


def resource_amount(name: str, nano: int) -> int:
    """Billionths in the unit the scheduler counts the resource in, rounded up."""
    return -(-nano // (10**6 if name == CPU else _NANO))


def pod_requests(spec: Mapping[str, Any]) -> Requests:
    """The requests of a pod with this spec."""
    running = [_of_container(each) for each in spec.get("containers") or ()]
    starting = [
        (_of_container(each), each.get("restartPolicy") == "Always") for each in spec.get("initContainers") or ()
    ]
    plain = _together(running, starting, {})
    pod_wide = _nanos((spec.get("resources") or {}).get("requests"))
    pod_wide = {name: nano for name, nano in pod_wide.items() if name in _WEIGHED or name.startswith("hugepages-")}
    overhead = _nanos(spec.get("overhead"))
    total = _plus({**plain, **pod_wide}, overhead)
    scored = _plus(_together(running, starting, _WEIGHED), overhead)
    weighed = scored
    if pod_wide:
        missing = {name: nano for name, nano in _WEIGHED.items() if name not in total}
        weighed = _plus({**_together(running, starting, missing), **pod_wide}, overhead)
    asked = _amounts(total)
    return Requests(
        asked,
        resource_amount(CPU, weighed.get(CPU, 0)),
        resource_amount(MEMORY, weighed.get(MEMORY, 0)),
        resource_amount(CPU, scored.get(CPU, 0)),
        resource_amount(MEMORY, scored.get(MEMORY, 0)),
        _amounts(_plus(plain, overhead)) if pod_wide else asked,
    )


def _amounts(nanos: Nanos) -> dict[str, int]:
    return {name: resource_amount(name, nano) for name, nano in sorted(nanos.items()) if is_counted(name)}


def _together(running: Sequence[Nanos], starting: Sequence[tuple[Nanos, bool]], missing: Nanos) -> Nanos:
    """The sum over containers, with `missing` put in where a container says nothing."""
    total: Nanos = {}
    for own in running:
        total = _plus(total, {**missing, **own})
    sidecars: Nanos = {}
    largest: Nanos = {}
    for own, stays in starting:
        own = {**missing, **own}
        if stays:
            total = _plus(total, own)
            sidecars = _plus(sidecars, own)
            largest = _most(largest, sidecars)
        else:
            largest = _most(largest, _plus(own, sidecars))
    return _most(total, largest)


def _of_container(container: Mapping[str, Any]) -> Nanos:
    return _nanos((container.get("resources") or {}).get("requests"))


def _nanos(listed: Mapping[str, Any] | None) -> Nanos:
    return {name: parse(amount).nano for name, amount in listed.items()} if listed else {}


def _plus(left: Nanos, right: Nanos) -> Nanos:
    if not left or not right:
        return left or right
    return {**left, **{name: left.get(name, 0) + nano for name, nano in right.items()}}


def _most(left: Nanos, right: Nanos) -> Nanos:
    return {**left, **{name: max(left.get(name, nano), nano) for name, nano in right.items()}} if right else left
