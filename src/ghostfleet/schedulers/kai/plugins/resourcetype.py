"""resourcetype: tasks without GPUs go to nodes without GPUs."""

from __future__ import annotations

from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.plugins.scores import RESOURCE_TYPE
from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.session import Session

__all__ = ["ResourceType"]


class ResourceType:
    def on_session_open(self, session: Session) -> None:
        session.node_order.add_score(_score)


def _score(task: PodInfo, node: NodeInfo) -> float:
    return RESOURCE_TYPE if not task.pod.requires_gpu and node.is_cpu_only else 0.0
