"""What two clusters are compared by: the state that KAI left, without what chance gives.

Names, UIDs and GPU groups are drawn by lot, so pods are known by their owner (`training` for all pods of a ReplicaSet
of this name, `training-worker` for all workers of a PyTorchJob) and groups by who shares them. Which of several equal
pods has which place is open; how many are where is not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from ghostfleet.core.quantity import parse

Object = dict[str, Any]
State = dict[str, dict[str, Any]]

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ROLE_LABEL = "training.kubeflow.org/replica-type"
_GROUP_LABEL = "runai-gpu-group"
_RESERVATION = "kai-resource-reservation"
_GROUP_SPEC = (
    "minMember", "queue", "priorityClassName", "preemptibility", "subGroups", "topologyConstraint", "markUnschedulable",
)  # fmt: skip


def end_state(pods: Iterable[Object], groups: Iterable[Object], queues: Iterable[Object]) -> State:
    """Pods, pod groups and queues by names that both clusters have."""
    pods = [each for each in pods if each["metadata"]["namespace"] != "kube-system"]
    own = [each for each in pods if each["metadata"]["namespace"] != _RESERVATION]
    held = Counter(each["spec"].get("nodeName", "") for each in pods if each not in own)
    names = dict(_named_groups(groups, own))
    return {
        "pods": _pods(own),
        "reservations": dict(sorted(held.items())),
        "pod groups": names,
        "queues": {each["metadata"]["name"]: _queue(each) for each in queues},
        "told": _told(own),
    }


def grouped(state: State) -> Any:
    """Which pods there are, and in which groups."""
    found = {name: each if isinstance(each, list) else [each] for name, each in state["pod groups"].items()}
    return sorted(state["pods"]), {name: [each["pods"] for each in same] for name, same in found.items()}


def differences(real: Any, ours: Any, path: str = "") -> list[tuple[str, Any, Any]]:
    """Where two states differ: the path, and what either has there."""
    if isinstance(real, dict) and isinstance(ours, dict):
        found = []
        for key in sorted({*real, *ours}):
            found += differences(real.get(key), ours.get(key), f"{path}.{key}" if path else key)
        return found
    return [] if real == ours else [(path, real, ours)]


def pod_name(pod: Object) -> str:
    """What a pod is called in both clusters."""
    for owner in pod["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            role = (pod["metadata"].get("labels") or {}).get(_ROLE_LABEL)
            # A Deployment's ReplicaSet has a name of its own, with a hash.
            name = re.sub(r"-[0-9a-f]{6,10}$", "", owner["name"])
            return f"{name}-{role}" if role else name
    return str(pod["metadata"]["name"])


def evicted(before: Iterable[Object], after: Iterable[Object]) -> dict[str, int]:
    """How many pods of each name are no longer there."""
    there = {each["metadata"]["uid"] for each in after if "deletionTimestamp" not in each["metadata"]}
    gone = (each for each in before if each["metadata"]["uid"] not in there)
    return dict(Counter(pod_name(each) for each in gone if each["metadata"]["namespace"] != _RESERVATION))


def _pods(pods: list[Object]) -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for pod in pods:
        leaving = " leaving" if "deletionTimestamp" in pod["metadata"] else ""
        sharing = _sharing(pod, pods)
        place = f"{pod['status'].get('phase')} on {pod['spec'].get('nodeName') or 'no node'}{leaving}{sharing}"
        places.setdefault(pod_name(pod), []).append(place)
    return {name: sorted(found) for name, found in sorted(places.items())}


def _sharing(pod: Object, pods: list[Object]) -> str:
    groups = _gpu_groups(pod)
    if not groups:
        return ""
    others = sorted(pod_name(each) for each in pods if each is not pod and groups & _gpu_groups(each))
    return f" on {len(groups)} shared GPUs with {', '.join(others) or 'nobody'}"


def _gpu_groups(pod: Object) -> set[str]:
    labels = pod["metadata"].get("labels") or {}
    return {value for key, value in labels.items() if key.partition("/")[0] == _GROUP_LABEL}


def _told(pods: list[Object]) -> dict[str, list[str]]:
    """Why pods wait, with the names of other pods as they are known here."""
    names = {
        f"pod {each['metadata']['namespace']}/{each['metadata']['name']}": f"pod {pod_name(each)}" for each in pods
    }
    told: dict[str, set[str]] = {}
    for pod in pods:
        for condition in pod["status"].get("conditions") or ():
            if condition["type"] == "PodScheduled" and condition["status"] == "False":
                words = f"{condition.get('reason')}: {_UID.sub('UID', condition.get('message', ''))}"
                for name, known in names.items():
                    words = words.replace(name, known)
                told.setdefault(pod_name(pod), set()).add(words)
    return {name: sorted(words) for name, words in sorted(told.items())}


def _named_groups(groups: Iterable[Object], pods: list[Object]) -> Iterator[tuple[str, Any]]:
    """Pod groups by the pods in them, since a group that nobody is in decides nothing."""
    members: dict[str, list[str]] = {}
    for pod in pods:
        group = (pod["metadata"].get("annotations") or {}).get("pod-group-name", "")
        members.setdefault(group, []).append(pod_name(pod))
    found: dict[str, list[Object]] = {}
    for group in groups:
        names = members.get(group["metadata"]["name"], [])
        if names:
            found.setdefault(", ".join(sorted(set(names))), []).append({"pods": len(names), **_group(group)})
    for name, same in sorted(found.items()):
        yield name, same[0] if len(same) == 1 else sorted(same, key=repr)


def _group(group: Object) -> Object:
    spec, status = group.get("spec") or {}, group.get("status") or {}
    kept = {key: spec[key] for key in _GROUP_SPEC if spec.get(key)}
    conditions = status.get("schedulingConditions") or ()
    reasons = sorted({each["reason"] for condition in conditions for each in condition.get("reasons") or ()})
    return {**kept, **_amounts(status.get("resourcesStatus") or {}), **({"unschedulable": reasons} if reasons else {})}


def _queue(queue: Object) -> Object:
    status = queue.get("status") or {}
    children = sorted(status.get("childQueues") or ())
    return {**_amounts(status), **({"childQueues": children} if children else {})}


def _amounts(status: Object) -> Object:
    """What is allocated and requested; nothing of a resource is the same as no word about it."""
    found = {}
    for sort in ("allocated", "allocatedNonPreemptible", "requested"):
        amounts = {name: parse(amount).nano / 1e9 for name, amount in (status.get(sort) or {}).items()}
        amounts = {name: amount for name, amount in amounts.items() if amount}
        if amounts:
            found[sort] = amounts
    return found
