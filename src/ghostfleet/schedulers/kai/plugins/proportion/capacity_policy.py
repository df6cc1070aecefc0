"""Whether a job may have what it asks for: within the limit of its queue and of every ancestor, and within their quota
if it cannot be preempted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ghostfleet.schedulers.kai.plugins.proportion.resource_share import RESOURCES, QueueAttributes
from ghostfleet.schedulers.kai.resources import (
    CPU_RESOURCE,
    GPU_RESOURCE,
    RESOURCE_NAMES,
    UNLIMITED,
    Quantities,
    go_float,
    humanize,
)

__all__ = ["CapacityPolicy", "OverCapacity"]

OVER_LIMIT = "OverLimit"
NON_PREEMPTIBLE_OVER_QUOTA = "NonPreemptibleOverQuota"
_UNITS = (1000.0, 1e9, 1.0)


@dataclass(frozen=True)
class OverCapacity:
    """Which queue does not let a job have what it asks for, and how it stands."""

    reason: str
    message: str
    details: Mapping[str, object]


class CapacityPolicy:
    """The books of the queues, and the way up from each."""

    def __init__(self, ancestors: Callable[[str], Iterable[QueueAttributes]]) -> None:
        self._ancestors = ancestors

    def over_capacity(self, queue: str, preemptible: bool, asked: Quantities) -> OverCapacity | None:
        """What stops a job of a queue, if anything: a limit first, then a quota."""
        for attributes in self._ancestors(queue):
            resource = _exceeded(attributes.max_allowed, attributes.allocated, asked)
            if resource is not None:
                message = _limit_message(attributes, resource, asked)
                return OverCapacity(OVER_LIMIT, message, _details(attributes, asked, preemptible))
        return None if preemptible else self.over_quota(queue, asked)

    def over_quota(self, queue: str, asked: Quantities) -> OverCapacity | None:
        """The quota that a job which cannot be preempted would break."""
        for attributes in self._ancestors(queue):
            resource = _exceeded(attributes.deserved, attributes.allocated_non_preemptible, asked)
            if resource is not None:
                message = _quota_message(attributes, resource, asked)
                return OverCapacity(NON_PREEMPTIBLE_OVER_QUOTA, message, _details(attributes, asked, False))
        return None


def _exceeded(bounds: Sequence[float], held: Sequence[float], asked: Quantities) -> int | None:
    for resource in RESOURCES:
        bound = bounds[resource]
        if bound != UNLIMITED and asked[resource] != 0 and bound < held[resource] + asked[resource]:
            return resource
    return None


def _limit_message(queue: QueueAttributes, resource: int, asked: Quantities) -> str:
    name = ("CPU cores", "memory", "GPUs")[resource]
    unit = ("cores", "GB", "GPUs")[resource]
    figures = (queue.max_allowed[resource], queue.allocated[resource], asked[resource])
    limit, held, wanted = (humanize(figure, _UNITS[resource]) for figure in figures)
    return (
        f"{queue.name} quota has reached the allowable limit of {name}. "
        f"Limit is {limit} {unit}, currently {held} {unit} allocated and workload requested {wanted} {unit}"
    )


def _quota_message(queue: QueueAttributes, resource: int, asked: Quantities) -> str:
    requested = ("CPU cores", "GB memory", "GPUs")[resource]
    unit = ("cores", "GB", "GPUs")[resource]
    figures = (queue.deserved[resource], queue.allocated_non_preemptible[resource])
    quota, held = (humanize(figure, _UNITS[resource]) for figure in figures)
    wanted = go_float(asked[resource]) if resource == GPU_RESOURCE else humanize(asked[resource], _UNITS[resource])
    return (
        f"Non-preemptible workload is over quota. Workload requested {wanted} {requested}, "
        f"but {queue.name} quota is {quota} {unit}, while {held} {unit} are already allocated for "
        "non-preemptible pods. Use a preemptible workload to go over quota."
    )


def _details(queue: QueueAttributes, asked: Quantities, preemptible: bool) -> dict[str, object]:
    nothing = (0.0, 0.0, 0.0)
    return {
        "name": queue.uid,
        "queueRequestedResources": _amounts(queue.request),
        "queueDeservedResources": _amounts(queue.deserved),
        "queueAllocatedResources": _amounts(queue.allocated),
        "queueAllocatedNonPreemptibleResources": _amounts(queue.allocated_non_preemptible),
        "queueResourceLimits": _amounts(queue.max_allowed),
        "podGroupRequestedResources": _amounts(asked),
        "podGroupRequestedNonPreemptibleResources": _amounts(nothing if preemptible else asked),
    }


def _amounts(quantities: Sequence[float]) -> dict[str, float]:
    keys = {CPU_RESOURCE: "cpu", GPU_RESOURCE: "nvidia.com/gpu"}
    return {keys.get(resource, RESOURCE_NAMES[resource].lower()): quantities[resource] for resource in RESOURCES}
