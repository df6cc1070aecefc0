"""Defaults of the API group autoscaling: HorizontalPodAutoscalers."""

from __future__ import annotations

from ghostfleet.api.defaults.filling import ObjectRule, each, rule
from ghostfleet.core.changes import Object

__all__ = ["DEFAULTS"]

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


DEFAULTS: dict[str, ObjectRule] = {"horizontalpodautoscalers.autoscaling": _fill_any_autoscaler}
