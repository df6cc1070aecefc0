"""Remedies for claims: small changes of what a pod's claims ask for, which might give it its devices.

A request asks for fewer devices, without one of its selectors, or tolerates a taint that devices have; a claim does
without one of its constraints. Only claims that are to be allocated are changed.
"""

from __future__ import annotations

from collections.abc import Iterator

from ghostfleet.api.devicetaints import PREVENTING, tolerates, with_rules
from ghostfleet.api.podclaims import SLICES, TAINT_RULES, ClaimError, allocation_of, find_claims
from ghostfleet.core.changes import Object
from ghostfleet.core.store import Store
from ghostfleet.schedulers.dra import RequestCensus

__all__ = ["changed_claims"]


def changed_claims(store: Store, pod: Object, found: list[RequestCensus]) -> Iterator[tuple[str, Object]]:
    """What to change, and the claim with that change; `found` is what its requests find now."""
    try:
        claims = [claim for claim in find_claims(store, pod) if allocation_of(claim) is None]
    except ClaimError:
        return
    taints = list(_taints(store))
    most = {(each.claim, each.request): each.most for each in found}
    for claim in claims:
        name = f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
        for place, request in enumerate(claim["spec"].get("devices", {}).get("requests") or ()):
            exactly = request.get("exactly")
            if exactly is not None:
                where = f"request {request['name']} of claim {name}"
                fewer = most.get((name, request["name"]), 0)
                for text, changed in _changed_requests(exactly, where, fewer, taints):
                    yield text, _with_request(claim, place, {**request, "exactly": changed})
        yield from _without_constraints(claim, name)


def _changed_requests(exactly: Object, where: str, most: int, taints: list[Object]) -> Iterator[tuple[str, Object]]:
    count = exactly.get("count") or 0
    if 0 < most < count:
        yield f"ask for {most} instead of {count} devices in {where}", {**exactly, "count": most}
    for taint in taints:
        if not any(tolerates(each, taint) for each in exactly.get("tolerations") or ()):
            same = {field: taint[field] for field in ("key", "value", "effect") if field in taint}
            tolerations = [*(exactly.get("tolerations") or ()), {"operator": "Equal", **same}]
            text = f"tolerate the taint {_taint_text(taint)} of devices in {where}"
            yield text, {**exactly, "tolerations": tolerations}
    selectors = exactly.get("selectors") or []
    for place, selector in enumerate(selectors):
        left = selectors[:place] + selectors[place + 1 :]
        expression = " ".join(selector.get("cel", {}).get("expression", "").split())
        yield f"drop the selector {expression} from {where}", {**exactly, "selectors": left}


def _without_constraints(claim: Object, name: str) -> Iterator[tuple[str, Object]]:
    constraints = claim["spec"].get("devices", {}).get("constraints") or []
    for place, constraint in enumerate(constraints):
        kind = "matchAttribute" if "matchAttribute" in constraint else "distinctAttribute"
        left = constraints[:place] + constraints[place + 1 :]
        text = f"drop the constraint {kind} {constraint.get(kind)} from claim {name}"
        yield text, _with_devices(claim, constraints=left)


def _with_request(claim: Object, place: int, request: Object) -> Object:
    requests = claim["spec"]["devices"]["requests"]
    return _with_devices(claim, requests=[*requests[:place], request, *requests[place + 1 :]])


def _with_devices(claim: Object, **changed: list[Object]) -> Object:
    spec = claim["spec"]
    return {**claim, "metadata": {**claim["metadata"]}, "spec": {**spec, "devices": {**spec["devices"], **changed}}}


def _taints(store: Store) -> Iterator[Object]:
    """The taints that keep claims from devices, each once."""
    rules = store.list(TAINT_RULES)
    seen: set[tuple[str, ...]] = set()
    for resource_slice in store.list(SLICES):
        for device in with_rules(resource_slice, rules)["spec"].get("devices") or ():
            for taint in device.get("taints") or ():
                identity = taint["key"], taint.get("value", ""), taint.get("effect", "")
                if taint.get("effect") in PREVENTING and identity not in seen:
                    seen.add(identity)
                    yield taint


def _taint_text(taint: Object) -> str:
    given = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{given}:{taint['effect']}"
