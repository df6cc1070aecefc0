"""A scheduler of your own: fill the nodes that have the fewest GPUs left, so that large jobs find whole nodes.

Pods ask for it with `schedulerName: gpu-binpack`. Plug it in with `--scheduler
examples/02-own-scheduler.py:GpuBinpack`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ghostfleet.schedulers.framework import Bind, Decision, Reject, Session

GPU = "nvidia.com/gpu"


class GpuBinpack:
    """Best fit by GPUs."""

    name = "gpu-binpack"

    def schedule(self, session: Session) -> Iterator[Decision]:
        for pod in session.pending:
            node = session.pick(pod, least=session.free(GPU))
            if node is not None:
                yield Bind(pod, node)
            else:
                yield Reject(pod, f"0/{len(session.nodes)} nodes have {pod.requests.get(GPU, 0)} {GPU} left")
