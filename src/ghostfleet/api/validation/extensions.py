"""Webhook configurations and flow control: how the API server itself is extended and shared."""

from __future__ import annotations

from ghostfleet.api.validation.checks import Errors, Object, dns_subdomain, invalid, label_selector, required
from ghostfleet.api.validation.rules import Rules
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError

__all__ = ["RULES", "rule_with_operations"]

_REVIEW_VERSIONS = ("v1", "v1beta1")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_CHOICES = {
    "failurePolicy": ("Fail", "Ignore"),
    "matchPolicy": ("Equivalent", "Exact"),
    "reinvocationPolicy": ("IfNeeded", "Never"),
}
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
_MAX_PRECEDENCE = 10_000


def _webhooks(errors: Errors, found: Object) -> None:
    seen: set[str] = set()
    for index, hook in enumerate(found.get("webhooks") or ()):
        path, name = f"webhooks[{index}]", hook.get("name", "")
        _webhook(errors, path, hook)
        _review_versions(errors, f"{path}.admissionReviewVersions", hook.get("admissionReviewVersions") or [])
        if name in seen:
            errors.append(FieldError.duplicate(f"{path}.name", name))
        seen.update({name} if name else ())


def _webhook(errors: Errors, path: str, hook: Object) -> None:
    _three_segments(errors, f"{path}.name", hook.get("name", ""))
    for index, rule in enumerate(hook.get("rules") or ()):
        rule_with_operations(errors, f"{path}.rules[{index}]", rule)
    for field in ("failurePolicy", "matchPolicy"):
        _choice(errors, path, hook, field)
    effects = hook.get("sideEffects")
    if effects is None:
        errors.append(FieldError.required(f"{path}.sideEffects", "must specify one of None, NoneOnDryRun"))
    elif effects not in _SIDE_EFFECTS:
        errors.append(FieldError.unsupported(f"{path}.sideEffects", effects, _SIDE_EFFECTS))
    timeout = hook.get("timeoutSeconds")
    if timeout is not None and not 1 <= timeout <= 30:
        why = "the timeout value must be between 1 and 30 seconds"
        errors.append(FieldError.invalid(f"{path}.timeoutSeconds", timeout, why))
    for selector in ("namespaceSelector", "objectSelector"):
        label_selector(errors, f"{path}.{selector}", hook.get(selector))
    _choice(errors, path, hook, "reinvocationPolicy")
    client = hook.get("clientConfig") or {}
    if ("url" in client) == ("service" in client):
        errors.append(FieldError.required(f"{path}.clientConfig", "exactly one of url or service is required"))
    elif "service" in client:
        for field in ("name", "namespace"):
            required(
                errors,
                f"{path}.clientConfig.service.{field}",
                client["service"].get(field),
                f"service {field} is required",
            )


def _choice(errors: Errors, path: str, hook: Object, field: str) -> None:
    if field in hook and hook[field] not in _CHOICES[field]:
        errors.append(FieldError.unsupported(f"{path}.{field}", hook[field], _CHOICES[field]))


def _three_segments(errors: Errors, path: str, name: str) -> None:
    if not required(errors, path, name):
        return
    if messages := names.is_dns1123_subdomain(name):
        errors.append(FieldError.invalid(path, name, ",".join(messages)))
    elif name.count(".") < 2:
        why = "should be a domain with at least three segments separated by dots"
        errors.append(FieldError.invalid(path, name, why))


def rule_with_operations(errors: Errors, path: str, rule: Object) -> None:
    """Which operations on which resources are meant."""
    operations = rule.get("operations") or []
    required(errors, f"{path}.operations", operations)
    if len(operations) > 1 and "*" in operations:
        why = "if '*' is present, must not specify other operations"
        errors.append(FieldError.invalid(f"{path}.operations", operations, why))
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            errors.append(FieldError.unsupported(f"{path}.operations[{index}]", operation, _OPERATIONS))
    for field, words in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(field) or []
        required(errors, f"{path}.{field}", values)
        if len(values) > 1 and "*" in values:
            why = f"if '*' is present, must not specify other {words}"
            errors.append(FieldError.invalid(f"{path}.{field}", values, why))
    for index, version in enumerate(rule.get("apiVersions") or ()):
        required(errors, f"{path}.apiVersions[{index}]", version)
    _resources(errors, f"{path}.resources", rule.get("resources") or [])
    if "scope" in rule and rule["scope"] not in _SCOPES:
        errors.append(FieldError.unsupported(f"{path}.scope", rule["scope"], _SCOPES))


