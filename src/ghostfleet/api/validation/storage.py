"""Persistent volumes, the claims to them, and the classes and drivers they come from."""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.api.validation.checks import (
    Errors,
    Object,
    dns_label,
    dns_subdomain,
    immutable,
    invalid,
    label_selector,
    non_negative,
    one_of,
    qualified_name,
    required,
)
from ghostfleet.api.validation.pods.placement import node_selector
from ghostfleet.api.validation.pods.volumes import SOURCE_CHECKS, host_path
from ghostfleet.api.validation.resources import amount, not_negative, positive_quantity
from ghostfleet.api.validation.rules import Rules
from ghostfleet.api.validation.shape import PERSISTENT_VOLUME_FIELDS
from ghostfleet.api.validation.storage_claims import VOLUME_MODES, access_modes, claim_spec, csi_driver_name
from ghostfleet.api.validation.structs import difference
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError

_LIFECYCLE_MODES = ("Persistent", "Ephemeral")
__all__ = ["RULES"]

_RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
_PARAMETERS_LIMIT, _PARAMETERS_COUNT = 256 * 1024, 512
_MORE_THAN_ONE = "may not specify more than 1 volume type"
_FROZEN_CLAIM = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


# Persistent volumes


def _volume(errors: Errors, volume: Object) -> None:
    spec = volume.get("spec") or {}
    access_modes(errors, "spec.accessModes", spec.get("accessModes") or [])
    _capacity(errors, spec.get("capacity") or {})
    policy = spec.get("persistentVolumeReclaimPolicy")
    one_of(errors, "spec.persistentVolumeReclaimPolicy", policy, _RECLAIM_POLICIES, needed=False)
    if "nodeAffinity" in spec:
        if "required" in spec["nodeAffinity"]:
            node_selector(errors, "spec.nodeAffinity.required", spec["nodeAffinity"]["required"])
        else:
            why = "must specify required node constraints"
            errors.append(FieldError.required("spec.nodeAffinity.required", why))
    _volume_source(errors, spec)
    if spec.get("storageClassName"):
        dns_subdomain(errors, "spec.storageClassName", spec["storageClassName"])
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        errors.append(FieldError.unsupported("spec.volumeMode", mode, VOLUME_MODES))
    if "volumeAttributesClassName" in spec:
        name = spec["volumeAttributesClassName"]
        if required(errors, "spec.volumeAttributesClassName", name, "an empty string is disallowed"):
            dns_subdomain(errors, "spec.volumeAttributesClassName", name)
        if "csi" not in spec:
            why = "has to be specified when using volumeAttributesClassName"
            errors.append(FieldError.required("spec.csi", why))


