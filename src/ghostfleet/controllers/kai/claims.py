"""Claims of a pod that is to be bound: volumes that wait for its node, and devices that it was allotted.

A volume claim that waits for its first consumer is told the node, and the pod waits until the claim is bound. A device
claim gets the allocation that the bind request holds, and the pod is noted down as its user.
"""

from __future__ import annotations

from ghostfleet.controllers.requests import Request, Steps
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import ApiError
from ghostfleet.core.store import Reader, Store

__all__ = ["VOLUME_CLAIMS", "allot_devices", "unbound_claims", "with_selected_node"]

VOLUME_CLAIMS = "persistentvolumeclaims"
_DEVICE_CLAIMS = "resourceclaims.resource.k8s.io"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"


def unbound_claims(store: Reader, pod: Object) -> list[Object]:
    """The volume claims of a pod that have no volume yet; those that are not there cannot be waited for."""
    own = pod["metadata"]
    unbound = []
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            name = volume["persistentVolumeClaim"]["claimName"]
        elif "ephemeral" in volume:
            name = f"{own['name']}-{volume['name']}"
        else:
            continue
        claim = store.find(VOLUME_CLAIMS, own["namespace"], name)
        if claim is None:
            raise ApiError(404, "NotFound", f'persistentvolumeclaim "{name}" not found')
        if (claim.get("status") or {}).get("phase") != "Bound":
            unbound.append(claim)
    return unbound


def with_selected_node(claim: Object, node: str) -> Object | None:
    """A volume claim that knows where its first consumer goes; None when it does already."""
    notes = claim["metadata"].get("annotations") or {}
    if notes.get(_SELECTED_NODE) == node:
        return None
    return {**claim, "metadata": {**claim["metadata"], "annotations": {**notes, _SELECTED_NODE: node}}}


def allot_devices(pod: Object, request: Object) -> Steps:
    """Write the allocations of a bind request into the pod's device claims."""
    for allotted in request["spec"].get("resourceClaimAllocations") or ():
        name = _claim_name(pod, allotted.get("name", ""))
        if allotted.get("allocation") is None:
            raise _problem(f"empty status for claim {allotted.get('name', '')} in bind request for pod {_named(pod)}")
        yield Request("update", f"{_DEVICE_CLAIMS}/status", _allot, pod, name, allotted["allocation"])


def _allot(store: Store, pod: Object, claim: str, allocation: Object) -> None:
    place = (_DEVICE_CLAIMS, pod["metadata"]["namespace"], claim)
    status = dict(store.get(*place).get("status") or {})
    status.setdefault("allocation", allocation)
    user = {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
    users = status.get("reservedFor") or []
    store.patch_status(*place, {**status, "reservedFor": users if user in users else [*users, user]})


def _claim_name(pod: Object, name: str) -> str:
    """What a pod's claim is called, which may have been made for it."""
    made = {each["name"]: each.get("resourceClaimName") for each in pod["status"].get("resourceClaimStatuses") or ()}
    for each in pod["spec"].get("resourceClaims") or ():
        if each["name"] == name:
            found: str | None = each.get("resourceClaimName") or made.get(name)
            if found:
                return found
            why = f"no resource claim name found for pod {_named(pod)} and claim reference {name}"
            raise _problem(f"failed to get claim {name} name for pod {_named(pod)}: {why}")
    raise _problem(f"claim {name} from bind request not found in pod {_named(pod)}")


def _named(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _problem(message: str) -> ApiError:
    return ApiError(500, "InternalError", message)