def _resources(errors: Errors, path: str, resources: list[str]) -> None:
    """Resources and subresources, of which `*` means any: what one covers must not come after it again."""
    required(errors, path, resources)
    covered: set[str] = set()
    plain = False
    for index, each in enumerate(resources):
        resource, slash, part = each.partition("/")
        if not required(errors, f"{path}[{index}]", each):
            continue
        if not slash:
            # As in the real server, the last one without a subresource counts.
            plain = each != "*"
            continue
        for cover in (f"{resource}/*", f"*/{part}"):
            if cover in covered:
                why = f"if '{cover}' is present, must not specify {each}"
                errors.append(FieldError.invalid(f"{path}[{index}]", each, why))
        if "*" in (resource, part):
            covered.add(each)
    if len(resources) > 1 and "*/*" in resources:
        errors.append(FieldError.invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if plain and "*" in resources:
        why = "if '*' is present, must not specify other resources without subresources"
        errors.append(FieldError.invalid(path, resources, why))


def _review_versions(errors: Errors, path: str, versions: list[str]) -> None:
    listed = ", ".join(_REVIEW_VERSIONS)
    if not versions:
        errors.append(FieldError.required(path, f"must specify one of {listed}"))
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            errors.append(FieldError.invalid(f"{path}[{index}]", version, "duplicate version"))
        else:
            invalid(errors, f"{path}[{index}]", version, names.is_dns1035_label(version))
    if not set(versions) & set(_REVIEW_VERSIONS):
        errors.append(FieldError.invalid(path, versions, f"must include at least one of {listed}"))


# Flow control


def _flow_schema(errors: Errors, found: Object) -> None:
    spec, name = found.get("spec") or {}, (found.get("metadata") or {}).get("name", "")
    precedence, path = spec.get("matchingPrecedence", 0), "spec.matchingPrecedence"
    if precedence <= 0:
        errors.append(FieldError.invalid(path, precedence, "must be a positive value"))
    if precedence > _MAX_PRECEDENCE:
        errors.append(FieldError.invalid(path, precedence, f"must not be greater than {_MAX_PRECEDENCE}"))
    if precedence == 1 and name != "exempt":
        why = "only the schema named 'exempt' may have matchingPrecedence 1"
        errors.append(FieldError.invalid(path, precedence, why))
    level = (spec.get("priorityLevelConfiguration") or {}).get("name", "")
    if required(errors, "spec.priorityLevelConfiguration.name", level, "must reference a priority level"):
        dns_subdomain(errors, "spec.priorityLevelConfiguration.name", level)
    for index, rule in enumerate(spec.get("rules") or ()):
        _flow_rule(errors, f"spec.rules[{index}]", rule)


def _flow_rule(errors: Errors, path: str, rule: Object) -> None:
    required(errors, f"{path}.subjects", rule.get("subjects"), "subjects must contain at least one value")
    for index, subject in enumerate(rule.get("subjects") or ()):
        _flow_subject(errors, f"{path}.subjects[{index}]", subject)
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        why = "at least one of resourceRules and nonResourceRules has to be non-empty"
        errors.append(FieldError.required(path, why))
    for sort in ("resourceRules", "nonResourceRules"):
        for index, policy in enumerate(rule.get(sort) or ()):
            _flow_policy(errors, f"{path}.{sort}[{index}]", policy)


def _flow_policy(errors: Errors, path: str, policy: Object) -> None:
    verbs = policy.get("verbs") or []
    required(errors, f"{path}.verbs", verbs, "verbs must contain at least one value")
    if "*" in verbs:
        if len(verbs) > 1:
            why = "if '*' is present, must not specify other verbs"
            errors.append(FieldError.invalid(f"{path}.verbs", verbs, why))
    elif not set(verbs) <= set(_VERBS):
        errors.append(FieldError.unsupported(f"{path}.verbs", verbs, _VERBS))


def _flow_subject(errors: Errors, path: str, subject: Object) -> None:
    kind = subject.get("kind", "")
    if kind not in _SUBJECTS:
        errors.append(FieldError.unsupported(f"{path}.kind", kind, tuple(_SUBJECTS)))
        return
    field = _SUBJECTS[kind]
    if subject.get(field) is None:
        errors.append(FieldError.required(f"{path}.{field}", f"{field} is required when subject kind is '{kind}'"))
    else:
        required(errors, f"{path}.{field}.name", subject[field].get("name"))


def _priority_level(errors: Errors, found: Object) -> None:
    spec, name = found.get("spec") or {}, (found.get("metadata") or {}).get("name", "")
    sort = spec.get("type", "")
    if (name == "exempt") != (sort == "Exempt"):
        why = "must be 'Exempt' if and only if `name` is 'exempt'"
        errors.append(FieldError.invalid("spec.type", sort, why))
    if sort == "Limited":
        if "exempt" in spec:
            errors.append(FieldError.forbidden("spec.exempt", "must be nil if the type is Limited"))
        if "limited" in spec:
            _limited(errors, "spec.limited", spec["limited"])
        else:
            errors.append(FieldError.required("spec.limited", "must not be empty when type is Limited"))
    elif sort == "Exempt":
        if "limited" in spec:
            errors.append(FieldError.forbidden("spec.limited", "must be nil if the type is not Limited"))
    elif sort:
        errors.append(FieldError.unsupported("spec.type", sort, ("Exempt", "Limited")))
    else:
        errors.append(FieldError.required("spec.type"))


def _limited(errors: Errors, path: str, limited: Object) -> None:
    shares = limited.get("nominalConcurrencyShares", 0)
    if shares < 0:
        errors.append(FieldError.invalid(f"{path}.nominalConcurrencyShares", shares, "must be a non-negative integer"))
    lendable = limited.get("lendablePercent")
    if lendable is not None and not 0 <= lendable <= 100:
        why = "must be between 0 and 100, inclusive"
        errors.append(FieldError.invalid(f"{path}.lendablePercent", lendable, why))


RULES: dict[str, Rules] = {
    "validatingwebhookconfigurations.admissionregistration.k8s.io": Rules(_webhooks, namespaced=False),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": Rules(_webhooks, namespaced=False),
    "flowschemas.flowcontrol.apiserver.k8s.io": Rules(_flow_schema, namespaced=False),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": Rules(_priority_level, namespaced=False),
}
