"""Claims of devices: what a workload needs beside itself when its pods are to get DRA devices.

A template that has `{{claimTemplate}}` or `{{claim}}` in it (that of type `dra` does) makes pods with claims. Either
each pod gets a claim of its own from a ResourceClaimTemplate, one in each namespace for each number of devices, or the
pods of a workload *share* a ResourceClaim of the workload's name. Both are made before the workload, carry the label of
their run, and ask for so many devices (`--num-gpus`) of a DeviceClass, those that a selector chooses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.drive.interface import Cluster
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.types import KindName

__all__ = ["CLAIM", "CLAIM_TEMPLATE", "MODES", "DeviceClaims", "default_class"]

_API = "resource.k8s.io/v1"
CLAIM, CLAIM_TEMPLATE = KindName(_API, "ResourceClaim"), KindName(_API, "ResourceClaimTemplate")
_CLASS = KindName(_API, "DeviceClass")
#: The class to ask for where there are several.
_USUAL = "gpu.nvidia.com"
#: `--claim`: a claim for each pod, or one for each workload.
MODES = ("template", "shared")


@dataclass(frozen=True, slots=True)
class DeviceClaims:
    """What the claims of a run ask for."""

    shared: bool
    device_class: str
    selector: str = ""

    def template_name(self, run: str, devices: int) -> str:
        return f"dra-{run}-{devices}"

    def template(self, namespace: str, run_labels: dict[str, str], name: str, devices: int) -> Object:
        """The template of claims for so many devices."""
        spec = {"spec": self._spec(devices)}
        return _object(CLAIM_TEMPLATE, {"name": name, "namespace": namespace, "labels": run_labels}, spec)

    def claim(self, namespace: str, run_labels: dict[str, str], name: str, devices: int) -> Object:
        """The claim that the pods of a workload share."""
        return _object(CLAIM, {"name": name, "namespace": namespace, "labels": run_labels}, self._spec(devices))

    def _spec(self, devices: int) -> Object:
        exactly: dict[str, Any] = {"deviceClassName": self.device_class, "count": devices}
        if self.selector:
            exactly["selectors"] = [{"cel": {"expression": self.selector}}]
        return {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}


def _object(kind: KindName, metadata: Object, spec: Object) -> Object:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}


async def default_class(cluster: Cluster) -> str:
    """The DeviceClass to ask for when none is named: NVIDIA's, or the only one that the cluster has."""
    kind = await cluster.resolve(*_CLASS)
    names = sorted(each["metadata"]["name"] for each in await cluster.list(kind)) if kind is not None else []
    if _USUAL in names:
        return _USUAL
    if len(names) == 1:
        return str(names[0])
    if not names:
        raise LabError("the cluster has no DeviceClass: give its nodes devices with --dra nvidia, or make a class")
    raise LabError(f"the cluster has several DeviceClasses ({', '.join(names)}): name one with --device-class")
