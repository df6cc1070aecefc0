"""Dynamic resource allocation (resource.k8s.io/v1): claims to devices, and classes of devices.

A claim has named *requests*; each asks for devices of one class exactly, or lists alternatives of which the first
available is taken. A claim's spec never changes.
"""

from __future__ import annotations

from ghostfleet.api.validation.checks import (
    Errors,
    Object,
    dns_label,
    dns_subdomain,
    immutable,
    label_value,
    labels,
    qualified_name,
    required,
)
from ghostfleet.api.validation.device_parts import EFFECTS, each, name_of, taint
from ghostfleet.api.validation.device_slices import fully_qualified, pool_name
from ghostfleet.api.validation.metadata import check_annotations
from ghostfleet.api.validation.resources import extended
from ghostfleet.api.validation.rules import Rules
from ghostfleet.api.validation.storage_claims import csi_driver_name
from ghostfleet.api.validation.structs import Layout, Shown, shown
from ghostfleet.core.errors import FieldError

__all__ = ["RULES"]

_EXACT: Layout = (
    ("DeviceClassName", "deviceClassName", ""),
    ("Selectors", "selectors", (("CEL", "cel", (("Expression", "expression", ""),)),)),
    ("AllocationMode", "allocationMode", ""),
    ("Count", "count", 0),
    ("AdminAccess", "adminAccess", None),
    ("Tolerations", "tolerations", None),
    ("Capacity", "capacity", None),
)
_ALTERNATIVE: Layout = (("Name", "name", ""), *(field for field in _EXACT if field[0] != "AdminAccess"))
_REQUEST: Layout = (
    ("Name", "name", ""),
    ("Exactly", "exactly", _EXACT),
    ("FirstAvailable", "firstAvailable", _ALTERNATIVE),
)
_SPEC: Layout = (
    (
        "Devices",
        "devices",
        (("Requests", "requests", _REQUEST), ("Constraints", "constraints", None), ("Config", "config", None)),
    ),
)
_MOST_REQUESTS = _MOST_CONSTRAINTS = _MOST_CONFIGS = _MOST_SELECTORS = 32
_MOST_ALTERNATIVES = 8
_MOST_CONSUMERS = 256
_EXPRESSION_LIMIT = 10 * 1024
_MODES = ("All", "ExactCount")
_UNKNOWN_REQUEST = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)


# Claims


def _claim(errors: Errors, claim: Object) -> None:
    _devices(errors, "spec.devices", (claim.get("spec") or {}).get("devices") or {})


def _template(errors: Errors, template: Object) -> None:
    spec = template.get("spec") or {}
    metadata = spec.get("metadata") or {}
    labels(errors, "spec.metadata.labels", metadata.get("labels"))
    check_annotations(errors, "spec.metadata.annotations", metadata.get("annotations"))
    _devices(errors, "spec.spec.devices", (spec.get("spec") or {}).get("devices") or {})


def _devices(errors: Errors, path: str, devices: Object) -> None:
    requests = devices.get("requests") or []
    known = _request_names(requests)
    each(errors, f"{path}.requests", requests, _MOST_REQUESTS, _request, name_of)

    def constraint(errors: Errors, place: str, found: Object) -> None:
        _known_requests(errors, f"{place}.requests", found.get("requests") or [], known)
        attribute = found.get("matchAttribute", found.get("distinctAttribute"))
        if attribute is None:
            why = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
            errors.append(FieldError.required(place, why))
        else:
            field = "matchAttribute" if "matchAttribute" in found else "distinctAttribute"
            fully_qualified(errors, f"{place}.{field}", attribute)

    def config(errors: Errors, place: str, found: Object) -> None:
        _known_requests(errors, f"{place}.requests", found.get("requests") or [], known)
        _configuration(errors, place, found)

    each(errors, f"{path}.constraints", devices.get("constraints") or [], _MOST_CONSTRAINTS, constraint)
    each(errors, f"{path}.config", devices.get("config") or [], _MOST_CONFIGS, config)


def _request_names(requests: list[Object]) -> set[str]:
    known = {name_of(request) for request in requests}
    known |= {
        f"{name_of(request)}/{name_of(alternative)}"
        for request in requests
        for alternative in request.get("firstAvailable") or ()
    }
    return known


