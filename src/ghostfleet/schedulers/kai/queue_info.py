"""A queue: its place in the tree, its priority, and quota, limit and weight of CPU, memory and GPU.

CPU is in thousandths of a core, memory in units of 10^6 bytes, GPU in devices; -1 is without limit, and a limit that
was never set is 0, which lets nothing run.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["DEFAULT_QUEUE_PRIORITY", "QueueInfo", "ResourceQuota", "link_queues"]

DEFAULT_QUEUE_PRIORITY = 100


@dataclass(frozen=True)
class ResourceQuota:
    quota: float = 0.0
    limit: float = 0.0
    over_quota_weight: float = 0.0


@dataclass(eq=False)
class QueueInfo:
    uid: str
    parent: str = ""
    name: str = ""
    priority: int = DEFAULT_QUEUE_PRIORITY
    created: float = 0.0
    cpu: ResourceQuota = field(default_factory=ResourceQuota)
    memory: ResourceQuota = field(default_factory=ResourceQuota)
    gpu: ResourceQuota = field(default_factory=ResourceQuota)
    preempt_min_runtime: float | None = None
    reclaim_min_runtime: float | None = None
    children: list[str] = field(default_factory=list)
    #: Whether the way up ends at a queue without a parent, not at one that is missing nor in a circle.
    is_rooted: bool = True

    def __post_init__(self) -> None:
        self.name = self.name or self.uid

    @property
    def is_leaf(self) -> bool:
        return not self.children


def link_queues(queues: dict[str, QueueInfo]) -> None:
    """Tell every queue its children, and whether it hangs on the tree at all."""
    for queue in queues.values():
        queue.children = []
    for queue in queues.values():
        queue.is_rooted = _is_rooted(queues, queue)
        if queue.is_rooted and queue.parent:
            queues[queue.parent].children.append(queue.uid)


def _is_rooted(queues: dict[str, QueueInfo], queue: QueueInfo) -> bool:
    seen: set[str] = set()
    above: QueueInfo | None = queue
    while above is not None and above.uid not in seen:
        if not above.parent:
            return True
        seen.add(above.uid)
        above = queues.get(above.parent)
    return False
