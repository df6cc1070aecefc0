"""The nodes that could take a job without victims: those with a GPU, or a part, that is idle or being released."""

from __future__ import annotations

from collections.abc import Iterable

from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.podgroup_info import PodGroupInfo

__all__ = ["feasible_nodes"]


def feasible_nodes(nodes: Iterable[NodeInfo], job: PodGroupInfo) -> list[NodeInfo]:
    """All nodes if some task asks for no GPU."""
    if any(not task.pod.requires_gpu for task in job.tasks()):
        return list(nodes)
    return [node for node in nodes if node.idle_gpus()[0] > 0 or node.releasing_gpus()[0] > 0]
