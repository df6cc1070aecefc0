"""A scheduler of your own: fill the nodes that have the fewest GPUs left, so that large jobs find whole nodes.

Pods ask for it with `schedulerName: gpu-binpack`. Plug it in with `--scheduler
examples/02-own-scheduler.py:GpuBinpack`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ghostfleet.schedulers.interface import Bind, Refuse, Snapshot

GPU = "nvidia.com/gpu"


class GpuBinpack:
    """Best fit by GPUs."""

    name = "gpu-binpack"

    def schedule(self, snapshot: Snapshot) -> Iterator[Bind | Refuse]:
        for pod in snapshot.pending:
            fitting = [node for node in snapshot.nodes if node.fits(pod)]
            if fitting:
                best = min(fitting, key=lambda node: (node.free.get(GPU, 0), node.name))
                best.take(pod)
                yield Bind(pod, best.name)
            else:
                wanted = pod.requests.get(GPU, 0)
                yield Refuse(pod, f"0/{len(snapshot.nodes)} nodes have {wanted} {GPU} left")
