"""gpuspread: a fresh GPU first, then the shared one that is used least."""

from __future__ import annotations

from ghostfleet.schedulers.kai.node_info import NodeInfo
from ghostfleet.schedulers.kai.session import WHOLE_GPU, Session

__all__ = ["GpuSpread"]


class GpuSpread:
    def on_session_open(self, session: Session) -> None:
        session.gpu_order_fns.append(_score)


def _score(node: NodeInfo, gpu: str) -> float:
    return 1.0 if gpu == WHOLE_GPU else 1.0 - node.shared.used_portion(gpu)
