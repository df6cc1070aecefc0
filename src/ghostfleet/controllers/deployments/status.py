"""Status: how a Deployment's rollout goes, in numbers and conditions.

*Available* says whether enough pods are; *Progressing* whether the rollout moves, has ended, or has not moved for
longer than its deadline; *ReplicaFailure* repeats what a replica set could not do.
"""

from __future__ import annotations

from ghostfleet.controllers.deployments.amounts import available, max_unavailable, present, wanted
from ghostfleet.controllers.pods import condition_of
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.timestamps import parse_rfc3339, rfc3339

__all__ = ["has_deadline", "is_complete", "put_condition", "rollout_status", "stuck_in", "summed_status"]

_MAX_INT32 = 2**31 - 1
_NUMBERS = (
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
)


def has_deadline(deployment: Object) -> bool:
    return bool(deployment["spec"].get("progressDeadlineSeconds", _MAX_INT32) != _MAX_INT32)


def put_condition(status: Object, now: int, kind: str, value: str, reason: str, message: str) -> Object:
    """The status with a condition; as it is, when the condition has this status and reason already."""
    conditions = status.get("conditions") or []
    before = next((each for each in conditions if each["type"] == kind), None)
    if before is not None and (before["status"], before["reason"]) == (value, reason):
        return status
    time = rfc3339(now)
    since = before["lastTransitionTime"] if before is not None and before["status"] == value else time
    condition = {
        "type": kind,
        "status": value,
        "lastUpdateTime": time,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    return {**status, "conditions": [*(each for each in conditions if each["type"] != kind), condition]}


def _without_condition(status: Object, kind: str) -> Object:
    conditions = [each for each in status.get("conditions") or () if each["type"] != kind]
    rest = {key: value for key, value in status.items() if key != "conditions"}
    return {**rest, "conditions": conditions} if conditions else rest


def summed_status(deployment: Object, sets: list[Object], new: Object | None, now: int) -> Object:
    """The numbers of all sets, and whether enough pods are available."""
    old = deployment.get("status") or {}
    usable = available(sets)
    numbers = {
        "replicas": present(sets),
        "updatedReplicas": present([new]) if new is not None else 0,
        "readyReplicas": present(sets, "readyReplicas"),
        "availableReplicas": usable,
        "unavailableReplicas": max(wanted(sets) - usable, 0),
    }
    status = {"observedGeneration": deployment["metadata"].get("generation", 1)}
    status |= {key: value for key, value in numbers.items() if value}
    status["terminatingReplicas"] = present(sets, "terminatingReplicas")
    status |= {key: old[key] for key in ("collisionCount", "conditions") if key in old}
    if usable >= deployment["spec"]["replicas"] - max_unavailable(deployment):
        reason, message, value = "MinimumReplicasAvailable", "Deployment has minimum availability.", "True"
    else:
        reason, message = "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
        value = "False"
    return put_condition(status, now, "Available", value, reason, message)


def is_complete(deployment: Object, status: Object) -> bool:
    """Whether all replicas are of the new revision, and available."""
    desired = deployment["spec"]["replicas"]
    numbers = [status.get(key, 0) for key in ("updatedReplicas", "replicas", "availableReplicas")]
    seen = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 1)
    return numbers == [desired] * 3 and seen


def rollout_status(deployment: Object, sets: list[Object], new: Object | None, now: int) -> Object:
    """The summed status, and how the rollout progresses."""
    status = summed_status(deployment, sets, new, now)
    before = condition_of(deployment, "Progressing")
    if not has_deadline(deployment):
        status = _without_condition(status, "Progressing")
    else:
        ended = before is not None and before["reason"] == "NewReplicaSetAvailable"
        if not (ended and status.get("replicas", 0) == status.get("updatedReplicas", 0)):
            status = _with_progress(deployment, status, new, before, now)
    failure = _failure(sets, new)
    if failure is None:
        return _without_condition(status, "ReplicaFailure")
    return put_condition(status, now, "ReplicaFailure", failure["status"], failure["reason"], failure["message"])


def _with_progress(deployment: Object, status: Object, new: Object | None, before: Object | None, now: int) -> Object:
    name = deployment["metadata"]["name"]
    subject = f'ReplicaSet "{new["metadata"]["name"]}"' if new is not None else f'Deployment "{name}"'
    if is_complete(deployment, status):
        message = f"{subject} has successfully progressed."
        return put_condition(status, now, "Progressing", "True", "NewReplicaSetAvailable", message)
    if _moves(deployment.get("status") or {}, status):
        moved = _without_condition(status, "Progressing")
        moved = put_condition(moved, now, "Progressing", "True", "ReplicaSetUpdated", f"{subject} is progressing.")
        if before is not None and before["status"] == "True":
            moved["conditions"][-1]["lastTransitionTime"] = before["lastTransitionTime"]
        return moved
    if before is not None and _timed_out(deployment, before, now):
        message = f"{subject} has timed out progressing."
        return put_condition(status, now, "Progressing", "False", "ProgressDeadlineExceeded", message)
    return status


def _moves(old: Object, new: Object) -> bool:
    outdated_before = old.get("replicas", 0) - old.get("updatedReplicas", 0)
    outdated = new.get("replicas", 0) - new.get("updatedReplicas", 0)
    return outdated < outdated_before or any(
        new.get(key, 0) > old.get(key, 0) for key in ("updatedReplicas", "readyReplicas", "availableReplicas")
    )


def _timed_out(deployment: Object, condition: Object, now: int) -> bool:
    if condition["reason"] in ("NewReplicaSetAvailable", "ProgressDeadlineExceeded"):
        return bool(condition["reason"] == "ProgressDeadlineExceeded")
    return _deadline(deployment, condition) < now


def _deadline(deployment: Object, condition: Object) -> int:
    span: int = deployment["spec"]["progressDeadlineSeconds"] * SECOND
    return parse_rfc3339(condition["lastUpdateTime"]) + span


def stuck_in(deployment: Object, status: Object, now: int) -> int | None:
    """Microseconds until a rollout that does not move any more is to be called stuck; None when it is over."""
    condition = condition_of(deployment, "Progressing")
    if not has_deadline(deployment) or condition is None or is_complete(deployment, status):
        return None
    if condition["reason"] == "ProgressDeadlineExceeded":
        return None
    return max(_deadline(deployment, condition) - now, 0) + SECOND


def _failure(sets: list[Object], new: Object | None) -> Object | None:
    for each in ([new] if new is not None else []) + sets:
        condition = condition_of(each, "ReplicaFailure")
        if condition is not None:
            return condition
    return None