def _known_requests(errors: Errors, path: str, found: list[str], known: set[str]) -> None:
    for index, name in enumerate(found):
        for segment in name.split("/"):
            dns_label(errors, f"{path}[{index}]", segment)
        if name not in known:
            errors.append(FieldError.invalid(f"{path}[{index}]", name, _UNKNOWN_REQUEST))
        if name in found[:index]:
            errors.append(FieldError.duplicate(f"{path}[{index}]", name))


def _request(errors: Errors, path: str, request: Object) -> None:
    dns_label(errors, f"{path}.name", name_of(request))
    alternatives, exactly = request.get("firstAvailable") or [], request.get("exactly")
    words = "exactly one of `exactly` or `firstAvailable` is required"
    if alternatives and exactly is not None:
        errors.append(FieldError.invalid(path, None, f"{words}, but multiple fields are set"))
    elif alternatives:
        each(errors, f"{path}.firstAvailable", alternatives, _MOST_ALTERNATIVES, _alternative, name_of)
    elif exactly is not None:
        _exact(errors, f"{path}.exactly", exactly)
    else:
        errors.append(FieldError.required(path, words))


def _alternative(errors: Errors, path: str, request: Object) -> None:
    dns_label(errors, f"{path}.name", name_of(request))
    _exact(errors, path, request)


def _exact(errors: Errors, path: str, request: Object) -> None:
    device_class = request.get("deviceClassName", "")
    if required(errors, f"{path}.deviceClassName", device_class):
        dns_subdomain(errors, f"{path}.deviceClassName", device_class)
    each(errors, f"{path}.selectors", request.get("selectors") or [], _MOST_SELECTORS, _selector)
    mode, count = request.get("allocationMode", ""), request.get("count", 0)
    if mode == "All":
        if count:
            why = "must not be specified when allocationMode is 'All'"
            errors.append(FieldError.invalid(f"{path}.count", count, why))
    elif mode == "ExactCount":
        if count <= 0:
            errors.append(FieldError.invalid(f"{path}.count", count, "must be greater than zero"))
    else:
        errors.append(FieldError.unsupported(f"{path}.allocationMode", mode, _MODES))
    for index, toleration in enumerate(request.get("tolerations") or ()):
        _toleration(errors, f"{path}.tolerations[{index}]", toleration)


def _toleration(errors: Errors, path: str, toleration: Object) -> None:
    if toleration.get("key"):
        qualified_name(errors, f"{path}.key", toleration["key"])
    operator, value, effect = toleration.get("operator", ""), toleration.get("value", ""), toleration.get("effect")
    if operator == "Exists":
        if value:
            errors.append(FieldError.invalid(f"{path}.value", value, "must be empty for operator `Exists`"))
    elif operator == "Equal":
        label_value(errors, f"{path}.value", value)
    elif not operator:
        errors.append(FieldError.required(f"{path}.operator"))
    else:
        errors.append(FieldError.unsupported(f"{path}.operator", operator, ("Equal", "Exists")))
    if effect and effect not in EFFECTS:
        errors.append(FieldError.unsupported(f"{path}.effect", effect, EFFECTS))


def _selector(errors: Errors, path: str, selector: Object) -> None:
    # Not at the start: most clusters have no use for it.
    from ghostfleet.api.deviceselectors import is_too_complex, selector_problem

    cel = selector.get("cel")
    if cel is None:
        errors.append(FieldError.required(f"{path}.cel"))
    elif len(cel.get("expression", "")) > _EXPRESSION_LIMIT:
        errors.append(FieldError.too_long(f"{path}.cel.expression", _EXPRESSION_LIMIT))
    elif problem := selector_problem(cel.get("expression", "")):
        errors.append(FieldError.invalid(f"{path}.cel.expression", cel.get("expression", ""), problem))
    elif is_too_complex(cel.get("expression", "")):
        errors.append(FieldError.forbidden(f"{path}.cel.expression", "too complex, exceeds cost limit"))


