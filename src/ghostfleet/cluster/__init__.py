"""The embedded cluster: everything but the HTTP face.

`Cluster` comes from `assembly`, which imports every controller and scheduler; it is loaded when it is first asked for,
so that commands which only talk about clusters start quickly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ghostfleet.cluster.config import BARE, PARTS, ClusterConfig

if TYPE_CHECKING:
    from ghostfleet.cluster.assembly import Cluster, add_nodes

__all__ = ["BARE", "PARTS", "Cluster", "ClusterConfig", "add_nodes"]


def __getattr__(name: str) -> Any:
    if name not in ("Cluster", "add_nodes"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ghostfleet.cluster import assembly

    return getattr(assembly, name)
