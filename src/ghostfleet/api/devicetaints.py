"""Taints of devices: what tolerates them, and which devices a DeviceTaintRule adds its taint to.

Drivers taint devices in their slices; administrators do so by rules, which name a driver, a pool or a device, or
several of these; one that names nothing is for all devices, and one without a selector for none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["NO_EXECUTE", "PREVENTING", "rule_matches", "tolerated", "tolerates", "with_rules"]

Object = Mapping[str, Any]

#: The effect by which pods that use a device are evicted.
NO_EXECUTE = "NoExecute"
#: Effects that keep claims away which do not tolerate the taint.
PREVENTING = ("NoSchedule", NO_EXECUTE)


def tolerates(toleration: Object, taint: Object) -> bool:
    """Whether a toleration covers a taint: one without effect or key covers any."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return (toleration.get("value") or "") == (taint.get("value") or "")
    return bool(operator == "Exists")


def tolerated(taints: Iterable[Object], tolerations: Sequence[Object]) -> bool:
    """Whether each of the taints is covered."""
    return all(any(tolerates(each, taint) for each in tolerations) for taint in taints)


def rule_matches(rule: Object, driver: str, pool: str, device: str = "") -> bool:
    """Whether a DeviceTaintRule is for a device, or without a device for any of a pool."""
    selector = rule["spec"].get("deviceSelector")
    if selector is None:
        return False
    named = (("driver", driver), ("pool", pool), *((("device", device),) if device else ()))
    return all(selector.get(field) in (None, value) for field, value in named)


def with_rules(resource_slice: dict[str, Any], rules: Iterable[Object]) -> dict[str, Any]:
    """A slice with the taints of rules added to its devices; the slice itself if there are none for it."""
    spec = resource_slice["spec"]
    driver, pool = spec["driver"], spec["pool"]["name"]
    mine = [rule for rule in rules if rule_matches(rule, driver, pool)]
    if not mine or not spec.get("devices"):
        return resource_slice
    devices = [
        {**device, "taints": [*(device.get("taints") or ()), *added]}
        if (added := [rule["spec"]["taint"] for rule in mine if rule_matches(rule, driver, pool, device["name"])])
        else device
        for device in spec["devices"]
    ]
    return {**resource_slice, "spec": {**spec, "devices": devices}}
