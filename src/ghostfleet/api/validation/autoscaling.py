"""Horizontal pod autoscalers (autoscaling/v2) and the scale that other kinds show."""

from __future__ import annotations

from ghostfleet.api.validation.checks import Errors, Object, dns_label, invalid, non_negative, required
from ghostfleet.api.validation.resources import amount, container_resource, not_negative
from ghostfleet.api.validation.rules import Rules
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError

__all__ = ["RULES", "scale"]

#: type of a metric -> the field that holds it
_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_MAX_WINDOW, _MAX_PERIOD = 3600, 1800


def scale(errors: Errors, found: Object) -> None:
    non_negative(errors, "spec.replicas", (found.get("spec") or {}).get("replicas"))


def _autoscaler(errors: Errors, autoscaler: Object) -> None:
    spec = autoscaler.get("spec") or {}
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if least is not None and least < 1:
        errors.append(FieldError.invalid("spec.minReplicas", least, "must be greater than or equal to 1"))
    if most == 0:
        errors.append(FieldError.required("spec.maxReplicas", "must be set and greater than 0"))
    elif most < 0:
        errors.append(FieldError.invalid("spec.maxReplicas", most, "must be greater than or equal to 1"))
    if least is not None and most < least:
        why = "must be greater than or equal to `minReplicas`"
        errors.append(FieldError.invalid("spec.maxReplicas", most, why))
    _reference(errors, "spec.scaleTargetRef", spec.get("scaleTargetRef") or {})
    for index, metric in enumerate(spec.get("metrics") or ()):
        _metric(errors, f"spec.metrics[{index}]", metric)
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in spec.get("metrics") or ()):
        why = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(FieldError.forbidden("spec.metrics", why))
    for direction in ("scaleUp", "scaleDown"):
        if rules := (spec.get("behavior") or {}).get(direction):
            _scaling_rules(errors, f"spec.behavior.{direction}", rules)


def _reference(errors: Errors, path: str, reference: Object) -> None:
    for field in ("kind", "name"):
        if required(errors, f"{path}.{field}", reference.get(field)):
            value = reference[field]
            invalid(errors, f"{path}.{field}", value, names.is_path_segment_name(value))


def _metric(errors: Errors, path: str, metric: Object) -> None:
    sort = metric.get("type", "")
    required(errors, f"{path}.type", sort, "must specify a metric source type")
    if sort not in _SOURCES:
        errors.append(FieldError.unsupported(f"{path}.type", sort, tuple(_SOURCES)))
    order = ("object", "external", "pods", "resource", "containerResource")
    present = [field for field in order if field in metric]
    if present:
        _source(errors, f"{path}.{present[0]}", present[0], metric[present[0]])
    expected = _SOURCES.get(sort, "")
    if expected and expected not in metric:
        why = "must populate information for the given metric source"
        errors.append(FieldError.required(f"{path}.{expected}", why))
    if len(present) != 1:
        for other in present:
            if other != expected:
                why = "must populate the given metric source only"
                errors.append(FieldError.forbidden(f"{path}.{other}", why))


def _source(errors: Errors, path: str, sort: str, source: Object) -> None:
    target = source.get("target") or {}
    if sort in ("resource", "containerResource"):
        name = source.get("name", "")
        if required(errors, f"{path}.name", name, "must specify a resource name") and sort == "containerResource":
            invalid(errors, f"{path}.name", name, container_resource(name))
        if sort == "containerResource" and required(
            errors, f"{path}.container", source.get("container"), "must specify a container"
        ):
            dns_label(errors, f"{path}.container", source["container"])
    else:
        if sort == "object":
            _reference(errors, f"{path}.describedObject", source.get("describedObject") or {})
        name = (source.get("metric") or {}).get("name", "")
        if required(errors, f"{path}.metric.name", name, "must specify a metric name"):
            invalid(errors, f"{path}.metric.name", name, names.is_path_segment_name(name))
    _target(errors, f"{path}.target", target)
    _target_of(errors, f"{path}.target", sort, target)


def _target(errors: Errors, path: str, target: Object) -> None:
    sort = target.get("type", "")
    required(errors, f"{path}.type", sort, "must specify a metric target type")
    if sort not in ("Utilization", "Value", "AverageValue"):
        why = "must be either Utilization, Value, or AverageValue"
        errors.append(FieldError.invalid(f"{path}.type", sort, why))
    for field in ("value", "averageValue"):
        if field in target and amount(target[field]) <= 0:
            errors.append(FieldError.invalid(f"{path}.{field}", target[field], "must be positive"))
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        errors.append(FieldError.invalid(f"{path}.averageUtilization", utilization, "must be greater than 0"))


def _target_of(errors: Errors, path: str, sort: str, target: Object) -> None:
    if sort in ("resource", "containerResource"):
        both = [field for field in ("averageUtilization", "averageValue") if field in target]
        if not both:
            why = "must set either a target raw value or a target utilization"
            errors.append(FieldError.required(f"{path}.averageUtilization", why))
        elif len(both) == 2:
            why = "may not set both a target raw value and a target utilization"
            errors.append(FieldError.forbidden(f"{path}.averageValue", why))
    elif sort == "pods" and "averageValue" not in target:
        errors.append(FieldError.required(f"{path}.averageValue", "must specify a positive target averageValue"))
    elif sort != "pods" and "value" not in target and "averageValue" not in target:
        words = (
            "a target value or averageValue" if sort == "object" else "a target value for metric or a per-pod target"
        )
        errors.append(FieldError.required(f"{path}.averageValue", f"must set either {words}"))


def _scaling_rules(errors: Errors, path: str, rules: Object) -> None:
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and window < 0:
        why = "must be greater than or equal to zero"
        errors.append(FieldError.invalid(f"{path}.stabilizationWindowSeconds", window, why))
    if window is not None and window > _MAX_WINDOW:
        why = f"must be less than or equal to {_MAX_WINDOW}"
        errors.append(FieldError.invalid(f"{path}.stabilizationWindowSeconds", window, why))
    if "selectPolicy" in rules and rules["selectPolicy"] not in ("Disabled", "Max", "Min"):
        supported = ("Disabled", "Max", "Min")
        errors.append(FieldError.unsupported(f"{path}.selectPolicy", rules["selectPolicy"], supported))
    required(errors, f"{path}.policies", rules.get("policies"), "must specify at least one Policy")
    for index, policy in enumerate(rules.get("policies") or ()):
        place = f"{path}.policies[{index}]"
        if policy.get("type") not in ("Percent", "Pods"):
            errors.append(FieldError.unsupported(f"{place}.type", policy.get("type", ""), ("Percent", "Pods")))
        for field in ("value", "periodSeconds"):
            if policy.get(field, 0) <= 0:
                why = "must be greater than zero"
                errors.append(FieldError.invalid(f"{place}.{field}", policy.get(field, 0), why))
        if policy.get("periodSeconds", 0) > _MAX_PERIOD:
            why = f"must be less than or equal to {_MAX_PERIOD}"
            errors.append(FieldError.invalid(f"{place}.periodSeconds", policy["periodSeconds"], why))
    if "tolerance" in rules:
        not_negative(errors, f"{path}.tolerance", rules["tolerance"])


def _autoscaler_status(errors: Errors, new: Object, _old: Object) -> None:
    for field in ("currentReplicas", "desiredReplicas"):
        non_negative(errors, f"status.{field}", (new.get("status") or {}).get(field))


RULES: dict[str, Rules] = {
    "horizontalpodautoscalers.autoscaling": Rules(_autoscaler, status=_autoscaler_status),
}
