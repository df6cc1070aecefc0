"""DRATestDriver: the DRA example driver with eight GPUs on every node (`pkg/dependency/dra`).

No driver runs here: what it would publish is published for it, a slice for each fake node, and its device class.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ghostfleet.clusterloader.dependencies.installing import DependencyError, Installed
from ghostfleet.clusterloader.params import Params
from ghostfleet.core.changes import Object
from ghostfleet.drive.interface import NODES, Cluster
from ghostfleet.stages.dradrivers import find_profile
from ghostfleet.stages.nodes import FAKE_ANNOTATION

__all__ = ["DraTestDriver"]

_NAMESPACE = "dra-example-driver"
#: Published: NUM_DEVICES of the driver's DaemonSet in the dependency's manifests.
_DEVICES = 8
_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


class DraTestDriver:
    """See the module."""

    def __init__(self, cluster: Cluster, _mapping: Mapping[str, Any]) -> None:
        self._cluster = cluster
        self.installed = Installed(cluster)

    async def setup(self, params: Params, _limit: int | None) -> None:
        namespace = params.text("Namespace", _NAMESPACE)
        extended = params.text("ExtendedResourceName", "")
        await self.installed.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        profile = find_profile("example")
        for device_class in profile.classes():
            spec = {**device_class["spec"], **({"extendedResourceName": extended} if extended else {})}
            await self.installed.create({**device_class, "spec": spec})
        nodes = [node for node in await self._cluster.list(NODES) if _is_worker(node)]
        fake = [node for node in nodes if FAKE_ANNOTATION in (node["metadata"].get("annotations") or {})]
        if not fake:
            raise DependencyError(
                f"none of {len(nodes)} nodes is a fake one; on real nodes install the driver itself "
                "(kubernetes-sigs/dra-example-driver) and leave the dependency out"
            )
        for node in fake:
            for each in profile.slices(node, _DEVICES):
                await self.installed.create(each)

    async def teardown(self) -> None:
        await self.installed.remove()


def _is_worker(node: Object) -> bool:
    return _CONTROL_PLANE not in (node["metadata"].get("labels") or {})
