"""Binding conditions: what drivers have to report of devices before pods that were given them may be bound."""

from __future__ import annotations

from ghostfleet.api.podclaims import allocation_of
from ghostfleet.core.changes import Object

__all__ = ["has_failed", "is_ready"]


def is_ready(claim: Object) -> bool:
    return all(
        _conditions(claim, result).get(name) == "True"
        for result in _results(claim)
        for name in result.get("bindingConditions") or ()
    )


def has_failed(claim: Object) -> bool:
    return any(
        _conditions(claim, result).get(name) == "True"
        for result in _results(claim)
        for name in result.get("bindingFailureConditions") or ()
    )


def _results(claim: Object) -> list[Object]:
    found: list[Object] = ((allocation_of(claim) or {}).get("devices") or {}).get("results") or []
    return found


def _conditions(claim: Object, result: Object) -> dict[str, str]:
    """The conditions that the driver reports of a device."""
    for each in (claim.get("status") or {}).get("devices") or ():
        if all(each.get(part) == result.get(part) for part in ("driver", "pool", "device", "shareID")):
            return {condition["type"]: condition["status"] for condition in each.get("conditions") or ()}
    return {}
