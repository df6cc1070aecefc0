"""Parts of devices that slices publish: taints, counters, capacity that is shared, where devices are, and conditions.

`each` checks lists of such parts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from ghostfleet.api.validation.checks import Errors, Object, dns_label, dns_subdomain, label_value, qualified_name
from ghostfleet.api.validation.pods.placement import node_selector
from ghostfleet.core.errors import FieldError
from ghostfleet.core.quantity import add, canonical, compare, value

__all__ = [
    "EFFECTS",
    "binding_conditions",
    "consumption",
    "counter_sets",
    "each",
    "name_of",
    "places",
    "request_policy",
    "taint",
]

_Item = TypeVar("_Item")

EFFECTS = ("NoExecute", "NoSchedule", "None")
_MOST_COUNTER_SETS, _MOST_CONSUMED_SETS, _MOST_COUNTERS = 8, 2, 32
_MOST_CONDITIONS = 4
_MOST_VALUES = 10
_ONE_PLACE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
_NO_PLACE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the "
    "ResourceSlice spec"
)


def each(
    errors: Errors,
    path: str,
    items: Sequence[_Item],
    most: int,
    check: Callable[[Errors, str, _Item], None],
    key: Callable[[_Item], Hashable] | None = None,
) -> None:
    """Check every item of a list of limited length; with a key, no two may have the same."""
    if len(items) > most:
        errors.append(FieldError.too_many(path, len(items), most))
        return
    for index, item in enumerate(items):
        check(errors, f"{path}[{index}]", item)
    if key is not None:
        seen: set[Hashable] = set()
        for index, item in enumerate(items):
            identity = key(item)
            if identity in seen:
                errors.append(FieldError.duplicate(f"{path}[{index}]", identity))
            seen.add(identity)


def name_of(item: Object) -> str:
    name: str = item.get("name", "")
    return name


def taint(errors: Errors, path: str, found: Object) -> None:
    """A taint of a device."""
    qualified_name(errors, f"{path}.key", found.get("key", ""))
    if found.get("value"):
        label_value(errors, f"{path}.value", found["value"])
    if not found.get("effect"):
        errors.append(FieldError.required(f"{path}.effect"))
    elif found["effect"] not in EFFECTS:
        errors.append(FieldError.unsupported(f"{path}.effect", found["effect"], EFFECTS))


# Counters


def counter_sets(errors: Errors, path: str, found: Sequence[Object]) -> None:
    """What devices share."""
    each(errors, path, found, _MOST_COUNTER_SETS, lambda errors, at, one: _counters(errors, at, "name", one), name_of)


def consumption(errors: Errors, path: str, found: Sequence[Object]) -> None:
    """What a device takes of it."""

    def check(errors: Errors, at: str, one: Object) -> None:
        _counters(errors, at, "counterSet", one)

    each(errors, path, found, _MOST_CONSUMED_SETS, check, lambda one: one.get("counterSet", ""))


def _counters(errors: Errors, path: str, name_field: str, found: Object) -> None:
    if not found.get(name_field):
        errors.append(FieldError.required(f"{path}.{name_field}"))
    else:
        dns_label(errors, f"{path}.{name_field}", found[name_field])
    counters = found.get("counters") or {}
    if not counters:
        errors.append(FieldError.required(f"{path}.counters"))
    elif len(counters) > _MOST_COUNTERS:
        errors.append(FieldError.too_many(f"{path}.counters", len(counters), _MOST_COUNTERS))
    else:
        for name in counters:
            dns_label(errors, f"{path}.counters", name)


# Where a device is


def places(errors: Errors, path: str, device: Object, *, chooses: bool) -> None:
    """Where a device is, if it is for each device of its slice to say that."""
    stated = [field for field in ("nodeName", "nodeSelector", "allNodes") if field in device]
    if not chooses:
        if stated:
            errors.append(FieldError.invalid(path, None, _NO_PLACE))
        return
    if device.get("nodeName"):
        dns_subdomain(errors, f"{path}.nodeName", device["nodeName"])
    elif "nodeName" in device:
        errors.append(FieldError.invalid(f"{path}.nodeName", "", "must not be empty"))
    if "nodeSelector" in device:
        node_selector(errors, f"{path}.nodeSelector", device["nodeSelector"])
    if device.get("allNodes") is False:
        errors.append(FieldError.invalid(f"{path}.allNodes", False, "must be either unset or set to true"))
    where = [f"`{field}`" for field in stated if device[field] not in ("", False)]
    if not where:
        errors.append(FieldError.required(path, _ONE_PLACE))
    elif len(where) > 1:
        errors.append(FieldError.invalid(path, f"{{{', '.join(where)}}}", _ONE_PLACE))


# Binding conditions


def binding_conditions(errors: Errors, path: str, device: Object) -> None:
    """What a driver reports before pods are bound, and what it reports when that has failed."""
    awaited, failures = device.get("bindingConditions") or [], device.get("bindingFailureConditions") or []
    listed = {"bindingConditions": awaited, "bindingFailureConditions": failures}
    for field, names in listed.items():
        each(errors, f"{path}.{field}", names, _MOST_CONDITIONS, qualified_name)
    for field, names in listed.items():
        for index, name in enumerate(names):
            place = f"{path}.{field}[{index}]"
            if name in names[:index]:
                errors.append(FieldError.duplicate(place, name))
            if names is failures and name in awaited:
                why = "bindingFailureConditions must not overlap with bindingConditions"
                errors.append(FieldError.invalid(place, name, why))
    if failures and not awaited:
        why = "bindingConditions are required to use bindingFailureConditions"
        errors.append(FieldError.invalid(f"{path}.bindingConditions", None, why))
    if awaited and not failures:
        why = "bindingFailureConditions are required to use bindingConditions"
        errors.append(FieldError.invalid(f"{path}.bindingFailureConditions", None, why))


# Capacity


def request_policy(errors: Errors, path: str, capacity: Object, *, shared: bool) -> None:
    """How much of a capacity claims may ask for, if several share the device."""
    policy, most = capacity.get("requestPolicy"), capacity.get("value", "0")
    if policy is None:
        return
    path = f"{path}.requestPolicy"
    if not shared:
        errors.append(FieldError.forbidden(path, "allowMultipleAllocations must be true"))
        return
    values, between, usual = policy.get("validValues") or [], policy.get("validRange"), policy.get("default")
    if values and between is not None:
        why = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        errors.append(FieldError.forbidden(path, why))
    elif (values or between is not None) and usual is None:
        field = "validValues" if values else "validRange"
        errors.append(FieldError.required(f"{path}.default", f"required when {field} is defined"))
    elif values:
        _values(errors, f"{path}.validValues", values, str(usual), most)
    elif between is not None:
        _range(errors, f"{path}.validRange", between, str(usual), most)


def _values(errors: Errors, path: str, values: Sequence[str], usual: str, most: str) -> None:
    for index in range(len(values) - 1):
        if compare(values[index], values[index + 1]) > 0:
            why = "values must be sorted in ascending order"
            errors.append(FieldError.invalid(f"{path}[{index + 1}]", canonical(values[index + 1]), why))

    def check(errors: Errors, place: str, option: str) -> None:
        if compare(option, most) > 0:
            why = f"option is larger than capacity value: {canonical(most)}"
            errors.append(FieldError.invalid(place, canonical(option), why))

    each(errors, path, values, _MOST_VALUES, check, canonical)
    if not any(compare(option, usual) == 0 for option in values):
        why = "default value is not valid according to the requestPolicy"
        errors.append(FieldError.invalid(path, canonical(usual), why))


def _range(errors: Errors, path: str, between: Object, usual: str, most: str) -> None:
    least, limit, step = between.get("min"), between.get("max"), between.get("step")
    if least is None:
        errors.append(FieldError.required(f"{path}.min", "required when validRange is defined"))
        return

    def refuse(field: str, found: str, why: str) -> None:
        errors.append(FieldError.invalid(f"{path}.{field}", canonical(found), why))

    if compare(least, most) > 0:
        refuse("min", least, f"min is larger than capacity value: {canonical(most)}")
    if compare(usual, least) < 0:
        refuse("min", usual, f"default is less than min: {canonical(least)}")
    if limit is not None:
        if compare(least, limit) > 0:
            refuse("max", least, f"min is larger than max: {canonical(limit)}")
        if compare(limit, most) > 0:
            refuse("max", limit, f"max is larger than capacity value: {canonical(most)}")
        if compare(usual, limit) > 0:
            refuse("max", usual, f"default is more than max: {canonical(limit)}")
    if step is None:
        return
    first = add(least, step)
    if compare(first, most) > 0:
        refuse("step", step, f"one step {first} is larger than capacity value: {canonical(most)}")
    for found in (usual, *((limit,) if limit is not None else ())):
        if value(step) and (value(found) - value(least)) % value(step):
            why = f"value is not a multiple of a given step ({canonical(step)}) from ({canonical(least)})"
            refuse("step", found, why)