def _configuration(errors: Errors, path: str, found: Object) -> None:
    opaque = found.get("opaque")
    if opaque is None:
        errors.append(FieldError.required(f"{path}.opaque"))
        return
    csi_driver_name(errors, f"{path}.opaque.driver", opaque.get("driver", ""))
    parameters = opaque.get("parameters")
    if parameters is None:
        errors.append(FieldError.required(f"{path}.opaque.parameters"))
    elif not isinstance(parameters, dict):
        place = f"{path}.opaque.parameters"
        errors.append(FieldError.invalid(place, "<value omitted>", "must be a valid JSON object"))


def _same_spec(errors: Errors, new: Object, old: Object) -> None:
    if new.get("spec") != old.get("spec"):
        spec = new.get("spec") or {}
        value = {"Spec": shown(spec["spec"], _SPEC)} if "spec" in spec else shown(spec, _SPEC)
        errors.append(Shown("Invalid value", "spec", value, "field is immutable"))


def _claim_status(errors: Errors, new: Object, old: Object) -> None:
    found, before = new.get("status") or {}, old.get("status") or {}
    consumers, allocation = found.get("reservedFor") or [], found.get("allocation")
    each(errors, "status.reservedFor", consumers, _MOST_CONSUMERS, _consumer, lambda one: one.get("uid", ""))
    if consumers and allocation is None:
        why = "may not be specified when `allocated` is not set"
        errors.append(FieldError.forbidden("status.reservedFor", why))
    elif (new.get("metadata") or {}).get("deletionTimestamp") and any(
        one not in (before.get("reservedFor") or []) for one in consumers
    ):
        why = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        errors.append(FieldError.forbidden("status.reservedFor", why))
    if allocation is not None and "allocation" in before:
        immutable(errors, "status.allocation", allocation, before["allocation"])
    elif allocation is not None:
        known = _request_names(((new.get("spec") or {}).get("devices") or {}).get("requests") or [])
        for index, result in enumerate((allocation.get("devices") or {}).get("results") or ()):
            _result(errors, f"status.allocation.devices.results[{index}]", result, known)


def _consumer(errors: Errors, path: str, consumer: Object) -> None:
    for field in ("resource", "name", "uid"):
        required(errors, f"{path}.{field}", consumer.get(field))


def _result(errors: Errors, path: str, result: Object, known: set[str]) -> None:
    request = result.get("request", "")
    for segment in request.split("/"):
        dns_label(errors, f"{path}.request", segment)
    if request not in known:
        errors.append(FieldError.invalid(f"{path}.request", request, _UNKNOWN_REQUEST))
    csi_driver_name(errors, f"{path}.driver", result.get("driver", ""))
    pool_name(errors, f"{path}.pool", result.get("pool", ""))
    dns_label(errors, f"{path}.device", result.get("device", ""))


# Classes


def _class(errors: Errors, found: Object) -> None:
    spec = found.get("spec") or {}
    each(errors, "spec.selectors", spec.get("selectors") or [], _MOST_SELECTORS, _selector)
    each(errors, "spec.config", spec.get("config") or [], _MOST_CONFIGS, _configuration)
    resource = spec.get("extendedResourceName")
    if resource is not None and not extended(resource):
        why = "must be a valid extended resource name"
        errors.append(FieldError.invalid("spec.extendedResourceName", resource, why))


# Taints


def _taint_rule(errors: Errors, rule: Object) -> None:
    spec = rule.get("spec") or {}
    selector = spec.get("deviceSelector") or {}
    if "driver" in selector:
        csi_driver_name(errors, "spec.deviceSelector.driver", selector["driver"])
    if "pool" in selector:
        pool_name(errors, "spec.deviceSelector.pool", selector["pool"])
    if "device" in selector:
        dns_label(errors, "spec.deviceSelector.device", selector["device"])
    taint(errors, "spec.taint", spec.get("taint") or {})


RULES: dict[str, Rules] = {
    "resourceclaims.resource.k8s.io": Rules(_claim, update=_same_spec, again_on_update=False, status=_claim_status),
    "resourceclaimtemplates.resource.k8s.io": Rules(_template, update=_same_spec, again_on_update=False),
    "deviceclasses.resource.k8s.io": Rules(_class, namespaced=False),
    "devicetaintrules.resource.k8s.io": Rules(_taint_rule, namespaced=False),
}
