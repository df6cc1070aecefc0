"""nominatednode: the node that the pod was nominated for."""

from __future__ import annotations

from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.plugins.scores import NOMINATED_NODE
from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.session import Session

__all__ = ["NominatedNode"]


class NominatedNode:
    def on_session_open(self, session: Session) -> None:
        session.node_order.add_score(_score)


def _score(task: PodInfo, node: NodeInfo) -> float:
    return NOMINATED_NODE if task.pod.nominated_node == node.name else 0.0
