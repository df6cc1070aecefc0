"""Extension: defaults of the kinds that add to the API itself.

Webhooks and admission policies match requests by the same sort of rules. A custom resource definition names its kind in
several ways, of which only two must be given.
"""

from __future__ import annotations

from ghostfleet.api.defaults.filling import ObjectRule, each, rule
from ghostfleet.core.changes import Object

__all__ = ["DEFAULTS"]

_fill_service = rule(absent={"port": 443})
_fill_client = rule(parts={"service": _fill_service})

_FAIL = {"failurePolicy": "Fail"}
_MATCH = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
_fill_rules = each(rule(absent={"scope": "*"}))


def _webhooks(**more: str) -> ObjectRule:
    webhook = rule(
        absent={**_FAIL, **_MATCH, "timeoutSeconds": 10, "clientConfig": {}, **more},
        parts={"clientConfig": _fill_client, "rules": _fill_rules},
    )
    return rule(parts={"webhooks": each(webhook)})


_fill_match = rule(absent=_MATCH, parts={"resourceRules": _fill_rules, "excludeResourceRules": _fill_rules})
_fill_policy_spec = rule(absent=_FAIL, parts={"matchConstraints": _fill_match})
_fill_policy_binding = rule(absent={"spec": {}}, parts={"spec": rule(parts={"matchResources": _fill_match})})


def _fill_names(names: Object) -> Object:
    kind = names.get("kind")
    return rule(zero={"singular": kind.lower(), "listKind": f"{kind}List"})(names) if kind else names


_fill_conversion = rule(parts={"webhook": rule(parts={"clientConfig": _fill_client})})
_fill_definition = rule(
    absent={"spec": {}, "status": {}},
    parts={
        "spec": rule(
            absent={"names": {}, "conversion": {"strategy": "None"}},
            parts={"names": _fill_names, "conversion": _fill_conversion},
        ),
        "status": rule(
            absent={"acceptedNames": {}},
            null=("conditions",),
            parts={"acceptedNames": rule(absent={"plural": "", "kind": ""})},
        ),
    },
)

_GROUP = "admissionregistration.k8s.io"

DEFAULTS: dict[str, ObjectRule] = {
    f"validatingwebhookconfigurations.{_GROUP}": _webhooks(),
    f"mutatingwebhookconfigurations.{_GROUP}": _webhooks(reinvocationPolicy="Never"),
    f"validatingadmissionpolicies.{_GROUP}": rule(
        absent={"spec": {}, "status": {}},
        parts={"spec": _fill_policy_spec},
    ),
    f"validatingadmissionpolicybindings.{_GROUP}": _fill_policy_binding,
    f"mutatingadmissionpolicies.{_GROUP}": rule(absent={"spec": {}}, parts={"spec": _fill_policy_spec}),
    f"mutatingadmissionpolicybindings.{_GROUP}": _fill_policy_binding,
    "customresourcedefinitions.apiextensions.k8s.io": _fill_definition,
    "apiservices.apiregistration.k8s.io": rule(
        absent={"spec": {}, "status": {}},
        parts={"spec": rule(parts={"service": _fill_service})},
    ),
}
