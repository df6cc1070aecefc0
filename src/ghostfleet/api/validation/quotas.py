"""Resource quotas and limit ranges: how much a namespace, and each thing in it, may use."""

from __future__ import annotations

from ghostfleet.api.validation.checks import Errors, Object, immutable, invalid, qualified_name
from ghostfleet.api.validation.resources import (
    amount,
    container_resource,
    overcommittable,
    quantity_of,
    quota_resource,
    resource_name,
    standard_quota_resource,
)
from ghostfleet.api.validation.rules import Rules
from ghostfleet.core.errors import FieldError
from ghostfleet.core.quantity import canonical

__all__ = ["RULES"]

_SCOPES = {
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
}
_ONLY_EXISTS = _SCOPES - {"PriorityClass", "VolumeAttributesClass"}
_MUST_EXIST = "must be 'Exists' when scope is any of " + ", ".join(
    f"ResourceQuotaScope{scope}" for scope in ("Terminating", "NotTerminating", "BestEffort")
)
_MUST_EXIST += ", ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
_COMPUTE = {"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"}
_SCOPED = {
    "BestEffort": {"pods"},
    "VolumeAttributesClass": {"persistentvolumeclaims", "requests.storage"},
    **dict.fromkeys(_SCOPES - {"BestEffort", "VolumeAttributesClass"}, _COMPUTE),
}
_CONFLICTS = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_TYPES = ("Pod", "Container", "PersistentVolumeClaim")


def _quota(errors: Errors, quota: Object) -> None:
    spec = quota.get("spec") or {}
    _amounts(errors, "spec.hard", spec.get("hard") or {})
    _scopes(errors, spec)
    if "scopeSelector" in spec:
        _scope_selector(errors, "spec.scopeSelector.matchExpressions", spec)


def _amounts(errors: Errors, path: str, amounts: Object) -> None:
    for name, quantity in amounts.items():
        invalid(errors, f"{path}[{name}]", name, quota_resource(name))
        quantity_of(errors, f"{path}[{name}]", name, quantity)


def _fits(scope: str, resource: str) -> bool:
    return not standard_quota_resource(resource) or scope not in _SCOPED or resource in _SCOPED[scope]


def _scopes(errors: Errors, spec: Object) -> None:
    scopes, path = spec.get("scopes") or [], "spec.scopes"
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(FieldError.invalid(path, scopes, "unsupported scope"))
        for resource in sorted(spec.get("hard") or {}):
            if not _fits(scope, resource):
                errors.append(FieldError.invalid(path, scopes, "unsupported scope applied to resource"))
    if any(pair <= set(scopes) for pair in _CONFLICTS):
        errors.append(FieldError.invalid(path, scopes, "conflicting scopes"))


def _scope_selector(errors: Errors, path: str, spec: Object) -> None:
    for term in spec["scopeSelector"].get("matchExpressions") or ():
        scope, operator, values = term.get("scopeName", ""), term.get("operator", ""), term.get("values") or []
        if scope not in _SCOPES:
            errors.append(FieldError.invalid(f"{path}.scopeName", scope, "unsupported scope"))
        for resource in sorted(spec.get("hard") or {}):
            if not _fits(scope, resource):
                why = "unsupported scope applied to resource"
                errors.append(FieldError.invalid(path, spec["scopeSelector"], why))
        if scope in _ONLY_EXISTS and operator != "Exists":
            errors.append(FieldError.invalid(f"{path}.operator", operator, _MUST_EXIST))
        if operator in ("In", "NotIn"):
            if not values:
                why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                errors.append(FieldError.required(f"{path}.values", why))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                errors.append(FieldError.invalid(f"{path}.values", values, why))
        else:
            errors.append(FieldError.invalid(f"{path}.operator", operator, "not a valid selector operator"))


def _quota_update(errors: Errors, new: Object, old: Object) -> None:
    after, before = (new.get("spec") or {}).get("scopes") or [], (old.get("spec") or {}).get("scopes") or []
    if set(after) != set(before):
        immutable(errors, "spec.scopes", after, before)


def _quota_status(errors: Errors, new: Object, _old: Object) -> None:
    for field in ("hard", "used"):
        _amounts(errors, f"status.{field}", (new.get("status") or {}).get(field) or {})


