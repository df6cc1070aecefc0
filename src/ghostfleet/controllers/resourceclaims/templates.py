"""Claims from templates: a claim belongs to the pod it was made for, and says which of the pod's claims it is."""

from __future__ import annotations

from ghostfleet.core.changes import Object

__all__ = ["POD_CLAIM", "claim_from", "name_prefix"]

#: The pod's own name for the claim.
POD_CLAIM = "resource.kubernetes.io/pod-claim-name"
#: What is left of a name for what comes before five random characters (pkg/controller/resourceclaim/controller.go).
_LONGEST = 57


def name_prefix(pod: str, claim: str) -> str:
    """What the name of a claim begins with; both names are cut when they are too long."""
    whole = f"{pod}-{claim}-"
    if len(whole) <= _LONGEST:
        return whole
    # The second cut is by the length of the first whole, too.
    return f"{pod[: len(pod) * _LONGEST // len(whole)]}-{claim[: len(claim) * _LONGEST // len(whole)]}"


def claim_from(template: Object, pod: Object, pod_claim: str, name: str, prefix: str) -> Object:
    """The claim of a pod; it shares the template's spec, so that claims made alike are seen to be."""
    own, given = pod["metadata"], template["spec"].get("metadata") or {}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": own["name"], "uid": own["uid"], "controller": True}
    metadata: Object = {
        "name": name,
        "generateName": prefix,
        "namespace": own["namespace"],
        "annotations": {**(given.get("annotations") or {}), POD_CLAIM: pod_claim},
        "ownerReferences": [owner],
    }
    if given.get("labels"):
        metadata["labels"] = given["labels"]
    spec = template["spec"]["spec"]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": spec,
        "status": {},
    }
