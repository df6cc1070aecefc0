"""What a pod asks of a node, as kube-scheduler counts it: the requests in NodeInfo, and its non-zero requests.

*Requests* are integers by resource: thousandths of a CPU, whole units of everything else. The *non-zero* requests are
used for scores only: there a container that asks for no CPU or memory counts as a small one, so that many of them
still spread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ghostfleet.api.podresources import ResourceList, add_resources, container_resources
from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import from_milli, from_value, parse

__all__ = ["CPU", "MEMORY", "PODS", "STORAGE", "Requests", "is_counted", "is_scalar", "pod_requests"]

CPU, MEMORY, STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"

#: What a container without a request counts as in scores (k8s.io/kubernetes pkg/scheduler/util/pod_resources.go).
_NONZERO: ResourceList = {CPU: from_milli(100), MEMORY: from_value(200 * 1024 * 1024)}
_NANO = 10**9


class Requests(NamedTuple):
    """The requests of one pod."""

    #: What the node must have, by resource.
    asked: dict[str, int]
    #: CPU and memory with the small amounts for containers that ask for none: what the node is charged in scores.
    nonzero_cpu: int
    nonzero_memory: int
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


def pod_requests(spec: Object) -> Requests:
    """The requests of a pod with this spec."""
    overhead = spec.get("overhead") or {}
    total, scored = container_resources(spec), container_resources(spec, missing=_NONZERO)
    add_resources(scored, overhead)
    pod_wide = {
        name: parse(amount)
        for name, amount in ((spec.get("resources") or {}).get("requests") or {}).items()
        if name in _NONZERO or name.startswith("hugepages-")
    }
    if not pod_wide:
        add_resources(total, overhead)
        asked = by_containers = _amounts(total)
        nonzero = scored
    else:
        nonzero = {**container_resources(spec, missing=_left_open(total, pod_wide, overhead)), **pod_wide}
        add_resources(nonzero, overhead)
        whole = {**total, **pod_wide}
        add_resources(total, overhead)
        add_resources(whole, overhead)
        asked, by_containers = _amounts(whole), _amounts(total)
    return Requests(
        asked,
        _amount(CPU, nonzero),
        _amount(MEMORY, nonzero),
        _amount(CPU, scored),
        _amount(MEMORY, scored),
        by_containers,
    )


def _left_open(*stated: Mapping[str, Any]) -> ResourceList:
    """The small amounts of those resources that nothing is said about."""
    return {name: amount for name, amount in _NONZERO.items() if not any(name in each for each in stated)}


def _amounts(found: ResourceList) -> dict[str, int]:
    return {name: _amount(name, found) for name in sorted(found) if is_counted(name)}


def _amount(name: str, found: ResourceList) -> int:
    """An amount in the unit the scheduler counts the resource in, rounded up."""
    quantity = found.get(name)
    return 0 if quantity is None else -(-quantity.nano // (10**6 if name == CPU else _NANO))
