"""Resource slices (resource.k8s.io/v1): the devices that drivers offer, and the words that claims share with them.

A slice is a part of a *pool* of devices. Its devices have named attributes and capacities, and are at one node, at
some, at all, or each says where it is.
"""

from __future__ import annotations

import re
from functools import partial

from ghostfleet.api.validation.checks import (
    Errors,
    Object,
    dns_label,
    dns_subdomain,
    immutable,
    invalid,
    required,
)
from ghostfleet.api.validation.device_parts import (
    binding_conditions,
    consumption,
    counter_sets,
    each,
    name_of,
    places,
    request_policy,
    taint,
)
from ghostfleet.api.validation.pods.placement import node_selector
from ghostfleet.api.validation.rules import Rules
from ghostfleet.api.validation.storage_claims import csi_driver_name
from ghostfleet.api.validation.structs import Layout, Shown, shown
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError

__all__ = ["RULES", "fully_qualified", "pool_name"]

_MOST_DEVICES, _MOST_RICH_DEVICES = 128, 64
_MOST_ATTRIBUTES = 32
_MOST_TAINTS = 16
_POOL_LIMIT = 253
_ID_LIMIT = 32
_VALUE_LIMIT = 64
_ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_ATTRIBUTE: Layout = tuple(
    (f"{sort.capitalize()}Value{many}", f"{sort}{many}", None)
    for many in ("", "s")
    for sort in ("int", "bool", "string", "version")
)
_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?"
)


def _slice(errors: Errors, found: Object) -> None:
    spec = found.get("spec") or {}
    csi_driver_name(errors, "spec.driver", spec.get("driver", ""))
    pool = spec.get("pool") or {}
    pool_name(errors, "spec.pool.name", pool.get("name", ""))
    if pool.get("resourceSliceCount", 0) <= 0:
        count = pool.get("resourceSliceCount", 0)
        errors.append(FieldError.invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"))
    if pool.get("generation", 0) < 0:
        why = "must be greater than or equal to zero"
        errors.append(FieldError.invalid("spec.pool.generation", pool["generation"], why))
    _places(errors, spec)
    devices = spec.get("devices") or []
    rich = any(device.get("taints") or device.get("consumesCounters") for device in devices)
    if "sharedCounters" in spec and "devices" in spec:
        errors.append(FieldError.invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"))
    check = partial(_device, chooses=bool(spec.get("perDeviceNodeSelection")))
    each(errors, "spec.devices", devices, _MOST_RICH_DEVICES if rich else _MOST_DEVICES, check, name_of)
    counter_sets(errors, "spec.sharedCounters", spec.get("sharedCounters") or [])


def _places(errors: Errors, spec: Object) -> None:
    """Where the devices of a slice are: at one node, some, all, or each device says it."""
    where = [
        f"`{field}`" for field in ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection") if spec.get(field)
    ]
    if spec.get("nodeName"):
        dns_subdomain(errors, "spec.nodeName", spec["nodeName"])
    elif "nodeName" in spec:
        why = "must be either unset or set to a non-empty string"
        errors.append(FieldError.invalid("spec.nodeName", spec["nodeName"], why))
    if spec.get("nodeSelector"):
        node_selector(errors, "spec.nodeSelector", spec["nodeSelector"])
    for field in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(field) is False:
            errors.append(FieldError.invalid(f"spec.{field}", False, "must be either unset or set to true"))
    if not where:
        errors.append(FieldError.required("spec", _ONE_PLACE))
    elif len(where) > 1:
        why = f"{_ONE_PLACE}, but multiple fields are set"
        errors.append(FieldError.invalid("spec", f"{{{', '.join(where)}}}", why))


def pool_name(errors: Errors, path: str, name: str) -> None:
    if not required(errors, path, name):
        return
    if len(name) > _POOL_LIMIT:
        errors.append(FieldError.too_long(path, _POOL_LIMIT))
    for part in name.split("/"):
        dns_subdomain(errors, path, part)


def _device(errors: Errors, path: str, device: Object, *, chooses: bool) -> None:
    """A device; `chooses` says whether each of its slice says itself where it is."""
    dns_label(errors, f"{path}.name", name_of(device))
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    count = len(attributes) + len(capacity)
    if count > _MOST_ATTRIBUTES:
        why = f"the total number of attributes and capacities must not exceed {_MOST_ATTRIBUTES}"
        errors.append(FieldError.invalid(path, count, why))
    for name, attribute in attributes.items():
        _device_name(errors, f"{path}.attributes", name)
        _attribute(errors, f"{path}.attributes[{name}]", attribute)
    for name, amount in capacity.items():
        _device_name(errors, f"{path}.capacity", name)
        request_policy(errors, f"{path}.capacity[{name}]", amount, shared=bool(device.get("allowMultipleAllocations")))
    each(errors, f"{path}.taints", device.get("taints") or [], _MOST_TAINTS, taint)
    consumption(errors, f"{path}.consumesCounters", device.get("consumesCounters") or [])
    places(errors, path, device, chooses=chooses)
    binding_conditions(errors, path, device)


def _attribute(errors: Errors, path: str, attribute: Object) -> None:
    if not attribute:
        errors.append(FieldError.invalid(path, "", "exactly one value must be specified"))
    elif len(attribute) > 1:
        why = "exactly one value must be specified"
        errors.append(Shown("Invalid value", path, shown(attribute, _ATTRIBUTE), why))
    if len(attribute.get("string", "")) > _VALUE_LIMIT:
        errors.append(FieldError.too_long(f"{path}.string", _VALUE_LIMIT))
    version = attribute.get("version")
    if version is not None and not _SEMVER.fullmatch(version):
        why = "must be a string compatible with semver.org spec 2.0.0"
        errors.append(FieldError.invalid(f"{path}.version", version, why))


def _device_name(errors: Errors, path: str, name: str) -> None:
    """A name with an optional domain; the name itself is an identifier of the C language."""
    domain, slash, identifier = name.rpartition("/")
    if slash and not domain:
        errors.append(FieldError.invalid(path, "", "the domain must not be empty"))
    elif slash:
        csi_driver_name(errors, path, domain)
    if slash and not identifier:
        errors.append(FieldError.invalid(path, "", "the name must not be empty"))
        return
    if len(identifier) > _ID_LIMIT:
        errors.append(FieldError.too_long(path, _ID_LIMIT))
    invalid(errors, path, identifier, names.is_c_identifier(identifier))


def fully_qualified(errors: Errors, path: str, name: str) -> None:
    _device_name(errors, path, name)
    if "/" not in name:
        why = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(FieldError.invalid(path, name, why))


def _slice_update(errors: Errors, new: Object, old: Object) -> None:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    old_pool, new_pool = before.get("pool") or {}, after.get("pool") or {}
    immutable(errors, "spec.pool.name", new_pool.get("name"), old_pool.get("name"))
    for field in ("driver", "nodeName"):
        immutable(errors, f"spec.{field}", after.get(field), before.get(field))


RULES: dict[str, Rules] = {
    "resourceslices.resource.k8s.io": Rules(_slice, namespaced=False, update=_slice_update),
}
