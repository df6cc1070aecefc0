"""A queue: its place in the tree, its priority, and quota, limit and weight of CPU, memory and GPU.

CPU is in thousandths of a core, memory in units of 10^6 bytes, GPU in devices; -1 is without limit, and a limit that was
never set is 0, which lets nothing run.
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

    def __post_init__(self) -> None:
        self.name = self.name or self.uid

    @property
    def is_leaf(self) -> bool:
        return not self.children


def link_queues(queues: dict[str, QueueInfo]) -> None:
    """Tell every queue its children; a queue that is its own ancestor is no child of anybody."""
    for queue in queues.values():
        queue.children = []
    for queue in queues.values():
        parent = queues.get(queue.parent)
        if parent is not None and not _in_a_circle(queues, queue):
            parent.children.append(queue.uid)


def _in_a_circle(queues: dict[str, QueueInfo], queue: QueueInfo) -> bool:
    seen = {queue.uid}
    above = queues.get(queue.parent)
    while above is not None:
        if above.uid in seen:
            return True
        seen.add(above.uid)
        above = queues.get(above.parent)
    return False
