"""Volumes, their claims and classes, and storage drivers in one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.server.tables.cells import created, items, name_of, part, quantity_text
from ghostfleet.server.tables.printers import AGE, NAME, Cell, Printers, boolean, column, integer, text, wide

__all__ = ["STORAGE"]

STORAGE = Printers()

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_VOLUME_MODE = wide("VolumeMode", "Whether the volume is a file system or a block device.")


def _mode_text(modes: Sequence[str]) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in modes)


def _storage_class(obj: Object) -> str:
    annotations = part(obj, "metadata", "annotations")
    return annotations.get(_CLASS_ANNOTATION, part(obj, "spec").get("storageClassName")) or ""


def _phase(obj: Object) -> str:
    if part(obj, "metadata").get("deletionTimestamp"):
        return "Terminating"
    return part(obj, "status").get("phase") or ""


def _set_or_unset(holder: Mapping[str, Any], key: str) -> str:
    value = holder.get(key)
    return "<unset>" if value is None else str(value)


@STORAGE.of(
    "persistentvolumes",
    NAME,
    text("Capacity", "Size of the volume."),
    text("Access Modes", "Ways the volume can be mounted."),
    text("Reclaim Policy", "What becomes of the volume when its claim is gone."),
    text("Status", "Whether the volume is free, bound or released."),
    text("Claim", "Claim the volume is bound to."),
    text("StorageClass", "Storage class of the volume."),
    text("VolumeAttributesClass", "Attributes class of the volume."),
    text("Reason", "Why the volume failed, if it did."),
    AGE,
    _VOLUME_MODE,
)
def persistent_volume(obj: Object, now: int) -> list[Cell]:
    spec = part(obj, "spec")
    claim = spec.get("claimRef")
    return [
        name_of(obj),
        quantity_text(part(spec, "capacity").get("storage")),
        _mode_text(items(spec, "accessModes")),
        spec.get("persistentVolumeReclaimPolicy") or "",
        _phase(obj),
        f"{claim.get('namespace') or ''}/{claim.get('name') or ''}" if claim else "",
        _storage_class(obj),
        _set_or_unset(spec, "volumeAttributesClassName"),
        part(obj, "status").get("reason") or "",
        created(obj, now),
        _set_or_unset(spec, "volumeMode"),
    ]


@STORAGE.of(
    "persistentvolumeclaims",
    NAME,
    text("Status", "Whether the claim is pending, bound or lost."),
    text("Volume", "Volume the claim is bound to."),
    text("Capacity", "Size of the volume."),
    text("Access Modes", "Ways the volume can be mounted."),
    text("StorageClass", "Storage class of the claim."),
    text("VolumeAttributesClass", "Attributes class of the claim."),
    AGE,
    _VOLUME_MODE,
)
def persistent_volume_claim(obj: Object, now: int) -> list[Cell]:
    spec, status = part(obj, "spec"), part(obj, "status")
    volume = spec.get("volumeName") or ""
    return [
        name_of(obj),
        _phase(obj),
        volume,
        quantity_text(part(status, "capacity").get("storage")) if volume else "",
        _mode_text(items(status, "accessModes")) if volume else "",
        _storage_class(obj),
        _set_or_unset(spec, "volumeAttributesClassName"),
        created(obj, now),
        _set_or_unset(spec, "volumeMode"),
    ]


_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


@STORAGE.of(
    "storageclasses.storage.k8s.io",
    NAME,
    text("Provisioner", "Who makes volumes of this class."),
    text("ReclaimPolicy", "What becomes of volumes whose claim is gone."),
    text("VolumeBindingMode", "When claims are bound."),
    text("AllowVolumeExpansion", "Whether claims may grow."),
    AGE,
)
def storage_class(obj: Object, now: int) -> list[Cell]:
    annotations = part(obj, "metadata", "annotations")
    is_default = any(annotations.get(key) == "true" for key in _DEFAULT_CLASS)
    return [
        f"{name_of(obj)} (default)" if is_default else name_of(obj),
        obj.get("provisioner") or "",
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        bool(obj.get("allowVolumeExpansion")),
        created(obj, now),
    ]


@STORAGE.of("volumeattributesclasses.storage.k8s.io", NAME, text("DriverName", "Driver the class belongs to."), AGE)
def volume_attributes_class(obj: Object, now: int) -> list[Cell]:
    return [name_of(obj), obj.get("driverName") or "", created(obj, now)]


@STORAGE.of(
    "volumeattachments.storage.k8s.io",
    NAME,
    column("Attacher", "string", "Driver that attaches.", form="name"),
    text("PV", "Volume to attach."),
    text("Node", "Node to attach it to."),
    boolean("Attached", "Whether it is attached."),
    AGE,
)
def volume_attachment(obj: Object, now: int) -> list[Cell]:
    spec = part(obj, "spec")
    return [
        name_of(obj),
        spec.get("attacher") or "",
        part(spec, "source").get("persistentVolumeName") or "",
        spec.get("nodeName") or "",
        bool(part(obj, "status").get("attached")),
        created(obj, now),
    ]


@STORAGE.of("csinodes.storage.k8s.io", NAME, integer("Drivers", "Storage drivers on the node."), AGE)
def csi_node(obj: Object, now: int) -> list[Cell]:
    return [name_of(obj), len(items(part(obj, "spec"), "drivers")), created(obj, now)]


@STORAGE.of(
    "csidrivers.storage.k8s.io",
    NAME,
    boolean("AttachRequired", "Whether volumes must be attached before use."),
    boolean("PodInfoOnMount", "Whether mounts are told about the pod."),
    boolean("StorageCapacity", "Whether the scheduler should heed capacity."),
    text("TokenRequests", "Audiences of the tokens the driver gets."),
    boolean("RequiresRepublish", "Whether volumes are published again from time to time."),
    text("Modes", "Life cycles of volumes the driver knows."),
    AGE,
)
def csi_driver(obj: Object, now: int) -> list[Cell]:
    spec = part(obj, "spec")
    tokens = items(spec, "tokenRequests")
    attach = spec.get("attachRequired")
    return [
        name_of(obj),
        True if attach is None else attach,
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        ",".join(token.get("audience") or "" for token in tokens) if tokens else "<unset>",
        bool(spec.get("requiresRepublish")),
        ",".join(items(spec, "volumeLifecycleModes")) or "<none>",
        created(obj, now),
    ]
