"""Matching: which volume suits a claim."""

from __future__ import annotations

from collections.abc import Iterable

from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import compare
from ghostfleet.core.selectors import selector_from_object

__all__ = ["CLASS", "best_volume", "class_of", "is_for", "misfit"]

#: The annotation by which classes were named before they had a field.
CLASS = "volume.beta.kubernetes.io/storage-class"


def class_of(obj: Object) -> str:
    """The storage class that a claim asks for, or that a volume is of; empty for none."""
    annotations = obj["metadata"].get("annotations") or {}
    name: str = annotations.get(CLASS) or obj["spec"].get("storageClassName") or ""
    return name


def is_for(volume: Object, claim: Object) -> bool:
    """Whether a volume is set aside for, or bound to, this claim."""
    reference = volume["spec"].get("claimRef")
    if reference is None:
        return False
    metadata = claim["metadata"]
    named = (reference.get("name"), reference.get("namespace")) == (metadata["name"], metadata["namespace"])
    return named and reference.get("uid", metadata["uid"]) == metadata["uid"]


def misfit(volume: Object, claim: Object) -> str:
    """Why a volume cannot be bound to a claim, in words; empty when it can."""
    spec, wanted = volume["spec"], claim["spec"]
    requested = ((wanted.get("resources") or {}).get("requests") or {}).get("storage", "0")
    if compare((spec.get("capacity") or {}).get("storage", "0"), requested) < 0:
        return "requested PV is too small"
    if class_of(volume) != class_of(claim):
        return "storageClassName does not match"
    if spec.get("volumeMode", "Filesystem") != wanted.get("volumeMode", "Filesystem"):
        return "incompatible volumeMode"
    if not set(wanted.get("accessModes") or ()) <= set(spec.get("accessModes") or ()):
        return "incompatible accessMode"
    return ""


def best_volume(volumes: Iterable[Object], claim: Object, *, delayed: bool) -> Object | None:
    """The volume to bind to a claim: one that is set aside for it, or else the smallest that suits.

    When binding is delayed until the claim is used, only a volume that was set aside for it will do.
    """
    selector = selector_from_object(claim["spec"]["selector"]) if claim["spec"].get("selector") else None
    best: Object | None = None
    for volume in volumes:
        if "deletionTimestamp" in volume["metadata"]:
            continue
        if is_for(volume, claim):
            return volume
        if delayed or volume["spec"].get("claimRef") or (volume.get("status") or {}).get("phase") != "Available":
            continue
        if misfit(volume, claim) or (selector and not selector.matches(volume["metadata"].get("labels"))):
            continue
        if best is None or compare(best["spec"]["capacity"]["storage"], volume["spec"]["capacity"]["storage"]) > 0:
            best = volume
    return best