def _capacity(errors: Errors, capacity: Object) -> None:
    required(errors, "spec.capacity", capacity)
    if list(capacity) != ["storage"]:
        errors.append(FieldError.unsupported("spec.capacity", capacity, ("storage",)))
    for name, quantity in capacity.items():
        if amount(quantity) < 0:
            why = "must be a valid resource quantity"
            errors.append(FieldError.invalid(f"spec.capacity[{name}]", amount(quantity) // 10**9, why))
        positive_quantity(errors, f"spec.capacity[{name}]", quantity)


def _volume_source(errors: Errors, spec: Object) -> None:
    sources = [field for field in spec if field not in PERSISTENT_VOLUME_FIELDS]
    if not sources:
        errors.append(FieldError.required("spec", "must specify a volume type"))
        return
    first, *others = sources
    path, source = f"spec.{first}", spec[first]
    if first == "hostPath":
        host_path(errors, path, source)
        root = source.get("path", "").strip("/") == ""
        if root and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
            why = "may not be 'recycle' for a hostPath mount of '/'"
            errors.append(FieldError.forbidden("spec.persistentVolumeReclaimPolicy", why))
    elif first == "local":
        required(errors, f"{path}.path", source.get("path"))
        if "nodeAffinity" not in spec:
            errors.append(FieldError.required("spec.nodeAffinity", "Local volume requires node affinity"))
    elif first == "csi":
        csi_driver_name(errors, f"{path}.driver", source.get("driver", ""))
        required(errors, f"{path}.volumeHandle", source.get("volumeHandle"))
    elif check := SOURCE_CHECKS.get(first):
        check(errors, path, source)
    for other in others:
        errors.append(FieldError.forbidden(f"spec.{other}", _MORE_THAN_ONE))


def _source_of(spec: Object) -> Object:
    return {field: value for field, value in spec.items() if field not in PERSISTENT_VOLUME_FIELDS}


def _volume_update(errors: Errors, new: Object, old: Object) -> None:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    source, old_source = _source_of(after), _source_of(before)
    if source != old_source:
        why = f"spec.persistentvolumesource is immutable after creation\n{difference(old_source, source)}"
        errors.append(FieldError.forbidden("spec.persistentvolumesource", why))
    immutable(errors, "volumeMode", after.get("volumeMode"), before.get("volumeMode"))
    if "nodeAffinity" in before and before["nodeAffinity"] != after.get("nodeAffinity"):
        why = "field is immutable, except for updating from beta label to GA"
        errors.append(FieldError.invalid("nodeAffinity", after.get("nodeAffinity"), why))
    if "volumeAttributesClassName" in before and "volumeAttributesClassName" not in after:
        why = "update from non-nil value to nil is forbidden"
        errors.append(FieldError.forbidden("spec.volumeAttributesClassName", why))


# Claims


def _claim(errors: Errors, claim: Object) -> None:
    claim_spec(errors, "spec", claim.get("spec") or {})


def _claim_update(errors: Errors, new: Object, old: Object) -> None:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    bound = (new.get("status") or {}).get("phase") == "Bound"
    unexplained = _comparable(after, before, bound=bound)
    if unexplained != before:
        errors.append(FieldError.forbidden("spec", f"{_FROZEN_CLAIM}\n{difference(before, unexplained)}"))
    size, old_size = _storage(after.get("resources")), _storage(before.get("resources"))
    have = ((old.get("status") or {}).get("capacity") or {}).get("storage", "0")
    if amount(size) < amount(old_size) and amount(size) <= amount(have):
        why = "field can not be less than status.capacity"
        errors.append(FieldError.forbidden("spec.resources.requests.storage", why))
    immutable(errors, "volumeMode", after.get("volumeMode"), before.get("volumeMode"))


def _storage(resources: Object | None) -> str:
    text: str = ((resources or {}).get("requests") or {}).get("storage", "0")
    return text


def _comparable(new: Object, old: Object, *, bound: bool) -> Object:
    """The new spec without the changes that a claim may make."""
    spec = dict(new)
    if not old.get("volumeName"):
        spec.pop("volumeName", None)
        spec |= {"volumeName": old["volumeName"]} if "volumeName" in old else {}
    if "storageClassName" not in old:
        spec.pop("storageClassName", None)
    if bound:
        requests = {**((new.get("resources") or {}).get("requests") or {}), "storage": _storage(old.get("resources"))}
        spec["resources"] = {**(new.get("resources") or {}), "requests": requests}
        spec.pop("volumeAttributesClassName", None)
        if "volumeAttributesClassName" in old:
            spec["volumeAttributesClassName"] = old["volumeAttributesClassName"]
    return spec


# Classes


def _storage_class(errors: Errors, found: Object) -> None:
    _provisioner(errors, "provisioner", found.get("provisioner", ""))
    _parameters(errors, found.get("parameters") or {})
    policy = found.get("reclaimPolicy")
    one_of(errors, "reclaimPolicy", policy, ("Delete", "Retain"), needed=False)
    mode = found.get("volumeBindingMode")
    if mode is None:
        errors.append(FieldError.required("volumeBindingMode"))
    elif mode not in _BINDING_MODES:
        errors.append(FieldError.unsupported("volumeBindingMode", mode, _BINDING_MODES))
    for index, term in enumerate(found.get("allowedTopologies") or ()):
        _topology(errors, f"allowedTopologies[{index}]", term)


def _provisioner(errors: Errors, path: str, name: str) -> None:
    if required(errors, path, name):
        invalid(errors, path, name.lower(), names.is_qualified_name(name.lower()))


def _parameters(errors: Errors, parameters: Object) -> None:
    if len(parameters) > _PARAMETERS_COUNT:
        errors.append(FieldError.too_long("parameters", _PARAMETERS_COUNT))
    if "" in parameters:
        errors.append(FieldError.invalid("parameters", "", "field can not be empty."))
    if sum(len(key) + len(value) for key, value in parameters.items()) > _PARAMETERS_LIMIT:
        errors.append(FieldError.too_long("parameters", _PARAMETERS_LIMIT))


def _topology(errors: Errors, path: str, term: Object) -> None:
    keys: set[str] = set()
    for index, expression in enumerate(term.get("matchLabelExpressions") or ()):
        place, values = f"{path}.matchLabelExpressions[{index}]", expression.get("values") or []
        required(errors, f"{place}.values", values)
        for at, value in enumerate(values):
            if value in values[:at]:
                errors.append(FieldError.duplicate(f"{place}.values[{at}]", value))
        qualified_name(errors, f"{place}.key", expression.get("key", ""))
        if expression.get("key", "") in keys:
            errors.append(FieldError.duplicate(f"{place}.key", expression["key"]))
        keys.add(expression.get("key", ""))


def _fixed(*fields: str) -> Callable[[Errors, Object, Object], None]:
    def check(errors: Errors, new: Object, old: Object) -> None:
        for field in fields:
            immutable(errors, field, new.get(field), old.get(field))

    return check


def _attributes_class(errors: Errors, found: Object) -> None:
    _provisioner(errors, "driverName", found.get("driverName", ""))
    _parameters(errors, found.get("parameters") or {})
    required(errors, "parameters", found.get("parameters"), "must contain at least one key/value pair")


def _attributes_class_update(errors: Errors, new: Object, old: Object) -> None:
    for field in ("driverName", "parameters"):
        if new.get(field) != old.get(field):
            errors.append(FieldError.forbidden(field, f"updates to {field} are forbidden."))


# Drivers


def _attachment(errors: Errors, attachment: Object) -> None:
    spec = attachment.get("spec") or {}
    csi_driver_name(errors, "spec.attacher", spec.get("attacher", ""))
    source = spec.get("source") or {}
    words = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if len(source) == 0:
        errors.append(FieldError.required("spec.source", words))
    elif len(source) > 1:
        errors.append(FieldError.forbidden("spec.source", words))
    dns_subdomain(errors, "spec.nodeName", spec.get("nodeName", ""))


def _attachment_update(errors: Errors, new: Object, old: Object) -> None:
    immutable(errors, "spec", new.get("spec"), old.get("spec"))


def _csi_node(errors: Errors, node: Object) -> None:
    seen: set[str] = set()
    for index, driver in enumerate((node.get("spec") or {}).get("drivers") or ()):
        path, name = f"spec.drivers[{index}]", driver.get("name", "")
        csi_driver_name(errors, f"{path}.name", name)
        required(errors, f"{path}.nodeID", driver.get("nodeID"))
        non_negative(errors, f"{path}.allocatable.count", (driver.get("allocatable") or {}).get("count"))
        if name in seen:
            errors.append(FieldError.duplicate(f"{path}.name", name))
        seen.add(name)


def _storage_capacity(errors: Errors, found: Object) -> None:
    label_selector(errors, "nodeTopology", found.get("nodeTopology"))
    dns_subdomain(errors, "storageClassName", found.get("storageClassName", ""))
    if "capacity" in found:
        not_negative(errors, "capacity", found["capacity"])


def _runtime_class(errors: Errors, found: Object) -> None:
    handler = found.get("handler", "")
    if required(errors, "handler", handler):
        dns_label(errors, "handler", handler)


def _csi_node_update(errors: Errors, new: Object, old: Object) -> None:
    """A driver stays what it is; only how many volumes it takes may change."""
    before = {driver.get("name"): driver for driver in (old.get("spec") or {}).get("drivers") or ()}
    for driver in (new.get("spec") or {}).get("drivers") or ():
        was = before.get(driver.get("name"))
        if was is not None:
            fixed = [{key: value for key, value in each.items() if key != "allocatable"} for each in (driver, was)]
            immutable(errors, "spec.drivers", *fixed)


def _csi_driver(errors: Errors, driver: Object) -> None:
    for mode in (driver.get("spec") or {}).get("volumeLifecycleModes") or ():
        if mode not in _LIFECYCLE_MODES:
            errors.append(FieldError.unsupported("spec.volumeLifecycleModes", mode, _LIFECYCLE_MODES))


def _csi_driver_update(errors: Errors, new: Object, old: Object) -> None:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    for field, shown_as in (("attachRequired", "attachedRequired"), ("volumeLifecycleModes", "volumeLifecycleModes")):
        immutable(errors, f"spec.{shown_as}", after.get(field), before.get(field))


RULES: dict[str, Rules] = {
    "persistentvolumes": Rules(_volume, namespaced=False, update=_volume_update),
    "persistentvolumeclaims": Rules(_claim, update=_claim_update),
    "storageclasses.storage.k8s.io": Rules(
        _storage_class,
        namespaced=False,
        update=_fixed("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"),
        again_on_update=False,
    ),
    "volumeattributesclasses.storage.k8s.io": Rules(
        _attributes_class, namespaced=False, update=_attributes_class_update
    ),
    "volumeattachments.storage.k8s.io": Rules(_attachment, namespaced=False, update=_attachment_update),
    "csinodes.storage.k8s.io": Rules(_csi_node, namespaced=False, update=_csi_node_update),
    "csidrivers.storage.k8s.io": Rules(_csi_driver, namespaced=False, update=_csi_driver_update),
    "csistoragecapacities.storage.k8s.io": Rules(
        _storage_capacity, update=_fixed("nodeTopology", "storageClassName"), again_on_update=False
    ),
    "runtimeclasses.node.k8s.io": Rules(
        _runtime_class, namespaced=False, update=_fixed("handler"), again_on_update=False
    ),
}
