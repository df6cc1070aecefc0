"""Validation of the API group rbac.authorization.k8s.io: roles and their bindings."""

from __future__ import annotations

from ghostfleet.api.validation.checks import Errors, Object, invalid, label_selector, required
from ghostfleet.api.validation.rules import Rules, path_segment_name
from ghostfleet.api.validation.structs import Layout, Shown, shown
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError

__all__ = ["RULES"]

_ROLE_REF: Layout = (("APIGroup", "apiGroup", ""), ("Kind", "kind", ""), ("Name", "name", ""))
_RBAC = "rbac.authorization.k8s.io"


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
    f"roles.{_RBAC}": Rules(_role, name=path_segment_name),
    f"clusterroles.{_RBAC}": Rules(_cluster_role, name=path_segment_name, namespaced=False),
    f"rolebindings.{_RBAC}": Rules(_role_binding, name=path_segment_name, update=_same_role),
    f"clusterrolebindings.{_RBAC}": Rules(
        _cluster_role_binding, name=path_segment_name, namespaced=False, update=_same_role
    ),
}
