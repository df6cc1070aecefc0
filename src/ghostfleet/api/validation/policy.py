"""Validation of the API group policy: PodDisruptionBudgets."""

from __future__ import annotations

from ghostfleet.api.validation.checks import (
    Errors,
    Object,
    int_or_percent,
    is_more_than_all,
    label_selector,
    non_negative,
)
from ghostfleet.api.validation.rules import Rules, path_segment_name
from ghostfleet.api.validation.structs import Layout, Shown, shown
from ghostfleet.core.errors import FieldError

__all__ = ["RULES"]

_BUDGET: Layout = (
    ("MinAvailable", "minAvailable", None),
    ("Selector", "selector", None),
    ("MaxUnavailable", "maxUnavailable", None),
    ("UnhealthyPodEvictionPolicy", "unhealthyPodEvictionPolicy", None),
)
_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


def _budget(errors: Errors, budget: Object) -> None:
    spec = budget.get("spec") or {}
    if "minAvailable" in spec and "maxUnavailable" in spec:
        why = "minAvailable and maxUnavailable cannot be both set"
        errors.append(Shown("Invalid value", "spec", shown(spec, _BUDGET), why))
    for field in ("minAvailable", "maxUnavailable"):
        if field in spec:
            int_or_percent(errors, f"spec.{field}", spec[field])
            is_more_than_all(errors, f"spec.{field}", spec[field])
    label_selector(errors, "spec.selector", spec.get("selector"))
    eviction = spec.get("unhealthyPodEvictionPolicy")
    if eviction is not None and eviction not in _EVICTION_POLICIES:
        errors.append(FieldError.unsupported("spec.unhealthyPodEvictionPolicy", eviction, _EVICTION_POLICIES))


def _budget_status(errors: Errors, new: Object, _old: Object) -> None:
    for field in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        non_negative(errors, f"status.{field}", (new.get("status") or {}).get(field))


RULES: dict[str, Rules] = {
    "poddisruptionbudgets.policy": Rules(_budget, name=path_segment_name, status=_budget_status),
}
