"""nodeavailability: nodes on which the task can start now."""

from __future__ import annotations

from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.plugins.scores import AVAILABILITY
from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.session import Session

__all__ = ["NodeAvailability"]


class NodeAvailability:
    def on_session_open(self, session: Session) -> None:
        session.node_order.add_score(_score)


def _score(task: PodInfo, node: NodeInfo) -> float:
    return AVAILABILITY if node.is_task_allocatable(task.pod, task) else 0.0
