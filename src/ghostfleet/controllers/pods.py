"""Pods as controllers see them: whether they run, are ready, are on their way out, and which of them goes first.

A pod is *terminal* when it has succeeded or failed, *terminating* when it is marked for deletion and not terminal
yet, and *active* when it is neither. A *ready* pod is *available* once it has been ready for a while.
"""

from __future__ import annotations

from collections.abc import Iterable

from ghostfleet.api.lifecycle import grace_period
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.errors import ApiError
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import parse_rfc3339

__all__ = [
    "TERMINAL",
    "condition_of",
    "controller_of",
    "delete_pod",
    "deletion_order",
    "disrupted",
    "is_active",
    "is_available",
    "is_ready",
    "is_terminal",
    "is_terminating",
    "owner_reference",
    "ready_since",
    "restarts",
    "with_condition",
]

TERMINAL = frozenset(("Succeeded", "Failed"))
_PHASE_ORDER = {"Pending": 0, "Unknown": 1, "Running": 2}


def is_terminal(pod: Object) -> bool:
    return pod["status"].get("phase") in TERMINAL


def is_active(pod: Object) -> bool:
    return "deletionTimestamp" not in pod["metadata"] and pod["status"].get("phase") not in TERMINAL


def is_terminating(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"] and pod["status"].get("phase") not in TERMINAL


def condition_of(obj: Object, kind: str) -> Object | None:
    """The condition of this type, if the object has it."""
    for condition in obj.get("status", {}).get("conditions") or ():
        if condition["type"] == kind:
            found: Object = condition
            return found
    return None


def with_condition(conditions: Iterable[Object], condition: Object) -> list[Object]:
    """The conditions with this one: in the place of the one of its type, or at the end."""
    listed = list(conditions)
    for index, each in enumerate(listed):
        if each["type"] == condition["type"]:
            listed[index] = condition
            return listed
    listed.append(condition)
    return listed


def disrupted(pod: Object, now: str, reason: str, message: str) -> Object:
    """The status of a pod that is going to be evicted."""
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "observedGeneration": pod["metadata"].get("generation", 1),
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }
    status: Object = pod["status"]
    return {**status, "conditions": with_condition(status.get("conditions") or (), condition)}


def is_ready(pod: Object) -> bool:
    for condition in pod["status"].get("conditions") or ():
        if condition["type"] == "Ready":
            ready: bool = condition["status"] == "True"
            return ready
    return False


def ready_since(pod: Object) -> int | None:
    """When the pod became ready; None when it is not, or when that is not known."""
    condition = condition_of(pod, "Ready")
    if condition is None or condition["status"] != "True" or not condition.get("lastTransitionTime"):
        return None
    return parse_rfc3339(condition["lastTransitionTime"])


def is_available(pod: Object, min_ready_seconds: int, now: int) -> bool:
    if not min_ready_seconds:
        return is_ready(pod)
    since = ready_since(pod)
    return since is not None and since + min_ready_seconds * SECOND <= now


def restarts(pod: Object) -> int:
    """The most restarts of one of the pod's containers."""
    return max((each.get("restartCount", 0) for each in pod["status"].get("containerStatuses") or ()), default=0)


def deletion_order(pod: Object) -> tuple[int, int, int, int, int, str, str]:
    """Sorts pods so that those come first that are missed least: unbound, not running, not ready, young."""
    since = ready_since(pod)
    created: str = pod["metadata"]["creationTimestamp"]
    return (
        1 if pod["spec"].get("nodeName") else 0,
        _PHASE_ORDER.get(pod["status"].get("phase", ""), 1),
        1 if is_ready(pod) else 0,
        -(since or 0),
        -restarts(pod),
        # Younger first: texts of one length sort as times do, so the complement of each digit reverses them.
        "".join(chr(127 - ord(character)) for character in created),
        pod["metadata"]["name"],
    )


def controller_of(obj: Object) -> Object | None:
    """The owner reference of the object's controller."""
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            found: Object = owner
            return found
    return None


def owner_reference(owner: Object) -> Object:
    """The reference by which an object names its controller."""
    metadata = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def delete_pod(store: Store, pod: Object) -> bool:
    """Delete a pod as a controller does, with its own grace period; false when it is gone or replaced already."""
    metadata = pod["metadata"]
    current = store.find("pods", metadata["namespace"], metadata["name"])
    if current is None or current["metadata"]["uid"] != metadata["uid"]:
        return False
    try:
        store.delete("pods", metadata["namespace"], metadata["name"], grace=grace_period("pods", current, None))
    except ApiError as error:
        if error.code != 404:
            raise
        return False
    return True
