"""Policies of a Job: what a failed pod means for it, and which successes are enough.

Each rule of a *pod failure policy* looks at exit codes or at conditions of a failed pod; the first that matches says
what to do: nothing (Ignore), count it (Count), give its index up (FailIndex) or give the Job up (FailJob). A *success
policy* calls an indexed Job done before all of its indexes are.
"""

from __future__ import annotations

from typing import NamedTuple

from ghostfleet.controllers.jobs.indexes import Intervals, parse_intervals, total
from ghostfleet.core.changes import Object

__all__ = ["Verdict", "judge_failure", "met_success_rule"]


class Verdict(NamedTuple):
    """What a failed pod means: whether it counts, the action of the rule that matched, why the Job fails (or "")."""

    counts: bool
    action: str
    message: str


_COUNTED = Verdict(True, "", "")


def judge_failure(policy: Object | None, pod: Object) -> Verdict:
    """The verdict of a Job's pod failure policy on a failed pod."""
    if policy is None:
        return _COUNTED
    for index, rule in enumerate(policy.get("rules") or ()):
        message = _match(rule, pod, index)
        if message:
            action: str = rule["action"]
            return Verdict(action != "Ignore", action, message if action == "FailJob" else "")
    return _COUNTED


def _match(rule: Object, pod: Object, index: int) -> str:
    """How a rule matches, in words; empty when it does not."""
    metadata = pod["metadata"]
    name = f"{metadata['namespace']}/{metadata['name']}"
    if rule.get("onExitCodes") is not None:
        container = _exited(pod["status"], rule["onExitCodes"])
        if container is None:
            return ""
        code = container["state"]["terminated"]["exitCode"]
        return (
            f"Container {container['name']} for pod {name} failed with exit code {code} "
            f"matching {rule['action']} rule at index {index}"
        )
    for condition in pod["status"].get("conditions") or ():
        for pattern in rule.get("onPodConditions") or ():
            if (condition["type"], condition["status"]) == (pattern["type"], pattern.get("status", "True")):
                return f"Pod {name} has condition {condition['type']} matching {rule['action']} rule at index {index}"
    return ""


def _exited(status: Object, wanted: Object) -> Object | None:
    """The first container that ended with an exit code the rule names."""
    for container in (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())):
        code = ((container.get("state") or {}).get("terminated") or {}).get("exitCode", 0)
        if not code or wanted.get("containerName") not in (None, container["name"]):
            continue
        if (code in wanted["values"]) == (wanted["operator"] == "In"):
            found: Object = container
            return found
    return None


def met_success_rule(policy: Object | None, completions: int, succeeded: Intervals) -> int | None:
    """The first rule of a success policy that the succeeded indexes meet."""
    if policy is None or not succeeded:
        return None
    for number, rule in enumerate(policy.get("rules") or ()):
        enough = rule.get("succeededCount")
        if rule.get("succeededIndexes") is None:
            if enough is not None and total(succeeded) >= enough:
                return number
            continue
        required = parse_intervals(rule["succeededIndexes"], completions)
        met = sum(
            max(0, min(last, each_last) - max(first, each_first) + 1)
            for first, last in required
            for each_first, each_last in succeeded
        )
        if required and (met == total(required) or (enough is not None and met >= enough)):
            return number
    return None
