"""The status of a DeviceTaintRule: whether pods are being evicted because of it, and how many.

A rule with the effect None tells how many would be. A rule is looked at when it comes or its spec changes, and
while it evicts, at most every ten seconds.
"""

from __future__ import annotations

from ghostfleet.api.devicetaints import NO_EXECUTE, rule_matches
from ghostfleet.api.podclaims import CLAIMS, SLICES, allocation_of
from ghostfleet.controllers.devicetaints.evictions import eviction_of
from ghostfleet.controllers.devicetaints.taints import DeviceTaints
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.store import Reader

__all__ = ["CONDITION", "PERIOD", "rule_condition"]

CONDITION = "EvictionInProgress"
#: pkg/controller/devicetainteviction/device_taint_eviction.go, ruleStatusPeriod
PERIOD = 10 * SECOND


def rule_condition(store: Reader, taints: DeviceTaints, rule: Object, evicted: int) -> Object:
    """The condition of a rule that has evicted so many pods, but for its time."""
    effect = rule["spec"]["taint"].get("effect")
    status = "False"
    if effect == NO_EXECUTE:
        pods, namespaces = _pending(store, taints, rule)
        reason, message = ("Completed" if evicted else "NotStarted"), ""
        if pods:
            status, reason = "True", "PodsPendingEviction"
            message = f"{_pods(pods, 'needs', 'need')} to be evicted in {_namespaces(namespaces)}."
    elif effect == "None":
        pods, namespaces = _pending(store, taints.with_rule(rule), rule)
        published, allocated = _devices(store, rule)
        reason = "NoEffect"
        message = (
            f"{_selected(published, 'published')} {_selected(allocated, 'allocated')} "
            f"{_pods(pods, 'would', 'would')} be evicted in {_namespaces(namespaces)} if the effect was NoExecute. "
            "This information will not be updated again. Recreate the DeviceTaintRule to trigger an update."
        )
    else:
        reason, message = "OtherEffect", "Eviction only happens for the NoExecute effect."
    if evicted:
        told = f"{evicted} pod{'s' if evicted > 1 else ''} evicted since starting the controller."
        message = f"{message} {told}".strip()
    generation = rule["metadata"].get("generation", 1)
    return {
        "type": CONDITION,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
    }


def _pending(store: Reader, taints: DeviceTaints, rule: Object) -> tuple[int, int]:
    """How many pods are to go because of a rule, and from how many namespaces."""
    uid = rule["metadata"]["uid"]
    namespaces = [
        pod["metadata"]["namespace"]
        for pod in store.list("pods")
        if "resourceClaims" in pod["spec"]
        and "deletionTimestamp" not in pod["metadata"]
        and (found := eviction_of(store, taints, pod)) is not None
        and uid in found.rules
    ]
    return len(namespaces), len(set(namespaces))


def _devices(store: Reader, rule: Object) -> tuple[int, int]:
    """How many devices a rule selects: published ones, and allocated ones."""
    published = 0
    newest: dict[tuple[str, str], int] = {}
    slices = store.list(SLICES)
    for each in slices:
        pool = each["spec"]["driver"], each["spec"]["pool"]["name"]
        newest[pool] = max(newest.get(pool, 0), each["spec"]["pool"].get("generation", 0))
    for each in slices:
        pool = each["spec"]["driver"], each["spec"]["pool"]["name"]
        if each["spec"]["pool"].get("generation", 0) == newest[pool]:
            published += sum(rule_matches(rule, *pool, device["name"]) for device in each["spec"].get("devices") or ())
    allocated = sum(
        rule_matches(rule, result["driver"], result["pool"], result["device"])
        for claim in store.list(CLAIMS)
        for result in ((allocation_of(claim) or {}).get("devices") or {}).get("results") or ()
    )
    return published, allocated


def _pods(number: int, one: str, many: str) -> str:
    return f"1 pod {one}" if number == 1 else f"{number} pods {many}"


def _namespaces(number: int) -> str:
    return "1 namespace" if number == 1 else f"{number} different namespaces"


def _selected(number: int, word: str) -> str:
    return f"{number} {word} device{'' if number == 1 else 's'} selected."
