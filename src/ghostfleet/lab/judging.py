"""Judging: whether a workload has come to its end, and how, by what its objects say.

Kinds say it differently: Jobs and PyTorchJobs by a condition, pods and Run:ai's kinds by a phase. All of them are
understood, so that a type needs no code of its own. So is how many pods they ask for.
"""

from __future__ import annotations

from ghostfleet.core.changes import Object

__all__ = ["ended_at", "outcome", "pods_at_once", "why"]

_GOOD = frozenset({"Complete", "Completed", "Succeeded"})
_BAD = frozenset({"Failed", "Error"})


def outcome(obj: Object) -> str:
    """`Succeeded` or `Failed`; "" while it has not ended."""
    status = obj.get("status")
    if not status:
        return ""
    phase = status.get("phase")
    if phase in _GOOD:
        return "Succeeded"
    if phase in _BAD:
        return "Failed"
    condition = _final(status)
    if condition is None:
        return ""
    return "Succeeded" if condition["type"] in _GOOD else "Failed"


def ended_at(obj: Object) -> str | None:
    """When it ended, as the cluster wrote it."""
    status = obj.get("status") or {}
    if status.get("completionTime"):
        return str(status["completionTime"])
    condition = _final(status)
    return (
        str(condition["lastTransitionTime"]) if condition is not None and condition.get("lastTransitionTime") else None
    )


def why(obj: Object) -> str:
    """Why it failed, in one line; "" when it did not."""
    if outcome(obj) != "Failed":
        return ""
    status = obj["status"]
    final = _final(status) or status
    words = [str(final.get(key)) for key in ("reason", "message") if final.get(key)]
    return ": ".join(words).replace("\n", " ") or "Failed"


def pods_at_once(obj: Object) -> int:
    """How many pods it wants at the same time; 0 when it does not say."""
    spec = obj.get("spec") or {}
    replicas = spec.get("pytorchReplicaSpecs")
    if replicas:
        return sum(int(each.get("replicas", 1)) for each in replicas.values())
    if "parallelism" in spec or "completions" in spec:
        parallel = int(spec.get("parallelism", 1))
        return min(parallel, int(spec.get("completions") or parallel))
    return int(spec.get("replicas", 0)) if isinstance(spec.get("replicas", 0), int) else 0


def _final(status: Object) -> Object | None:
    for condition in status.get("conditions") or ():
        if condition.get("status") == "True" and condition.get("type") in _GOOD | _BAD:
            found: Object = condition
            return found
    return None
