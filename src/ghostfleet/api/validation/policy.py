"""Disruption budgets, priority classes, leases and roles: who may do what, when, and before whom."""

from __future__ import annotations

from ghostfleet.api.validation.checks import (
    Errors,
    Object,
    immutable,
    int_or_percent,
    invalid,
    is_more_than_all,
    label_selector,
    non_negative,
    one_of,
    required,
)
from ghostfleet.api.validation.rules import Rules, path_segment_name
from ghostfleet.api.validation.structs import Layout, Shown, shown
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError

__all__ = ["RULES"]

_BUDGET: Layout = (
    ("MinAvailable", "minAvailable", None),
    ("Selector", "selector", None),
    ("MaxUnavailable", "maxUnavailable", None),
    ("UnhealthyPodEvictionPolicy", "unhealthyPodEvictionPolicy", None),
)
_ROLE_REF: Layout = (("APIGroup", "apiGroup", ""), ("Kind", "kind", ""), ("Name", "name", ""))
_HIGHEST_PRIORITY = 1_000_000_000
_SYSTEM = "system-"
_SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_RBAC = "rbac.authorization.k8s.io"
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


def _priority_class(errors: Errors, found: Object) -> None:
    name, value = (found.get("metadata") or {}).get("name", ""), found.get("value", 0)
    if name.startswith(_SYSTEM):
        if problem := _system_class_problem(name, value, bool(found.get("globalDefault"))):
            why = f"priority class names with '{_SYSTEM}' prefix are reserved for system use only. error: {problem}"
            errors.append(FieldError.forbidden("metadata.name", why))
    elif value > _HIGHEST_PRIORITY:
        why = f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}"
        errors.append(FieldError.forbidden("value", why))
    if "preemptionPolicy" in found:
        one_of(errors, "preemptionPolicy", found["preemptionPolicy"], ("PreemptLowerPriority", "Never"))


def _system_class_problem(name: str, value: int, is_default: bool) -> str:
    if name not in _SYSTEM_CLASSES:
        return f"{name} is not a known system priority class"
    if value != _SYSTEM_CLASSES[name]:
        return f"value of {name} PriorityClass must be {_SYSTEM_CLASSES[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""


def _priority_class_update(errors: Errors, new: Object, old: Object) -> None:
    if new.get("value", 0) != old.get("value", 0):
        errors.append(FieldError.forbidden("value", "may not be changed in an update."))
    immutable(errors, "preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy"))


def _lease(errors: Errors, lease: Object) -> None:
    spec = lease.get("spec") or {}
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        errors.append(FieldError.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        why = "must be greater than or equal to 0"
        errors.append(FieldError.invalid("spec.leaseTransitions", transitions, why))
    if spec.get("preferredHolder") and not spec.get("strategy"):
        why = "may only be specified if `strategy` is defined"
        errors.append(FieldError.forbidden("spec.preferredHolder", why))


# Roles and their bindings


def _role(errors: Errors, role: Object) -> None:
    for index, rule in enumerate(role.get("rules") or ()):
        _policy_rule(errors, f"rules[{index}]", rule, namespaced=True)


def _cluster_role(errors: Errors, role: Object) -> None:
    for index, rule in enumerate(role.get("rules") or ()):
        _policy_rule(errors, f"rules[{index}]", rule, namespaced=False)
    if "aggregationRule" in role:
        path, selectors = "aggregationRule.clusterRoleSelectors", role["aggregationRule"].get("clusterRoleSelectors")
        required(errors, path, selectors, "at least one clusterRoleSelector required if aggregationRule is non-nil")
        for index, selector in enumerate(selectors or ()):
            label_selector(errors, f"{path}[{index}]", selector)


def _policy_rule(errors: Errors, path: str, rule: Object, *, namespaced: bool) -> None:
    required(errors, f"{path}.verbs", rule.get("verbs"), "verbs must contain at least one value")
    if urls := rule.get("nonResourceURLs"):
        if namespaced:
            why = "namespaced rules cannot apply to non-resource URLs"
            errors.append(FieldError.invalid(f"{path}.nonResourceURLs", urls, why))
        if any(rule.get(field) for field in ("apiGroups", "resources", "resourceNames")):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(FieldError.invalid(f"{path}.nonResourceURLs", urls, why))
        return
    required(errors, f"{path}.apiGroups", rule.get("apiGroups"), "resource rules must supply at least one api group")
    required(errors, f"{path}.resources", rule.get("resources"), "resource rules must supply at least one resource")


def _role_binding(errors: Errors, binding: Object) -> None:
    _binding(errors, binding, ("Role", "ClusterRole"), namespaced=True)


def _cluster_role_binding(errors: Errors, binding: Object) -> None:
    _binding(errors, binding, ("ClusterRole",), namespaced=False)


def _binding(errors: Errors, binding: Object, kinds: tuple[str, ...], *, namespaced: bool) -> None:
    role = binding.get("roleRef") or {}
    if role.get("apiGroup", "") != _RBAC:
        errors.append(FieldError.unsupported("roleRef.apiGroup", role.get("apiGroup", ""), (_RBAC,)))
    if role.get("kind", "") not in kinds:
        errors.append(FieldError.unsupported("roleRef.kind", role.get("kind", ""), kinds))
    if required(errors, "roleRef.name", role.get("name")):
        invalid(errors, "roleRef.name", role["name"], names.is_path_segment_name(role["name"]))
    for index, subject in enumerate(binding.get("subjects") or ()):
        _subject(errors, f"subjects[{index}]", subject, namespaced=namespaced)


def _subject(errors: Errors, path: str, subject: Object, *, namespaced: bool) -> None:
    name, group, kind = subject.get("name", ""), subject.get("apiGroup", ""), subject.get("kind", "")
    required(errors, f"{path}.name", name)
    if kind == "ServiceAccount":
        if name:
            invalid(errors, f"{path}.name", name, names.is_dns1123_subdomain(name))
        if group:
            errors.append(FieldError.unsupported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            errors.append(FieldError.required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != _RBAC:
            errors.append(FieldError.unsupported(f"{path}.apiGroup", group, (_RBAC,)))
    else:
        errors.append(FieldError.unsupported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group")))


def _same_role(errors: Errors, new: Object, old: Object) -> None:
    if new.get("roleRef") != old.get("roleRef"):
        value = shown(new.get("roleRef") or {}, _ROLE_REF)
        errors.append(Shown("Invalid value", "roleRef", value, "cannot change roleRef"))


RULES: dict[str, Rules] = {
    "poddisruptionbudgets.policy": Rules(_budget, name=path_segment_name, status=_budget_status),
    "priorityclasses.scheduling.k8s.io": Rules(
        _priority_class, namespaced=False, update=_priority_class_update, again_on_update=False
    ),
    "leases.coordination.k8s.io": Rules(_lease),
    f"roles.{_RBAC}": Rules(_role, name=path_segment_name),
    f"clusterroles.{_RBAC}": Rules(_cluster_role, name=path_segment_name, namespaced=False),
    f"rolebindings.{_RBAC}": Rules(_role_binding, name=path_segment_name, update=_same_role),
    f"clusterrolebindings.{_RBAC}": Rules(
        _cluster_role_binding, name=path_segment_name, namespaced=False, update=_same_role
    ),
}
