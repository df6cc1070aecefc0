"""When pods have to leave their devices.

A pod has to go when a device of one of its claims has a NoExecute taint that the claim does not tolerate: at the time
of the taint, or so many seconds later as it is tolerated. Only tolerations with the effect NoExecute count.
"""

from __future__ import annotations

from typing import NamedTuple

from ghostfleet.api.devicetaints import NO_EXECUTE, tolerates
from ghostfleet.api.podclaims import CLAIMS, ClaimError, allocation_of, claim_names, is_made_for, is_reserved_for
from ghostfleet.controllers.devicetaints.taints import DeviceTaints
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.store import Reader
from ghostfleet.core.timestamps import parse_rfc3339

__all__ = ["Eviction", "eviction_of"]


class Eviction(NamedTuple):
    """When a pod has to go, and the uids of the rules that are among the reasons."""

    when: int
    rules: frozenset[str]


def eviction_of(store: Reader, taints: DeviceTaints, pod: Object) -> Eviction | None:
    """The eviction of a pod; None if it may stay."""
    if not pod["spec"].get("nodeName"):
        return None
    found = [
        each
        for place in pod["spec"].get("resourceClaims") or ()
        if (claim := _claim(store, pod, place)) is not None and (each := _of_claim(taints, claim)) is not None
    ]
    return _together(found)


def _claim(store: Reader, pod: Object, place: Object) -> Object | None:
    """One of the pod's claims, if it is allocated and the pod's to use."""
    alone = {**pod, "spec": {"resourceClaims": [place]}}
    try:
        [(name, made)] = claim_names(alone)
    except (ClaimError, ValueError):
        # It is not there yet, or the pod needs none.
        return None
    claim = store.find(CLAIMS, pod["metadata"]["namespace"], name)
    if claim is None or allocation_of(claim) is None or not is_reserved_for(claim, pod):
        return None
    return claim if not made or is_made_for(claim, pod) else None


def _of_claim(taints: DeviceTaints, claim: Object) -> Eviction | None:
    found = []
    for result in (allocation_of(claim) or {})["devices"].get("results") or ():
        for taint, rule in taints.of(result["driver"], result["pool"], result["device"]):
            spans = [
                each.get("tolerationSeconds")
                for each in result.get("tolerations") or ()
                if each.get("effect") == NO_EXECUTE and tolerates(each, taint)
            ]
            if None in spans:
                continue
            span = max(min(spans, default=0), 0)
            added = parse_rfc3339(taint["timeAdded"]) if taint.get("timeAdded") else 0
            found.append(Eviction(added + span * SECOND, frozenset((rule,)) if rule else frozenset()))
    return _together(found)


def _together(found: list[Eviction]) -> Eviction | None:
    if not found:
        return None
    return Eviction(min(each.when for each in found), frozenset(rule for each in found for rule in each.rules))
