"""Pods as controllers see them: whether they run, are ready, are on their way out, and which of them goes first; and
how they are made and removed.

A pod is *terminal* when it has succeeded or failed, *terminating* when it is marked for deletion and not terminal
yet, and *active* when it is neither. A *ready* pod is *available* once it has been ready for a while.

A new pod goes the way of any pod that a client creates: it is defaulted and admitted, which is worked out once for all
pods of equal templates, and charged to the quotas of its namespace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ghostfleet.api.admission import Admission
from ghostfleet.api.lifecycle import grace_period
from ghostfleet.api.strategy import finish_create
from ghostfleet.controllers.events import EventRecorder
from ghostfleet.controllers.requests import Request
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.errors import ApiError
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import parse_rfc3339, rfc3339

__all__ = [
    "TERMINAL",
    "PodCreator",
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
    "removal",
    "restarts",
    "with_condition",
]

TERMINAL = frozenset(("Succeeded", "Failed"))
_LONGEST_NAME = 253
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
    current = store.current("pods", pod)
    if current is None:
        return False
    metadata = pod["metadata"]
    store.delete("pods", metadata["namespace"], metadata["name"], grace=grace_period("pods", current, None))
    return True


def removal(owner: Object, pod: Object, recorder: EventRecorder) -> Request:
    """The request that deletes a pod of `owner`, and tells so."""
    return Request("delete", "pods", _remove, owner, pod, recorder)


def _remove(store: Store, owner: Object, pod: Object, recorder: EventRecorder) -> None:
    if delete_pod(store, pod):
        recorder.normal(owner, "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")


def _name_prefix(owner: str) -> str:
    """What the names of an owner's pods begin with."""
    return f"{owner}-" if len(owner) < _LONGEST_NAME else owner


class PodCreator:
    """Creates pods in one store for all controllers."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        #: What becomes of templates, shared with the API.
        self.templates = admission.templates

    def create(
        self,
        store: Store,
        owner: Object,
        template: Object,
        *,
        reference: list[Object] | None = None,
        name: str = "",
        prefix: str = "",
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        finalizers: list[str] | None = None,
        spec: Object | None = None,
        environment: Sequence[Object] = (),
        recorder: EventRecorder | None = None,
    ) -> Object | None:
        """Create a pod of `owner`; None when its namespace is on its way out. `labels` and the like are added.

        `spec` has fields to be set in this pod's spec only, `environment` variables for this pod's containers only. A
        `recorder` tells how it went. Errors are those of the API: a quota is used up, a priority class is not there.
        """
        own = owner["metadata"]
        namespace: str = own["namespace"]
        space = store.find("namespaces", "", namespace)
        if space is not None and "deletionTimestamp" in space["metadata"]:
            return None
        given = template.get("metadata") or {}
        metadata: Object = {"namespace": namespace}
        metadata["generateName"] = start = prefix or _name_prefix(own["name"])
        metadata["name"] = name or store.generate_name("pods", namespace, start)
        if labels or given.get("labels"):
            metadata["labels"] = {**(given.get("labels") or {}), **labels} if labels else given["labels"]
        if annotations or given.get("annotations"):
            more = given.get("annotations") or {}
            metadata["annotations"] = {**more, **annotations} if annotations else more
        if finalizers or given.get("finalizers"):
            metadata["finalizers"] = finalizers or given["finalizers"]
        metadata["ownerReferences"] = reference or [owner_reference(owner)]
        try:
            pod = self._admit(store, metadata, template["spec"], spec, environment)
        except ApiError as error:
            if recorder is not None:
                recorder.warning(owner, "FailedCreate", f"Error creating: {error.message}")
            raise
        if recorder is not None:
            recorder.normal(owner, "SuccessfulCreate", f"Created pod: {metadata['name']}")
        return pod

    def _admit(
        self, store: Store, metadata: Object, template: Object, spec: Object | None, environment: Sequence[Object]
    ) -> Object:
        admitted = self.templates.admitted(metadata["namespace"], template, metadata)
        own_spec = {**admitted.spec, **spec} if spec else admitted.spec
        if environment:
            own_spec = {**own_spec, "containers": _with_variables(own_spec["containers"], environment)}
        metadata = admitted.described(metadata)
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": own_spec, "status": admitted.status}
        if admitted.stamped:
            pod = finish_create("pods", pod, now=rfc3339(store.clock.now()))
        self._admission.review("pods", None, pod)
        self._admission.charge("pods", pod)
        return store.add("pods", pod)


def _with_variables(containers: Sequence[Object], variables: Sequence[Object]) -> list[Object]:
    return [{**container, "env": [*(container.get("env") or ()), *variables]} for container in containers]
