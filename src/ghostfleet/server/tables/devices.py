"""Devices and claims on them (dynamic resource allocation) in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.server.tables.cells import age_of, created, items, name_of, part
from ghostfleet.server.tables.printers import AGE, NAME, Cell, Printers, integer, text

__all__ = ["DEVICES"]

DEVICES = Printers()


@DEVICES.of("deviceclasses.resource.k8s.io", NAME, AGE)
@DEVICES.of("resourceclaimtemplates.resource.k8s.io", NAME, AGE)
def named(obj: Object, now: int) -> list[Cell]:
    return [name_of(obj), created(obj, now)]


def _claim_word(claim: Object) -> str:
    status, deleted = part(claim, "status"), bool(part(claim, "metadata").get("deletionTimestamp"))
    words = ["deleted"] if deleted else []
    if status.get("allocation") is not None:
        words.append("allocated")
        if items(status, "reservedFor"):
            words.append("reserved")
    elif not deleted:
        words.append("pending")
    return ",".join(words)


@DEVICES.of("resourceclaims.resource.k8s.io", NAME, text("State", "Whether devices are allocated and in use."), AGE)
def resource_claim(obj: Object, now: int) -> list[Cell]:
    return [name_of(obj), _claim_word(obj), created(obj, now)]


@DEVICES.of(
    "resourceslices.resource.k8s.io",
    NAME,
    text("Node", "Node the devices are on."),
    text("Driver", "Driver that offers the devices."),
    text("Pool", "Pool the slice is part of."),
    AGE,
)
def resource_slice(obj: Object, now: int) -> list[Cell]:
    spec = part(obj, "spec")
    pool = part(spec, "pool").get("name") or ""
    return [name_of(obj), spec.get("nodeName") or "", spec.get("driver") or "", pool, created(obj, now)]


@DEVICES.of(
    "devicetaintrules.resource.k8s.io",
    NAME,
    text("Key", "Key of the taint."),
    text("Value", "Value of the taint."),
    text("Effect", "What the taint does to pods."),
    text("TimeAdded", "Time since the taint was added."),
    AGE,
)
def device_taint_rule(obj: Object, now: int) -> list[Cell]:
    taint = part(obj, "spec", "taint")
    added = taint.get("timeAdded")
    return [
        name_of(obj),
        *(taint.get(field) or "" for field in ("key", "value", "effect")),
        age_of(added, now) if added else "",
        created(obj, now),
    ]


_COUNTS = ("totalDevices", "availableDevices", "allocatedDevices", "unavailableDevices")


def _end(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """The condition that says how the request ended; an empty one while it has not."""
    found: Mapping[str, Any]
    for found in items(status, "conditions"):
        if found.get("type") in ("Complete", "Failed") and found.get("status") == "True":
            return found
    return {}


def _pool_counts(status: Mapping[str, Any]) -> list[str]:
    pools = items(status, "pools")
    counts = [str(sum(pool.get(field) or 0 for pool in pools)) for field in _COUNTS]
    return [*counts, str(sum(pool.get("validationError") is not None for pool in pools))]


@DEVICES.of(
    "resourcepoolstatusrequests.resource.k8s.io",
    NAME,
    text("Driver", "Driver whose pools are asked for."),
    text("Total", "Devices in all pools."),
    text("Available", "Devices that are free."),
    text("Allocated", "Devices that are allocated."),
    text("Unavailable", "Devices that cannot be allocated."),
    text("Errors", "Pools that are not valid."),
    integer("Pools", "Pools that match."),
    text("Status", "What became of the request."),
    text("Completed", "Time since it was answered."),
)
def resource_pool_status_request(obj: Object, now: int) -> list[Cell]:
    status = part(obj, "status")
    end, listed, pools = _end(status), len(items(status, "pools")), status.get("poolCount") or 0
    word = end.get("type") or "Pending"
    counted = bool(status) and word != "Failed"
    is_complete = word == "Complete"
    if is_complete and pools > listed:
        word = f"Complete ({listed}/{pools} pools)"
    return [
        name_of(obj),
        part(obj, "spec").get("driver") or "",
        *(_pool_counts(status) if counted else ["-"] * 5),
        pools,
        word,
        age_of(end.get("lastTransitionTime"), now) if is_complete else "<none>",
    ]
