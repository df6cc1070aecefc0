"""The snapshot that a cycle works on: nodes, pod groups with their tasks, queues, topologies, claims and usage.

It is plain data. Who keeps it up to date by events (`set_node`, `set_pod_group`, `set_task` ...) pays for what changed,
not for what there is; a session works on it and gives it back as it was (`Session.close`), and what became of the
decisions comes back as events again.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ghostfleet.schedulers.kai.claims import ResourceClaim
from ghostfleet.schedulers.kai.node_info import DEFAULT_GPU_MEMORY, NodeInfo
from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.pod_status import ACTIVE_USED
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo
from ghostfleet.schedulers.kai.queue_info import QueueInfo, link_queues
from ghostfleet.schedulers.kai.resources import Quantities

__all__ = ["ClusterInfo", "Topology"]

_GPU_GROUPS = uuid.UUID("6b616900-0000-5000-8000-000000000000")


@dataclass(frozen=True)
class Topology:
    """The labels of nodes that name its domains, from the widest to the narrowest."""

    name: str
    levels: tuple[str, ...]


@dataclass(eq=False)
class ClusterInfo:
    """All that a cycle is decided on. Usage is the share of the cluster that each queue had of late, by resource."""

    nodes: dict[str, NodeInfo] = field(default_factory=dict)
    pod_groups: dict[str, PodGroupInfo] = field(default_factory=dict)
    queues: dict[str, QueueInfo] = field(default_factory=dict)
    topologies: dict[str, Topology] = field(default_factory=dict)
    claims: dict[tuple[str, str], ResourceClaim] = field(default_factory=dict)
    devices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    config_maps: frozenset[str] = frozenset()
    usage: Mapping[str, Quantities] = field(default_factory=dict)
    gpu_groups_made: int = 0

    def __post_init__(self) -> None:
        link_queues(self.queues)

    def set_queues(self, queues: Iterable[QueueInfo]) -> None:
        """Replace all queues."""
        self.queues = {queue.uid: queue for queue in queues}
        link_queues(self.queues)

    def set_node(self, node: NodeInfo) -> None:
        """Take in a node, with the tasks that the old one of that name had."""
        old = self.nodes.get(node.name)
        self.nodes[node.name] = node
        if old is not None:
            for task in old.tasks.values():
                node.add_task(task)

    def remove_node(self, name: str) -> None:
        self.nodes.pop(name, None)

    def set_pod_group(self, job: PodGroupInfo) -> None:
        """Take in a pod group, with the tasks and the times that the old one of that name had."""
        old = self.pod_groups.get(job.uid)
        self.pod_groups[job.uid] = job
        if old is not None:
            job.last_start = old.last_start if job.last_start is None else job.last_start
            job.stale_since = old.stale_since if job.stale_since is None else job.stale_since
            for task in list(old.tasks()):
                job.add_task(task)

    def remove_pod_group(self, uid: str) -> None:
        self.pod_groups.pop(uid, None)

    def set_task(self, task: PodInfo) -> None:
        """Take in a task, or what became of it.

        One without a pod group counts on its node all the same; as nobody knows it by name, it must be removed from
        there when it ends."""
        job = self.pod_groups.get(task.pod.job)
        if job is not None:
            old = job.find_task(task.uid)
            if old is not None:
                self.remove_task(old)
            job.add_task(task)
        node = self.nodes.get(task.node)
        if node is not None and task.status & ACTIVE_USED:
            node.remove_task(task.uid)
            node.add_task(task)

    def remove_task(self, task: PodInfo) -> None:
        job = self.pod_groups.get(task.pod.job)
        if job is not None:
            job.remove_task(task)
        node = self.nodes.get(task.node)
        if node is not None:
            node.remove_task(task.uid)

    def min_node_gpu_memory(self) -> int:
        """The least memory of a GPU on any node that tells it."""
        known = [
            node.gpu_memory for node in self.nodes.values() if node.gpu_memory_synced and node.allocatable.gpus > 0
        ]
        return min(known, default=DEFAULT_GPU_MEMORY)

    def new_gpu_group(self) -> str:
        """A name for a GPU that is to be shared, never given before."""
        self.gpu_groups_made += 1
        return str(uuid.uuid5(_GPU_GROUPS, str(self.gpu_groups_made)))
