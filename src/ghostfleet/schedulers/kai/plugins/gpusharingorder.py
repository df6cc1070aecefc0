"""gpusharingorder: nodes with a shared GPU that has room for the task."""

from __future__ import annotations

from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.plugins.scores import GPU_SHARING
from ghostfleet.schedulers.kai.pod_info import PodInfo
from ghostfleet.schedulers.kai.session import Session

__all__ = ["GpuSharingOrder"]


class GpuSharingOrder:
    def on_session_open(self, session: Session) -> None:
        session.node_order.add_score(_score)


def _score(task: PodInfo, node: NodeInfo) -> float:
    request, shared = task.pod.request, node.shared
    return GPU_SHARING if any(shared.fits_on(request, group) for group in shared.used) else 0.0
