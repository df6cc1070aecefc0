"""Volumes: defaults of what pods mount and of what persistent volumes are made of.

The same sources (host path, iSCSI, RBD, Azure disk, ScaleIO) occur in pods and in persistent volumes with the same
defaults. A pod's volume that names no source at all is an empty directory.
"""

from __future__ import annotations

from ghostfleet.api.defaults.filling import ObjectRule, each, fill_requirements, pull_policy, rule
from ghostfleet.core.changes import Object

__all__ = ["REFERENCES", "SOURCES", "fill_claim_spec", "fill_volume"]

#: References to a field of the pod or a resource of a container, in environment variables and downward API files.
REFERENCES: dict[str, ObjectRule] = {
    "fieldRef": rule(zero={"apiVersion": "v1"}),
    "resourceFieldRef": rule(absent={"divisor": "0"}),
}

#: Sources that pods and persistent volumes have in common.
SOURCES: dict[str, ObjectRule] = {
    "hostPath": rule(absent={"type": ""}),
    "iscsi": rule(zero={"iscsiInterface": "default"}, absent={"lun": 0}),
    "rbd": rule(zero={"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}),
    "azureDisk": rule(absent={"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"}),
    "scaleIO": rule(zero={"storageMode": "ThinProvisioned", "fsType": "xfs"}),
}

_fill_data_source = rule(null=("apiGroup",))
fill_claim_spec = rule(
    absent={"volumeMode": "Filesystem", "resources": {}},
    parts={"resources": fill_requirements, "dataSource": _fill_data_source, "dataSourceRef": _fill_data_source},
)

_MODE = {"defaultMode": 0o644}
_fill_files = each(rule(parts=REFERENCES))
_fill_projection = rule(
    parts={
        "downwardAPI": rule(parts={"items": _fill_files}),
        "serviceAccountToken": rule(absent={"expirationSeconds": 3600}),
    }
)
_fill_claim_template = rule(absent={"metadata": {}, "spec": {}}, parts={"spec": fill_claim_spec})


def _fill_image(source: Object) -> Object:
    if source.get("pullPolicy"):
        return source
    return {**source, "pullPolicy": pull_policy(source.get("reference") or "")}


_fill_source = rule(
    parts={
        **SOURCES,
        "secret": rule(absent=_MODE),
        "configMap": rule(absent=_MODE),
        "downwardAPI": rule(absent=_MODE, parts={"items": _fill_files}),
        "projected": rule(absent=_MODE, null=("sources",), parts={"sources": each(_fill_projection)}),
        "image": _fill_image,
        "ephemeral": rule(parts={"volumeClaimTemplate": _fill_claim_template}),
    }
)


def fill_volume(volume: Object) -> Object:
    """One volume of a pod."""
    if all(value is None for key, value in volume.items() if key != "name"):
        return {**volume, "emptyDir": {}}
    return _fill_source(volume)