# Limit ranges


def _limit_range(errors: Errors, limit_range: Object) -> None:
    seen: set[str] = set()
    for index, limit in enumerate((limit_range.get("spec") or {}).get("limits") or ()):
        path, sort = f"spec.limits[{index}]", limit.get("type", "")
        _limit_type(errors, f"{path}.type", sort)
        if sort in seen:
            errors.append(FieldError.duplicate(f"{path}.type", sort))
        seen.add(sort)
        _limit_names(errors, path, limit, sort)
        if sort == "PersistentVolumeClaim" and not any("storage" in (limit.get(side) or {}) for side in ("min", "max")):
            why = "either minimum or maximum storage value is required, but neither was provided"
            errors.append(FieldError.required(f"{path}.limits", why))
        for name in dict.fromkeys(name for part in _parts(sort) for name in limit.get(part) or {}):
            _limit_order(errors, path, name, {part: (limit.get(part) or {}).get(name) for part in _parts(sort)})


def _parts(sort: str) -> tuple[str, ...]:
    if sort == "Pod":
        return ("max", "min", "maxLimitRequestRatio")
    return ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def _limit_type(errors: Errors, path: str, sort: str) -> None:
    before = len(errors)
    qualified_name(errors, path, sort)
    if len(errors) == before and "/" not in sort and sort not in _TYPES:
        errors.append(FieldError.invalid(path, sort, "must be a standard limit type or fully qualified"))


def _limit_names(errors: Errors, path: str, limit: Object, sort: str) -> None:
    if sort == "Pod":
        for part in ("default", "defaultRequest"):
            if limit.get(part):
                errors.append(FieldError.forbidden(f"{path}.{part}", "may not be specified when `type` is 'Pod'"))
    check = container_resource if sort in ("Pod", "Container") else resource_name
    for part in _parts(sort):
        for name in limit.get(part) or {}:
            invalid(errors, f"{path}.{part}[{name}]", name, check(name))


def _limit_order(errors: Errors, path: str, name: str, found: dict[str, str | None]) -> None:
    """min <= defaultRequest <= default <= max, and a ratio that can be kept."""

    def order(low: str, high: str, words: str, place: str, shown: str) -> None:
        below, above = found.get(low), found.get(high)
        if below is not None and above is not None and amount(below) > amount(above):
            low_words, high_words = words.split("|")
            why = f"{low_words} value {canonical(below)} is greater than {high_words} value {canonical(above)}"
            errors.append(FieldError.invalid(f"{path}.{place}[{name}]", found[shown], why))

    order("min", "max", "min|max", "min", "min")
    order("min", "defaultRequest", "min|default request", "defaultRequest", "defaultRequest")
    order("defaultRequest", "max", "default request|max", "defaultRequest", "defaultRequest")
    order("defaultRequest", "default", "default request|default limit", "defaultRequest", "defaultRequest")
    order("min", "default", "min|default", "default", "min")
    order("default", "max", "default|max", "default", "max")
    _ratio(errors, f"{path}.maxLimitRequestRatio[{name}]", found)
    default, request = found.get("default"), found.get("defaultRequest")
    if default and request and not overcommittable(name) and amount(default) != amount(request):
        why = f"default value {canonical(default)} must equal to defaultRequest value {canonical(request)} in {name}"
        errors.append(FieldError.invalid(f"{path}.defaultRequest[{name}]", request, why))


def _ratio(errors: Errors, path: str, found: dict[str, str | None]) -> None:
    ratio, least, most = found.get("maxLimitRequestRatio"), found.get("min"), found.get("max")
    if ratio is None:
        return
    if amount(ratio) < 10**9:
        errors.append(FieldError.invalid(path, ratio, f"ratio {canonical(ratio)} is less than 1"))
    if least and most and amount(least) and amount(ratio) / 10**9 > amount(most) / amount(least):
        why = f"ratio {canonical(ratio)} is greater than max/min = {amount(most) / amount(least):f}"
        errors.append(FieldError.invalid(path, ratio, why))


RULES: dict[str, Rules] = {
    "resourcequotas": Rules(_quota, update=_quota_update, status=_quota_status),
    "limitranges": Rules(_limit_range),
}
