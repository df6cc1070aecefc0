"""gpupack: the shared GPU that is used most, a fresh one last."""

from __future__ import annotations

from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.session import WHOLE_GPU, Session

__all__ = ["GpuPack"]


class GpuPack:
    def on_session_open(self, session: Session) -> None:
        session.gpu_order_fns.append(_score)


def _score(node: NodeInfo, gpu: str) -> float:
    return 0.0 if gpu == WHOLE_GPU else node.shared.used_portion(gpu)
