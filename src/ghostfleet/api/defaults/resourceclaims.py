"""Resource claims: defaults of the kinds of dynamic resource allocation.

A *request* in a claim asks for devices of a class either *exactly*, or for the *first available* of several; both ask
for one device unless they say otherwise.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.api.defaults.filling import ObjectRule, each, each_value, replaced, rule
from ghostfleet.core.changes import Object

__all__ = ["DEFAULTS", "drop_deallocated_devices", "stamp_rule", "stamp_taints"]


def _counted(request: Object) -> Object:
    exact = request["allocationMode"] == "ExactCount" and not request.get("count")
    return {**request, "count": 1} if exact else request


_fill_tolerations = each(rule(zero={"operator": "Equal"}))
_fill_device_request = rule(
    zero={"allocationMode": "ExactCount"},
    parts={"tolerations": _fill_tolerations},
    last=_counted,
)
_fill_requests = each(rule(parts={"exactly": _fill_device_request, "firstAvailable": each(_fill_device_request)}))
_fill_claim_spec = rule(absent={"devices": {}}, parts={"devices": rule(parts={"requests": _fill_requests})})

_fill_results = each(rule(parts={"tolerations": _fill_tolerations}))
_fill_allocation = rule(absent={"devices": {}}, parts={"devices": rule(parts={"results": _fill_results})})
_fill_claim_status = rule(parts={"allocation": _fill_allocation, "devices": each(rule(null=("conditions",)))})

_fill_mappings = each_value(rule(absent={"allocationMultiplier": "1"}))
_fill_slice_spec = rule(
    absent={"pool": {}},
    parts={
        "pool": rule(absent={"name": "", "generation": 0, "resourceSliceCount": 0}),
        "devices": each(rule(parts={"nodeAllocatableResourceMappings": _fill_mappings})),
    },
)


def stamp_taints(resource_slice: Object, now: str) -> Object:
    """The slice with `now` as the time of every taint that does not say since when it is there."""
    taints = each(rule(absent={"timeAdded": now}))
    devices = each(rule(parts={"taints": taints}))
    return rule(parts={"spec": rule(parts={"devices": devices})})(resource_slice)


def stamp_rule(old: Object | None, rule: Object, now: str) -> Object:
    """The rule with the time of its taint, which is that of its effect: now, if that is new and no time is given."""
    taint = rule["spec"]["taint"]
    before = old["spec"]["taint"] if old is not None else {}
    changed = old is not None and before.get("effect") != taint.get("effect")
    if taint.get("timeAdded") and not (changed and before.get("timeAdded") == taint["timeAdded"]):
        return rule
    return {**rule, "spec": {**rule["spec"], "taint": {**taint, "timeAdded": now}}}


def drop_deallocated_devices(old: Object, new: Object) -> Object:
    """The claim whose status is written, without the state of devices that it gives back by that."""
    status: Object = new.get("status") or {}
    devices = status.get("devices")
    gone = _allocated(old.get("status") or {}) - _allocated(status)
    if not devices or not gone:
        return new
    kept = [device for device in devices if _identity(device) not in gone]
    return {**new, "status": replaced(status, "devices", kept or None)}


def _allocated(status: Object) -> set[tuple[Any, ...]]:
    devices = (status.get("allocation") or {}).get("devices") or {}
    return {_identity(result) for result in devices.get("results") or ()}


def _identity(device: Object) -> tuple[Any, ...]:
    return device.get("driver"), device.get("pool"), device.get("device"), device.get("shareID")


DEFAULTS: dict[str, ObjectRule] = {
    "resourceclaims.resource.k8s.io": rule(
        absent={"spec": {}, "status": {}},
        parts={"spec": _fill_claim_spec, "status": _fill_claim_status},
    ),
    "resourceclaimtemplates.resource.k8s.io": rule(
        absent={"spec": {}},
        parts={"spec": rule(absent={"metadata": {}, "spec": {}}, parts={"spec": _fill_claim_spec})},
    ),
    "resourceslices.resource.k8s.io": rule(absent={"spec": {}}, parts={"spec": _fill_slice_spec}),
    "deviceclasses.resource.k8s.io": rule(absent={"spec": {}}),
    "devicetaintrules.resource.k8s.io": rule(
        absent={"spec": {}, "status": {}}, parts={"spec": rule(absent={"taint": {}})}
    ),
}
