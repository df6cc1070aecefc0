"""The claims of pods: which ResourceClaims a pod uses, and whether they are its to use.

A pod names a claim, or a template; the claim made from a template has a name of its own, which the pod's status tells,
and belongs to the pod. So does the claim that the scheduler makes for its extended resources. Whoever uses a claim is
among its *consumers* (`status.reservedFor`), of which there may be 256.
"""

from __future__ import annotations

from collections.abc import Iterator

from ghostfleet.core.changes import Object
from ghostfleet.core.store import Store

__all__ = [
    "CLAIMS",
    "CLASSES",
    "EXTENDED",
    "FINALIZER",
    "MOST_CONSUMERS",
    "SLICES",
    "TAINT_RULES",
    "TEMPLATES",
    "ClaimError",
    "allocation_of",
    "claim_names",
    "consumer",
    "consumers_of",
    "find_claims",
    "is_made_for",
    "is_reserved_for",
    "unprotected",
    "used_claims",
    "uses_claims",
]

CLAIMS = "resourceclaims.resource.k8s.io"
TEMPLATES = "resourceclaimtemplates.resource.k8s.io"
SLICES = "resourceslices.resource.k8s.io"
CLASSES = "deviceclasses.resource.k8s.io"
TAINT_RULES = "devicetaintrules.resource.k8s.io"
#: Keeps a claim while devices are allocated to it.
FINALIZER = "resource.kubernetes.io/delete-protection"
#: resource.k8s.io, ResourceClaimReservedForMaxSize
MOST_CONSUMERS = 256
#: The field of a pod's status that tells of the claim for its extended resources.
EXTENDED = "extendedResourceClaimStatus"


class ClaimError(Exception):
    """A pod cannot use its claims; the message is Kubernetes' own."""


def uses_claims(pod: Object) -> bool:
    return "resourceClaims" in pod["spec"] or EXTENDED in (pod.get("status") or ())


def used_claims(pod: Object) -> Iterator[tuple[str, bool]]:
    """As `claim_names`, and the claim for extended resources."""
    yield from claim_names(pod)
    extended = (pod.get("status") or {}).get(EXTENDED)
    if extended is not None:
        yield extended["resourceClaimName"], True


def claim_names(pod: Object) -> Iterator[tuple[str, bool]]:
    """The names of a pod's claims, and whether they have to belong to it; a ClaimError where one is not made yet."""
    metadata = pod["metadata"]
    for each in pod["spec"].get("resourceClaims") or ():
        if each.get("resourceClaimName"):
            yield each["resourceClaimName"], False
            continue
        where = f'pod "{metadata["namespace"]}/{metadata["name"]}"'
        if not each.get("resourceClaimTemplateName"):
            raise ClaimError(f'{where}, spec.resourceClaim "{each["name"]}": none of the supported fields are set')
        for made in (pod.get("status") or {}).get("resourceClaimStatuses") or ():
            if made["name"] == each["name"]:
                # Without a name it was found that the pod needs no claim.
                if made.get("resourceClaimName"):
                    yield made["resourceClaimName"], True
                break
        else:
            raise ClaimError(f"{where}: ResourceClaim not created yet")


def find_claims(store: Store, pod: Object) -> list[Object]:
    """The claims of a pod, all of them there, to stay, and its own; a ClaimError if not."""
    namespace = pod["metadata"]["namespace"]
    found = []
    for name, made in claim_names(pod):
        claim = store.find(CLAIMS, namespace, name)
        if claim is None:
            raise ClaimError(f'could not find ResourceClaim "{namespace}/{name}"')
        if "deletionTimestamp" in claim["metadata"]:
            raise ClaimError(f'resourceclaim "{name}" is being deleted')
        if made and not is_made_for(claim, pod):
            theirs, own = f"{namespace}/{name}", f"{namespace}/{pod['metadata']['name']}"
            raise ClaimError(f"ResourceClaim {theirs} was not created for Pod {own} (Pod is not owner)")
        found.append(claim)
    return found


def is_made_for(claim: Object, pod: Object) -> bool:
    owners = claim["metadata"].get("ownerReferences") or ()
    return any(each.get("controller") and each["uid"] == pod["metadata"]["uid"] for each in owners)


def allocation_of(claim: Object) -> Object | None:
    found: Object | None = (claim.get("status") or {}).get("allocation")
    return found


def consumers_of(claim: Object) -> list[Object]:
    found: list[Object] = (claim.get("status") or {}).get("reservedFor") or []
    return found


def is_reserved_for(claim: Object, pod: Object) -> bool:
    uid = pod["metadata"]["uid"]
    return any(each["uid"] == uid for each in consumers_of(claim))


def unprotected(claim: Object) -> Object:
    """The claim without the finalizer that keeps it."""
    metadata = dict(claim["metadata"])
    metadata["finalizers"] = [each for each in metadata.get("finalizers") or () if each != FINALIZER]
    if not metadata["finalizers"]:
        del metadata["finalizers"]
    return {**claim, "metadata": metadata}


def consumer(pod: Object) -> Object:
    """A pod as claims refer to it."""
    metadata = pod["metadata"]
    return {"resource": "pods", "name": metadata["name"], "uid": metadata["uid"]}
