"""Defaults of what administrators set: disruption budgets, roles and bindings, priorities of pods and requests."""

from __future__ import annotations

from ghostfleet.api.defaults.filling import ObjectRule, each, rule
from ghostfleet.core.changes import Object

__all__ = ["DEFAULTS"]

_RBAC = {"apiGroup": "rbac.authorization.k8s.io"}


def _fill_subject(subject: Object) -> Object:
    if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
        return {**subject, **_RBAC}
    return subject


_fill_role = rule(null=("rules",))
_fill_binding = rule(absent={"roleRef": {}}, parts={"roleRef": rule(zero=_RBAC), "subjects": each(_fill_subject)})

_fill_disruption_budget = rule(
    absent={"spec": {}, "status": {}},
    parts={
        "status": rule(absent={"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0})
    },
)

_fill_flow_conditions = rule(parts={"conditions": each(rule(null=("lastTransitionTime",)))})
_fill_queuing = rule(zero={"queues": 64, "handSize": 8, "queueLengthLimit": 50})
_fill_priority_level_spec = rule(
    parts={
        "limited": rule(
            absent={"nominalConcurrencyShares": 30, "lendablePercent": 0, "limitResponse": {}},
            parts={"limitResponse": rule(parts={"queuing": _fill_queuing})},
        ),
        "exempt": rule(absent={"nominalConcurrencyShares": 0, "lendablePercent": 0}),
    }
)

DEFAULTS: dict[str, ObjectRule] = {
    "poddisruptionbudgets.policy": _fill_disruption_budget,
    "roles.rbac.authorization.k8s.io": _fill_role,
    "clusterroles.rbac.authorization.k8s.io": _fill_role,
    "rolebindings.rbac.authorization.k8s.io": _fill_binding,
    "clusterrolebindings.rbac.authorization.k8s.io": _fill_binding,
    "priorityclasses.scheduling.k8s.io": rule(absent={"preemptionPolicy": "PreemptLowerPriority", "value": 0}),
    "flowschemas.flowcontrol.apiserver.k8s.io": rule(
        absent={"spec": {}, "status": {}},
        parts={"spec": rule(zero={"matchingPrecedence": 1000}), "status": _fill_flow_conditions},
    ),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": rule(
        absent={"spec": {}, "status": {}},
        parts={"spec": _fill_priority_level_spec, "status": _fill_flow_conditions},
    ),
    "certificatesigningrequests.certificates.k8s.io": rule(absent={"spec": {}, "status": {}}),
}
