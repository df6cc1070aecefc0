"""Claims: how `--pvc` gives each pod of a workload a volume of its own.

The volume is *ephemeral*: its claim of 1 MiB, for one node at a time, comes and goes with the pod. Run:ai's workloads
list it among the items of `spec.pvcs`; everything else has it in the specs of its pods, in the words of Kubernetes.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.lab.errors import LabError
from ghostfleet.lab.podfields import RUNAI, changed_at
from ghostfleet.lab.types import WorkloadType

__all__ = ["with_claim"]

_NAME = "scratch"
_PATH = "/scratch"
_ITEM: Object = {
    "value": {"ephemeral": True, "size": "1Mi", "accessModes": {"readWriteOnce": True}, "path": _PATH},
}
_CLAIM: Object = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
_VOLUME: Object = {"name": _NAME, "ephemeral": {"volumeClaimTemplate": {"spec": _CLAIM}}}
_MOUNT: Object = {"name": _NAME, "mountPath": _PATH}


def with_claim(tree: Object, kind: WorkloadType) -> Object:
    """The object of a type with a volume for each of its pods."""
    if kind.pod_specs == RUNAI:
        with_item: Object = changed_at(tree, ["spec", "pvcs", "items", _NAME], lambda _: _ITEM)
        return with_item
    if not kind.pod_specs:
        raise LabError(
            f"--pvc: it is not known where a {kind.workload.kind} has its pods; add the volume to the template"
        )
    for path in kind.pod_specs:
        tree = changed_at(tree, path.split("."), _with_volume)
    return tree


def _with_volume(spec: Any) -> Object:
    whole: Object = spec if isinstance(spec, dict) else {}
    containers = [
        {**each, "volumeMounts": [*(each.get("volumeMounts") or ()), _MOUNT]} for each in whole.get("containers") or ()
    ]
    return {**whole, "volumes": [*(whole.get("volumes") or ()), _VOLUME], "containers": containers}
