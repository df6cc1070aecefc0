"""The shares of a queue: what it deserves, what it may have, what is fair, what it has and what it asks for.

All are lists of three: CPU, memory, GPU. *Deserved* is the quota, *max_allowed* the limit, *allocatable* the greater of
quota and fair share within the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ghostfleet.schedulers.kai.resources import UNLIMITED

__all__ = ["QueueAttributes"]

RESOURCES = range(3)
NO_FAIR_SHARE_MULTIPLIER = 1000


def _zeros() -> list[float]:
    return [0.0, 0.0, 0.0]


@dataclass(eq=False)
class QueueAttributes:
    uid: str
    name: str = ""
    parent: str = ""
    created: float = 0.0
    priority: int = 0
    children: Sequence[str] = ()
    deserved: list[float] = field(default_factory=_zeros)
    fair_share: list[float] = field(default_factory=_zeros)
    max_allowed: list[float] = field(default_factory=_zeros)
    weight: list[float] = field(default_factory=_zeros)
    allocated: list[float] = field(default_factory=_zeros)
    allocated_non_preemptible: list[float] = field(default_factory=_zeros)
    request: list[float] = field(default_factory=_zeros)
    usage: list[float] = field(default_factory=_zeros)

    def clone(self) -> QueueAttributes:
        """The queue with books of its own; what does not change in a session is shared."""
        return replace(
            self,
            allocated=list(self.allocated),
            allocated_non_preemptible=list(self.allocated_non_preemptible),
        )

    def requestable(self, resource: int) -> float:
        """What is asked for, within the limit."""
        limit = self.max_allowed[resource]
        return self.request[resource] if limit == UNLIMITED else min(limit, self.request[resource])

    def allocatable(self, resource: int) -> float:
        """What the queue may have without being more than fair."""
        limit = self.max_allowed[resource]
        if self.deserved[resource] == UNLIMITED:
            return limit
        share = max(self.deserved[resource], self.fair_share[resource])
        return share if limit == UNLIMITED else min(limit, share)

    def allocatables(self) -> list[float]:
        return [self.allocatable(resource) for resource in RESOURCES]

    def dominant_share(self, allocated: Sequence[float], totals: Sequence[float]) -> float:
        """The greatest part of its allocatable share that an allocation would be."""
        dominant = 0.0
        for resource in RESOURCES:
            share = self.allocatable(resource)
            if share == UNLIMITED:
                share = totals[resource]
            amount = allocated[resource]
            if share:
                value = amount / share
            else:
                value = amount * NO_FAIR_SHARE_MULTIPLIER
            if value > dominant:
                dominant = value
        return dominant
