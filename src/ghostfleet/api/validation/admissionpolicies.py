"""Admission policies and their bindings: what requests they are about, and what they say of them.

A *policy* matches requests by rules and selectors and judges or changes them by CEL expressions; a *binding* puts one
into force. They are stored and never run here, so that expressions must be there but are not compiled.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from ghostfleet.api.validation.checks import Errors, Object, invalid, label_selector, qualified_name, required
from ghostfleet.api.validation.extensions import rule_with_operations
from ghostfleet.api.validation.rules import Rules
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError

__all__ = ["RULES"]

_FAILURE_POLICIES = ("Fail", "Ignore")
_MATCH_POLICIES = ("Equivalent", "Exact")
_REINVOCATIONS = ("IfNeeded", "Never")
_MUTATING_OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")
_PATCH_TYPES = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS = ("Audit", "Deny", "Warn")
_MOST_CONDITIONS = 64
_MOST_ANNOTATIONS = 20
_LONGEST_ANNOTATION = 5 * 1024
_IDENTIFIER = re.compile("[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED = frozenset(
    (
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    )
)


def _one_of(errors: Errors, path: str, value: str | None, known: Collection[str]) -> None:
    if required(errors, path, value) and value not in known:
        errors.append(FieldError.unsupported(path, value, known))


# Policies


def _validating(errors: Errors, found: Object) -> None:
    spec = found.get("spec") or {}
    _shared_spec(errors, spec)
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not validations and not annotations:
        why = "validations or auditAnnotations must contain at least one item"
        for field in ("validations", "auditAnnotations"):
            errors.append(FieldError.required(f"spec.{field}", why))
        return
    for index, validation in enumerate(validations):
        _validation(errors, f"spec.validations[{index}]", validation)
    _annotations(errors, "spec.auditAnnotations", annotations, (found.get("metadata") or {}).get("name", ""))


def _mutating(errors: Errors, found: Object) -> None:
    spec = found.get("spec") or {}
    _shared_spec(errors, spec, mutating=True)
    mutations = spec.get("mutations") or ()
    required(errors, "spec.mutations", mutations, "mutations must contain at least one item")
    for index, mutation in enumerate(mutations):
        _mutation(errors, f"spec.mutations[{index}]", mutation)
    _one_of(errors, "spec.reinvocationPolicy", spec.get("reinvocationPolicy"), _REINVOCATIONS)


def _shared_spec(errors: Errors, spec: Object, *, mutating: bool = False) -> None:
    _one_of(errors, "spec.failurePolicy", spec.get("failurePolicy"), _FAILURE_POLICIES)
    if "paramKind" in spec:
        _parameter_kind(errors, "spec.paramKind", spec["paramKind"])
    path, constraints = "spec.matchConstraints", spec.get("matchConstraints")
    if constraints is None:
        errors.append(FieldError.required(path))
    else:
        _matched(errors, path, constraints)
        required(errors, f"{path}.resourceRules", constraints.get("resourceRules"))
        if mutating:
            _mutable(errors, path, constraints)
    _conditions(errors, "spec.matchConditions", spec.get("matchConditions") or [])
    for index, variable in enumerate(spec.get("variables") or ()):
        _variable(errors, f"spec.variables[{index}]", variable)


def _parameter_kind(errors: Errors, path: str, found: Object) -> None:
    version = found.get("apiVersion", "")
    if required(errors, f"{path}.apiVersion", version):
        _group_version(errors, f"{path}.apiVersion", version)
    kind = found.get("kind", "")
    if required(errors, f"{path}.kind", kind) and (messages := names.is_dns1035_label(kind.lower())):
        why = f"may have mixed case, but should otherwise match: {','.join(messages)}"
        errors.append(FieldError.invalid(f"{path}.kind", kind, why))


def _group_version(errors: Errors, path: str, text: str) -> None:
    if text.count("/") > 1:
        errors.append(FieldError.invalid(path, text, f"unexpected GroupVersion string: {text}"))
        return
    group, _, version = text.rpartition("/")
    if group and (messages := names.is_dns1123_subdomain(group)):
        errors.append(FieldError.invalid(path, group, ",".join(messages)))
    if not version:
        errors.append(FieldError.invalid(path, text, "version must be specified"))
    elif messages := names.is_dns1035_label(version):
        errors.append(FieldError.invalid(path, version, ",".join(messages)))


def _conditions(errors: Errors, path: str, conditions: list[Object]) -> None:
    if len(conditions) > _MOST_CONDITIONS:
        errors.append(FieldError.too_many(path, len(conditions), _MOST_CONDITIONS))
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        place, name = f"{path}[{index}]", condition.get("name", "")
        required(errors, f"{place}.expression", condition.get("expression", "").strip())
        if required(errors, f"{place}.name", name):
            qualified_name(errors, f"{place}.name", name)
            if name in seen:
                errors.append(FieldError.duplicate(f"{place}.name", name))
            seen.add(name)


def _variable(errors: Errors, path: str, variable: Object) -> None:
    name = variable.get("name", "")
    if required(errors, f"{path}.name", name.strip(), "name is not specified") and (
        not _IDENTIFIER.fullmatch(name) or name in _RESERVED
    ):
        errors.append(FieldError.invalid(f"{path}.name", name, "must be a valid CEL identifier"))
    required(errors, f"{path}.expression", variable.get("expression", "").strip(), "expression is not specified")


def _validation(errors: Errors, path: str, validation: Object) -> None:
    required(errors, f"{path}.expression", validation.get("expression", "").strip(), "expression is not specified")
    message, computed = validation.get("message", ""), validation.get("messageExpression", "")
    if computed and not computed.strip():
        errors.append(FieldError.invalid(f"{path}.messageExpression", computed, "must be non-empty if specified"))
    if message and not message.strip():
        errors.append(FieldError.invalid(f"{path}.message", message, "must be non-empty if specified"))
    elif "\n" in message.strip() or "\r" in message.strip():
        errors.append(FieldError.invalid(f"{path}.message", message, "must not contain line breaks"))
    if validation.get("reason") is not None and validation["reason"] not in _REASONS:
        errors.append(FieldError.unsupported(f"{path}.reason", validation["reason"], _REASONS))


def _annotations(errors: Errors, path: str, annotations: Iterable[Object], policy: str) -> None:
    annotations = list(annotations)
    if len(annotations) > _MOST_ANNOTATIONS:
        why = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        # The real server shows them by the names of its own struct.
        shown = [{field[0].upper() + field[1:]: value for field, value in each.items()} for each in annotations]
        errors.append(FieldError.invalid(path, shown, why))
    seen: set[str] = set()
    for index, annotation in enumerate(annotations):
        place, key = f"{path}[{index}]", annotation.get("key", "")
        qualified_name(errors, f"{place}.key", f"{policy}/{key}")
        value = annotation.get("valueExpression", "").strip()
        if required(errors, f"{place}.valueExpression", value, "valueExpression is not specified") and (
            len(value.encode()) > _LONGEST_ANNOTATION
        ):
            why = f"must not exceed {_LONGEST_ANNOTATION} bytes in length"
            errors.append(FieldError.required(f"{place}.valueExpression", why))
        if key in seen:
            errors.append(FieldError.duplicate(f"{place}.key", key))
        seen.add(key)


def _mutation(errors: Errors, path: str, mutation: Object) -> None:
    sort = mutation.get("patchType", "")
    _one_of(errors, f"{path}.patchType", sort, _PATCH_TYPES)
    own = _PATCH_TYPES.get(sort)
    if own is None:
        return
    if mutation.get(own) is None:
        errors.append(FieldError.required(f"{path}.{own}", f"must be specified when patchType is {sort}"))
    else:
        required(errors, f"{path}.{own}.expression", mutation[own].get("expression", "").strip())
    for other in _PATCH_TYPES.values():
        if other != own and mutation.get(other) is not None:
            why = f"must not be specified when patchType is {sort}"
            errors.append(FieldError.invalid(f"{path}.{other}", f"{{{other}}}", why))


# Bindings


def _validating_binding(errors: Errors, found: Object) -> None:
    spec = found.get("spec") or {}
    _shared_binding(errors, spec)
    actions, path = spec.get("validationActions") or [], "spec.validationActions"
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            errors.append(FieldError.unsupported(f"{path}[{index}]", action, _ACTIONS))
        if action in actions[:index]:
            errors.append(FieldError.duplicate(f"{path}[{index}]", action))
    if "Deny" in actions and "Warn" in actions:
        why = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)"
        )
        errors.append(FieldError.invalid(path, actions, why))
    required(errors, path, actions, "at least one validation action is required")


def _mutating_binding(errors: Errors, found: Object) -> None:
    spec = found.get("spec") or {}
    _shared_binding(errors, spec)
    if spec.get("matchResources") is not None:
        _mutable(errors, "spec.matchResources", spec["matchResources"])


def _shared_binding(errors: Errors, spec: Object) -> None:
    policy = spec.get("policyName", "")
    if required(errors, "spec.policyName", policy):
        invalid(errors, "spec.policyName", policy, names.is_dns1123_subdomain(policy))
    if spec.get("paramRef") is not None:
        _parameters(errors, "spec.paramRef", spec["paramRef"])
    if spec.get("matchResources") is not None:
        _matched(errors, "spec.matchResources", spec["matchResources"])


def _parameters(errors: Errors, path: str, found: Object) -> None:
    name, selector = found.get("name", ""), found.get("selector")
    exclusive = "name and selector are mutually exclusive"
    if name:
        invalid(errors, f"{path}.name", name, names.is_path_segment_name(name))
        if selector is not None:
            errors.append(FieldError.forbidden(f"{path}.name", exclusive))
    if selector is not None:
        label_selector(errors, f"{path}.selector", selector)
        if name:
            errors.append(FieldError.forbidden(f"{path}.selector", exclusive))
    if not name and selector is None:
        errors.append(FieldError.required(path, "one of name or selector must be specified"))
    _one_of(errors, f"{path}.parameterNotFoundAction", found.get("parameterNotFoundAction"), ("Deny", "Allow"))


# What requests are meant


def _matched(errors: Errors, path: str, found: Object) -> None:
    _one_of(errors, f"{path}.matchPolicy", found.get("matchPolicy"), _MATCH_POLICIES)
    for field in ("namespaceSelector", "objectSelector"):
        label_selector(errors, f"{path}.{field}", found.get(field))
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(found.get(field) or ()):
            place = f"{path}.{field}[{index}]"
            _resource_names(errors, f"{place}.resourceNames", rule.get("resourceNames") or [])
            rule_with_operations(errors, place, rule)


def _resource_names(errors: Errors, path: str, found: list[str]) -> None:
    for index, name in enumerate(found):
        invalid(errors, f"{path}[{index}]", name, names.is_path_segment_name(name))
        if name in found[:index]:
            errors.append(FieldError.duplicate(f"{path}[{index}]", name))


def _mutable(errors: Errors, path: str, found: Object) -> None:
    """Only what makes or changes an object can be changed itself."""
    for rule in found.get("resourceRules") or ():
        for operation in rule.get("operations") or ():
            if operation not in _MUTATING_OPERATIONS:
                place = f"{path}.resourceRules.operations"
                errors.append(FieldError.unsupported(place, operation, _MUTATING_OPERATIONS))


_GROUP = "admissionregistration.k8s.io"

RULES: dict[str, Rules] = {
    f"validatingadmissionpolicies.{_GROUP}": Rules(_validating, namespaced=False),
    f"validatingadmissionpolicybindings.{_GROUP}": Rules(_validating_binding, namespaced=False),
    f"mutatingadmissionpolicies.{_GROUP}": Rules(_mutating, namespaced=False),
    f"mutatingadmissionpolicybindings.{_GROUP}": Rules(_mutating_binding, namespaced=False),
}
