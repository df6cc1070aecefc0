"""Admission of pods: what a default API server adds to them from its own settings and from other objects.

A pod gets a service account, the priority of its priority class, and tolerations that keep it for five minutes on a
node that is not ready or cannot be reached. Nothing is mounted for the service account: there is nobody to read a
token.
"""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.core.changes import Object
from ghostfleet.core.errors import forbidden

__all__ = ["SYSTEM_PRIORITIES", "admit_pod", "admit_pod_update"]

#: Classes that every cluster has; names that begin with `system-` are theirs.
SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}

_PREEMPTS = "PreemptLowerPriority"
_MIRROR = "kubernetes.io/config.mirror"
_TOLERATED = tuple(
    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
)


def admit_pod(
    pod: Object,
    *,
    priority_class: Callable[[str], Object | None],
    default_priority_class: Callable[[], Object | None],
) -> Object:
    """A new pod as it is admitted; 403 when its priority is not its class's, or its class is unknown.

    `priority_class` finds a PriorityClass by name; `default_priority_class` gives the one for pods that name none.
    """
    spec: Object = pod.get("spec") or {}
    added = _account(pod, spec) | _priority(pod, spec, priority_class, default_priority_class)
    tolerations = spec.get("tolerations")
    tolerating = _tolerations(tolerations)
    if tolerating is not tolerations:
        added["tolerations"] = tolerating
    if all(spec.get(key) == value for key, value in added.items()):
        return pod
    return {**pod, "spec": {**spec, **added}}


def admit_pod_update(old: Object, new: Object) -> Object:
    """A changed pod as it is admitted: what admission gave it stays with it, though the client leaves it out."""
    before, spec = old.get("spec") or {}, new.get("spec") or {}
    added = {
        key: before[key]
        for key in ("priority", "preemptionPolicy")
        if spec.get(key) is None and before.get(key) is not None
    }
    tolerations = spec.get("tolerations")
    tolerating = _tolerations(tolerations)
    if tolerating is not tolerations:
        added["tolerations"] = tolerating
    return {**new, "spec": {**spec, **added}} if added else new


def _account(pod: Object, spec: Object) -> Object:
    # A mirror pod shows what a kubelet runs on its own; it must stay as the kubelet wrote it.
    if _MIRROR in ((pod.get("metadata") or {}).get("annotations") or ()):
        return {}
    account = spec.get("serviceAccountName") or "default"
    return {"serviceAccountName": account, "serviceAccount": account}


def _priority(
    pod: Object,
    spec: Object,
    priority_class: Callable[[str], Object | None],
    default_priority_class: Callable[[], Object | None],
) -> Object:
    name = spec.get("priorityClassName")
    if name:
        found = priority_class(name) or _system_class(name)
        if found is None:
            raise forbidden("pods", _shown_name(pod), f"no PriorityClass with name {name} was found")
    else:
        found = default_priority_class() or {}
        name = found.get("metadata", {}).get("name", "")
    priority, policy = found.get("value", 0), found.get("preemptionPolicy") or _PREEMPTS
    _refuse_other_priority(pod, spec, priority, policy)
    added = {"priority": priority, "preemptionPolicy": policy}
    return {**added, "priorityClassName": name} if name else added


def _system_class(name: str) -> Object | None:
    value = SYSTEM_PRIORITIES.get(name)
    return None if value is None else {"value": value, "preemptionPolicy": _PREEMPTS}


def _refuse_other_priority(pod: Object, spec: Object, priority: int, policy: str) -> None:
    computed = "priority admission controller computed {} from the given PriorityClass name"
    given = spec.get("priority")
    if given is not None and given != priority:
        why = f"the integer value of priority ({given}) must not be provided in pod spec; "
        raise forbidden("pods", _shown_name(pod), why + computed.format(priority))
    given = spec.get("preemptionPolicy")
    if given is not None and given != policy:
        why = f"the string value of PreemptionPolicy ({given}) must not be provided in pod spec; "
        raise forbidden("pods", _shown_name(pod), why + computed.format(policy))


def _shown_name(pod: Object) -> str:
    metadata = pod.get("metadata") or {}
    return metadata.get("name") or metadata.get("generateName") or "Unknown"


def _tolerations(tolerations: list[Object] | None) -> list[Object] | None:
    """With the defaults that are not tolerated yet; the same list when all are."""
    missing = [default for default in _TOLERATED if not any(_covers(one, default) for one in tolerations or ())]
    return [*(tolerations or ()), *missing] if missing else tolerations


def _covers(toleration: Object, default: Object) -> bool:
    return (toleration.get("key") or default["key"]) == default["key"] and (
        toleration.get("effect") or "NoExecute"
    ) == "NoExecute"
