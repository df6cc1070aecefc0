"""Replicas: the pods of a StatefulSet by their numbers, and what a new one of them looks like.

The *ordinal* of a pod is the number at the end of its name. For each claim template, a pod has a claim of its own,
named after the template and the pod, which outlives the pod unless the set says otherwise.
"""

from __future__ import annotations

from ghostfleet.api.quotas import charge_quotas
from ghostfleet.api.strategy import apply_defaults, prepare_for_create
from ghostfleet.controllers.pods import PodCreator, is_available, is_ready, owner_reference
from ghostfleet.controllers.revisions import HASH
from ghostfleet.controllers.volumes.protection import CLAIM_PROTECTION
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import ApiError
from ghostfleet.core.store import Store

__all__ = [
    "CLAIMS",
    "claim_names",
    "create_claims",
    "create_replica",
    "is_running_and_available",
    "ordinal_of",
    "ordinals",
    "revision_name",
]

CLAIMS = "persistentvolumeclaims"


def ordinal_of(owner: Object, pod: Object) -> int | None:
    """The number of a pod of this set."""
    prefix, _, number = pod["metadata"]["name"].rpartition("-")
    return int(number) if prefix == owner["metadata"]["name"] and number.isdigit() else None


def ordinals(owner: Object) -> range:
    """The numbers that the set's pods are to have."""
    start = (owner["spec"].get("ordinals") or {}).get("start", 0)
    return range(start, start + owner["spec"]["replicas"])


def revision_name(pod: Object) -> str:
    """The revision that a pod was made from."""
    name: str = (pod["metadata"].get("labels") or {}).get(HASH, "")
    return name


def is_running_and_available(pod: Object, seconds: int, now: int) -> bool:
    return bool(pod["status"].get("phase") == "Running") and is_ready(pod) and is_available(pod, seconds, now)


def claim_names(owner: Object, ordinal: int) -> list[tuple[Object, str]]:
    """The claim templates of a set, each with the name of a pod's own claim."""
    pod = f"{owner['metadata']['name']}-{ordinal}"
    templates = owner["spec"].get("volumeClaimTemplates") or ()
    return [(template, f"{template['metadata']['name']}-{pod}") for template in templates]


def create_claims(store: Store, owner: Object, ordinal: int) -> list[str]:
    """Create the claims that a pod needs and that are not there; their names."""
    namespace, created = owner["metadata"]["namespace"], []
    policy = owner["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    for template, name in claim_names(owner, ordinal):
        if store.find(CLAIMS, namespace, name) is not None:
            continue
        own = template["metadata"]
        labels = {**(own.get("labels") or {}), **(owner["spec"]["selector"].get("matchLabels") or {})}
        metadata = {**own, "name": name, "namespace": namespace, "labels": labels, "finalizers": [CLAIM_PROTECTION]}
        if policy.get("whenDeleted") == "Delete":
            metadata["ownerReferences"] = [owner_reference(owner)]
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": template["spec"]}
        claim = prepare_for_create(CLAIMS, apply_defaults(CLAIMS, claim))
        charge_quotas(store, CLAIMS, claim)
        store.create(CLAIMS, claim)
        created.append(name)
    return created


def create_replica(
    store: Store, creator: PodCreator, owner: Object, ordinal: int, template: Object, revision: str
) -> Object | None:
    """Create the pod of an ordinal; None when its namespace is on its way out."""
    name = f"{owner['metadata']['name']}-{ordinal}"
    spec = template["spec"]
    claims = [
        {"name": each["metadata"]["name"], "persistentVolumeClaim": {"claimName": claim}}
        for each, claim in claim_names(owner, ordinal)
    ]
    if claims:
        taken = {each["name"] for each in claims}
        volumes = [*claims, *(each for each in spec.get("volumes") or () if each["name"] not in taken)]
        template = {**template, "spec": {**spec, "volumes": volumes}}
    identity: Object = {"hostname": name}
    if owner["spec"].get("serviceName"):
        identity["subdomain"] = owner["spec"]["serviceName"]
    labels = {
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": str(ordinal),
        HASH: revision,
    }
    try:
        return creator.create(store, owner, template, name=name, labels=labels, spec=identity)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
        return None
