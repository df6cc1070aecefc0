"""Where a pod may run: node selectors, affinity, tolerations and topology spread."""

from __future__ import annotations

from collections.abc import Sequence

from ghostfleet.api.validation.checks import (
    Errors,
    Object,
    invalid,
    label_selector,
    label_value,
    positive,
    qualified_name,
    required,
)
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError

__all__ = ["EFFECTS", "affinity", "node_selector", "spread_constraints", "taint_effect", "tolerations"]

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def affinity(errors: Errors, path: str, found: Object) -> None:
    if nodes := found.get("nodeAffinity"):
        _node_affinity(errors, f"{path}.nodeAffinity", nodes)
    for sort in ("podAffinity", "podAntiAffinity"):
        if pods := found.get(sort):
            _pod_affinity(errors, f"{path}.{sort}", pods)


def _node_affinity(errors: Errors, path: str, found: Object) -> None:
    if _REQUIRED in found:
        node_selector(errors, f"{path}.{_REQUIRED}", found[_REQUIRED])
    for index, term in enumerate(found.get(_PREFERRED) or ()):
        place = f"{path}.{_PREFERRED}[{index}]"
        _weight(errors, place, term)
        _node_term(errors, f"{place}.preference", term.get("preference") or {}, any_value=True)


def _weight(errors: Errors, path: str, term: Object) -> None:
    weight = term.get("weight", 0)
    if not 1 <= weight <= 100:
        errors.append(FieldError.invalid(f"{path}.weight", weight, "must be in the range 1-100"))


def node_selector(errors: Errors, path: str, selector: Object) -> None:
    terms = selector.get("nodeSelectorTerms") or []
    if not required(errors, f"{path}.nodeSelectorTerms", terms, "must have at least one node selector term"):
        return
    for index, term in enumerate(terms):
        _node_term(errors, f"{path}.nodeSelectorTerms[{index}]", term)


def _node_term(errors: Errors, path: str, term: Object, *, any_value: bool = False) -> None:
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        _node_expression(errors, f"{path}.matchExpressions[{index}]", expression, any_value=any_value)
    for index, expression in enumerate(term.get("matchFields") or ()):
        _node_field(errors, f"{path}.matchFields[{index}]", expression)


