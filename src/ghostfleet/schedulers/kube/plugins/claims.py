"""Persistent volume claims of pods, as the volume plugins of kube-scheduler look at them.

A claim is *bound* when it has its volume. An unbound claim of a class that binds at once must be waited for; one that
waits for its first consumer can take a free volume, or have one made.
"""

from __future__ import annotations

from ghostfleet.core.changes import Object
from ghostfleet.core.quantity import parse
from ghostfleet.core.selectors import selector_from_object
from ghostfleet.core.store import Store
from ghostfleet.schedulers.framework.podinfo import SpecInfo

__all__ = [
    "KINDS",
    "claim_names",
    "class_name",
    "could_take",
    "find_claims",
    "has_claims",
    "is_bound",
    "is_for",
    "size_of",
    "volume_size",
]

#: What the volume plugins look at in the store.
KINDS = ("persistentvolumeclaims", "persistentvolumes", "storageclasses.storage.k8s.io")
_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"


def has_claims(info: SpecInfo) -> bool:
    """Whether pods of this spec have claims."""
    return bool(info.claims or info.ephemeral)


def claim_names(pod: Object, info: SpecInfo) -> list[str]:
    """The names of a pod's claims; those made for the pod are named after it."""
    return [*info.claims, *(f"{pod['metadata']['name']}-{volume}" for volume in info.ephemeral)]


def find_claims(store: Store, pod: Object, info: SpecInfo) -> list[Object]:
    """The claims of a pod that are there."""
    namespace = pod["metadata"]["namespace"]
    found = (store.find("persistentvolumeclaims", namespace, each) for each in claim_names(pod, info))
    return [claim for claim in found if claim is not None]


def is_bound(claim: Object) -> bool:
    completed = _BIND_COMPLETED in (claim["metadata"].get("annotations") or {})
    return bool(claim["spec"].get("volumeName")) and (completed or (claim.get("status") or {}).get("phase") == "Bound")


def class_name(claim: Object) -> str:
    old = (claim["metadata"].get("annotations") or {}).get("volume.beta.kubernetes.io/storage-class")
    name: str = old if old is not None else claim["spec"].get("storageClassName") or ""
    return name


def size_of(claim: Object) -> int:
    return parse(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", 0)).nano


def volume_size(volume: Object) -> int:
    return parse((volume["spec"].get("capacity") or {}).get("storage", 0)).nano


def is_for(volume: Object, claim: Object) -> bool:
    reference = volume["spec"].get("claimRef") or {}
    metadata = claim["metadata"]
    same = reference.get("name") == metadata["name"] and reference.get("namespace") == metadata["namespace"]
    return same and reference.get("uid", "") in ("", metadata["uid"])


def could_take(claim: Object, volume: Object) -> bool:
    spec, wanted = volume["spec"], claim["spec"]
    if spec.get("claimRef") is not None and not is_for(volume, claim):
        return False
    if volume_size(volume) < size_of(claim) or "deletionTimestamp" in volume["metadata"]:
        return False
    if spec.get("volumeMode", "Filesystem") != wanted.get("volumeMode", "Filesystem"):
        return False
    if (spec.get("volumeAttributesClassName") or "") != (wanted.get("volumeAttributesClassName") or ""):
        return False
    if is_for(volume, claim):
        return True
    selector = wanted.get("selector")
    return (
        (volume.get("status") or {}).get("phase") == "Available"
        and (spec.get("storageClassName") or "") == class_name(claim)
        and set(wanted.get("accessModes") or ()) <= set(spec.get("accessModes") or ())
        and (selector is None or selector_from_object(selector).matches(volume["metadata"].get("labels")))
    )
