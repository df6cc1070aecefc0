"""Policies: defaults of who may do what, in which order, and how fast.

Disruption budgets, roles and their bindings, priorities of pods and of requests, autoscalers.
"""

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

_CPU_AT_80_PERCENT = [
    {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
    }
]
_HUNDRED_PERCENT = {"type": "Percent", "value": 100, "periodSeconds": 15}
_FOUR_PODS = {"type": "Pods", "value": 4, "periodSeconds": 15}
_fill_behaviour = rule(
    absent={"scaleUp": {}, "scaleDown": {}},
    parts={
        "scaleUp": rule(
            absent={
                "stabilizationWindowSeconds": 0,
                "selectPolicy": "Max",
                "policies": [_FOUR_PODS, _HUNDRED_PERCENT],
            }
        ),
        "scaleDown": rule(absent={"selectPolicy": "Max", "policies": [_HUNDRED_PERCENT]}),
    },
)
_fill_autoscaler = rule(
    absent={"spec": {}, "status": {}},
    parts={
        "spec": rule(
            zero={"metrics": _CPU_AT_80_PERCENT},
            absent={"minReplicas": 1},
            parts={"behavior": _fill_behaviour},
        ),
        "status": rule(
            absent={"desiredReplicas": 0},
            null=("currentMetrics",),
            parts={"conditions": each(rule(null=("lastTransitionTime",)))},
        ),
    },
)
_fill_old_autoscaler = rule(
    absent={"spec": {}, "status": {}},
    parts={
        "spec": rule(absent={"minReplicas": 1}),
        "status": rule(absent={"currentReplicas": 0, "desiredReplicas": 0}),
    },
)


def _fill_any_autoscaler(autoscaler: Object) -> Object:
    old = autoscaler.get("apiVersion") == "autoscaling/v1"
    return _fill_old_autoscaler(autoscaler) if old else _fill_autoscaler(autoscaler)


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
    "horizontalpodautoscalers.autoscaling": _fill_any_autoscaler,
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
