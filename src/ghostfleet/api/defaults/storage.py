"""Storage: defaults of volumes, claims, and of the kinds that describe storage drivers."""

from __future__ import annotations

from ghostfleet.api.defaults.filling import ObjectRule, each, fill_resource_list, rule
from ghostfleet.api.defaults.volumes import SOURCES, fill_claim_spec

__all__ = ["DEFAULTS", "fill_claim"]

_PENDING = {"phase": "Pending"}

_fill_claim_status = rule(
    zero=_PENDING,
    parts={
        "capacity": fill_resource_list,
        "allocatedResources": fill_resource_list,
        "conditions": each(rule(null=("lastProbeTime", "lastTransitionTime"))),
    },
)
fill_claim = rule(absent={"spec": {}, "status": {}}, parts={"spec": fill_claim_spec, "status": _fill_claim_status})

_VOLUME_PARTS = {**SOURCES, "capacity": fill_resource_list, "azureFile": rule(null=("secretNamespace",))}
_fill_volume_spec = rule(
    zero={"persistentVolumeReclaimPolicy": "Retain"},
    absent={"volumeMode": "Filesystem"},
    parts=_VOLUME_PARTS,
)

DEFAULTS: dict[str, ObjectRule] = {
    "persistentvolumes": rule(
        absent={"spec": {}, "status": {}},
        parts={"spec": _fill_volume_spec, "status": rule(zero=_PENDING)},
    ),
    "persistentvolumeclaims": fill_claim,
    "storageclasses.storage.k8s.io": rule(absent={"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}),
    "csidrivers.storage.k8s.io": rule(
        absent={"spec": {}},
        parts={
            "spec": rule(
                zero={"volumeLifecycleModes": ["Persistent"]},
                absent={
                    "attachRequired": True,
                    "podInfoOnMount": False,
                    "storageCapacity": False,
                    "fsGroupPolicy": "ReadWriteOnceWithFSType",
                    "requiresRepublish": False,
                    "seLinuxMount": False,
                },
            )
        },
    ),
    "csinodes.storage.k8s.io": rule(
        absent={"spec": {}},
        parts={"spec": rule(null=("drivers",), parts={"drivers": each(rule(null=("topologyKeys",)))})},
    ),
    "volumeattachments.storage.k8s.io": rule(
        absent={"spec": {}, "status": {}},
        parts={
            "spec": rule(
                absent={"source": {}},
                parts={"source": rule(parts={"inlineVolumeSpec": rule(parts=_VOLUME_PARTS)})},
            ),
            "status": rule(
                absent={"attached": False},
                parts={"attachError": rule(null=("time",)), "detachError": rule(null=("time",))},
            ),
        },
    ),
}