def _node_expression(errors: Errors, path: str, expression: Object, *, any_value: bool) -> None:
    operator, values = expression.get("operator", ""), expression.get("values") or []
    if operator in ("In", "NotIn"):
        required(errors, f"{path}.values", values, "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(FieldError.forbidden(f"{path}.values", why))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            errors.append(FieldError.required(f"{path}.values", why))
    else:
        errors.append(FieldError.invalid(f"{path}.operator", operator, "not a valid selector operator"))
    qualified_name(errors, f"{path}.key", expression.get("key", ""))
    if not any_value:
        for index, value in enumerate(values):
            label_value(errors, f"{path}.values[{index}]", value)


def _node_field(errors: Errors, path: str, expression: Object) -> None:
    operator, values = expression.get("operator", ""), expression.get("values") or []
    if operator not in ("In", "NotIn"):
        errors.append(FieldError.invalid(f"{path}.operator", operator, "not a valid selector operator"))
    elif len(values) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(FieldError.required(f"{path}.values", why))
    if expression.get("key") != "metadata.name":
        errors.append(FieldError.invalid(f"{path}.key", expression.get("key", ""), "not a valid field selector key"))
        return
    for index, value in enumerate(values):
        invalid(errors, f"{path}.values[{index}]", value, names.is_dns1123_subdomain(value))


def _pod_affinity(errors: Errors, path: str, found: Object) -> None:
    for index, term in enumerate(found.get(_REQUIRED) or ()):
        _pod_term(errors, f"{path}.{_REQUIRED}[{index}]", term)
    for index, weighted in enumerate(found.get(_PREFERRED) or ()):
        place = f"{path}.{_PREFERRED}[{index}]"
        _weight(errors, place, weighted)
        _pod_term(errors, f"{place}.podAffinityTerm", weighted.get("podAffinityTerm") or {})


def _pod_term(errors: Errors, path: str, term: Object) -> None:
    label_selector(errors, f"{path}.labelSelector", term.get("labelSelector"))
    label_selector(errors, f"{path}.namespaceSelector", term.get("namespaceSelector"))
    for namespace in term.get("namespaces") or ():
        invalid(errors, f"{path}.namespace", namespace, names.is_dns1123_label(namespace))
    _label_keys(errors, path, term)
    key = term.get("topologyKey", "")
    required(errors, f"{path}.topologyKey", key, "can not be empty")
    qualified_name(errors, f"{path}.topologyKey", key)


def _label_keys(errors: Errors, path: str, term: Object) -> None:
    """matchLabelKeys and mismatchLabelKeys of a term or a constraint."""
    wanted, unwanted = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    if not wanted and not unwanted:
        return
    selector = term.get("labelSelector")
    for field, keys in (("matchLabelKeys", wanted), ("mismatchLabelKeys", unwanted)):
        if keys and selector is None:
            why = "must not be specified when labelSelector is not set"
            errors.append(FieldError.forbidden(f"{path}.{field}", why))
        elif keys:
            for index, key in enumerate(keys):
                qualified_name(errors, f"{path}.{field}[{index}]", key)
    if selector is not None:
        _twice_selected(errors, path, wanted, selector)
    for index, key in enumerate(wanted):
        if key in unwanted:
            why = "exists in both matchLabelKeys and mismatchLabelKeys"
            errors.append(FieldError.invalid(f"{path}.matchLabelKeys[{index}]", key, why))


def _twice_selected(errors: Errors, path: str, wanted: Sequence[str], selector: Object) -> None:
    # Admission adds one expression for each key; a key that is selected by another one as well is a conflict.
    selected = set(selector.get("matchLabels") or {})
    for expression in selector.get("matchExpressions") or ():
        key = expression.get("key", "")
        if key in wanted and key in selected:
            why = "exists in both matchLabelKeys and labelSelector"
            errors.append(FieldError.invalid(f"{path}[{wanted.index(key)}]", key, why))
        selected.add(key)


def taint_effect(errors: Errors, path: str, effect: str, *, needed: bool) -> None:
    if effect in EFFECTS:
        return
    if effect:
        errors.append(FieldError.unsupported(path, effect, EFFECTS))
    elif needed:
        errors.append(FieldError.required(path))


def tolerations(errors: Errors, path: str, found: list[Object]) -> None:
    for index, toleration in enumerate(found):
        _toleration(errors, f"{path}[{index}]", toleration)


def _toleration(errors: Errors, path: str, toleration: Object) -> None:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    value, effect = toleration.get("value", ""), toleration.get("effect", "")
    if key:
        qualified_name(errors, f"{path}.key", key)
    elif operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        errors.append(FieldError.invalid(f"{path}.operator", operator, why))
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.append(FieldError.invalid(f"{path}.effect", effect, why))
    if operator in ("Equal", ""):
        if messages := names.is_label_value(value):
            errors.append(FieldError.invalid(f"{path}.operator", value, ";".join(messages)))
    elif operator == "Exists":
        if value:
            why = "value must be empty when `operator` is 'Exists'"
            errors.append(FieldError.invalid(f"{path}.operator", value, why))
    else:
        known = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
        errors.append(FieldError.unsupported(f"{path}.operator", operator, known))
    taint_effect(errors, f"{path}.effect", effect, needed=False)


def spread_constraints(errors: Errors, path: str, constraints: list[Object]) -> None:
    for index, constraint in enumerate(constraints):
        place = f"{path}[{index}]"
        when = constraint.get("whenUnsatisfiable", "")
        positive(errors, f"{place}.maxSkew", constraint.get("maxSkew", 0))
        required(errors, f"{place}.topologyKey", constraint.get("topologyKey"), "can not be empty")
        if when not in ("DoNotSchedule", "ScheduleAnyway"):
            supported = ("DoNotSchedule", "ScheduleAnyway")
            errors.append(FieldError.unsupported(f"{place}.whenUnsatisfiable", when, supported))
        _not_repeated(errors, place, constraint, constraints[index + 1 :])
        _min_domains(errors, f"{place}.minDomains", constraint.get("minDomains"), when)
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if policy in constraint and constraint[policy] not in ("Honor", "Ignore"):
                errors.append(FieldError.unsupported(f"{place}.{policy}", constraint[policy], ("Honor", "Ignore")))
        _label_keys(errors, place, constraint)
        label_selector(errors, f"{place}.labelSelector", constraint.get("labelSelector"))


def _not_repeated(errors: Errors, path: str, constraint: Object, later: list[Object]) -> None:
    identity = (constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", ""))
    if any((other.get("topologyKey", ""), other.get("whenUnsatisfiable", "")) == identity for other in later):
        value = f"{{{identity[0]}, {identity[1]}}}"
        errors.append(FieldError.duplicate(f"{path}.{{topologyKey, whenUnsatisfiable}}", value))


def _min_domains(errors: Errors, path: str, domains: int | None, when: str) -> None:
    if domains is None:
        return
    positive(errors, path, domains)
    if when != "DoNotSchedule":
        why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}"
        errors.append(FieldError.invalid(path, domains, why))
