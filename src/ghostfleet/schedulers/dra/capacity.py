"""Capacity of devices that several claims share, each consuming a part of it.

How much a request consumes is set by its own amount, or else by the *policy* of the device: its default, or, without
a policy, all there is. A policy also rounds amounts up, to one of its valid values or to a step of its range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ghostfleet.core import quantity
from ghostfleet.core.quantity import Quantity
from ghostfleet.schedulers.dra.devices import Device
from ghostfleet.schedulers.dra.requests import Request

__all__ = ["Consumed", "fitting_capacity"]

Object = Mapping[str, Any]
#: amounts by the name of the capacity
Consumed = dict[str, Quantity]


def fitting_capacity(
    request: Request, device: Device, held: Mapping[str, int] | None, taken: Sequence[Consumed]
) -> Consumed | None:
    """What a request consumes of each capacity of a device of which others hold and have taken a part.

    None if the device has not what is asked for, its policies do not allow it, or not enough is left."""
    known: Object = device.object.get("capacity") or {}
    asked: Object = (request.capacity or {}).get("requests") or {}
    if any(name not in known for name in asked):
        return None
    found: Consumed = {}
    for name, capacity in known.items():
        policy = capacity.get("requestPolicy")
        amount = _amount(asked.get(name), capacity, policy)
        if policy is not None and _violates(amount, policy):
            return None
        used = amount.nano + (held or {}).get(name, 0) + sum(each[name].nano for each in taken)
        if used > quantity.parse(capacity["value"]).nano:
            return None
        found[name] = amount
    return found


def _amount(asked: Any, capacity: Object, policy: Object | None) -> Quantity:
    if asked is None:
        default = policy.get("default") if policy else None
        return quantity.parse(capacity["value"] if default is None else default)
    amount = quantity.parse(asked)
    if policy is None:
        return amount
    valid_range = policy.get("validRange")
    if valid_range is not None and valid_range.get("min") is not None:
        return _in_range(amount, valid_range)
    for valid in policy.get("validValues") or ():
        if amount.nano <= quantity.parse(valid).nano:
            return quantity.parse(valid)
    return amount


def _in_range(amount: Quantity, valid: Object) -> Quantity:
    least = quantity.parse(valid["min"])
    if amount.nano < least.nano:
        return least
    if valid.get("step") is None:
        return amount
    steps = -(-_above(amount, valid) // quantity.value(valid["step"]))
    return quantity.from_value(quantity.value(least) + steps * quantity.value(valid["step"]), "BinarySI")


def _above(amount: Quantity, valid: Object) -> int:
    return quantity.value(amount) - quantity.value(valid.get("min") or "0")


def _violates(amount: Quantity, policy: Object) -> bool:
    default = policy.get("default")
    if default is not None and amount.nano == quantity.parse(default).nano:
        return False
    if (valid := policy.get("validRange")) is not None:
        if valid.get("max") is not None and amount.nano > quantity.parse(valid["max"]).nano:
            return True
        return valid.get("step") is not None and _above(amount, valid) % quantity.value(valid["step"]) != 0
    values = policy.get("validValues") or ()
    return bool(values) and all(amount.nano != quantity.parse(each).nano for each in values)
