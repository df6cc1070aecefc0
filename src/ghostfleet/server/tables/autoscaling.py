"""Autoscalers and scales in one line.

A *target* is what an autoscaler wants a metric to be, written after what the metric is now: `cpu: 40%/80%`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.server.tables.cells import created, first_few, items, name_of, part, quantity_text
from ghostfleet.server.tables.printers import AGE, NAME, Cell, Printer, Printers, column, integer, text

__all__ = ["AUTOSCALING", "SCALE"]

AUTOSCALING = Printers()

_FIELDS = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _percentage(value: int | None, missing: str) -> str:
    return missing if value is None else f"{value}%"


def _amount(current: Mapping[str, Any] | None, key: str, unknown: bool) -> str:
    """What a metric is now; `unknown` says whether a missing amount is one the printer has a word for."""
    if current is None or (unknown and current.get(key) is None):
        return "<unknown>"
    return quantity_text(current.get(key), missing="<nil>")


def _target_text(metric: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    """One metric: what it is, and what it should be."""
    field = _FIELDS.get(metric.get("type") or "")
    if field is None:
        return "<unknown type>"
    source = part(metric, field)
    target = part(source, "target")
    current = part(status, field, "current") if status.get(field) is not None else None
    average = target.get("averageValue")
    if field in ("external", "object"):
        key, suffix = ("value", "") if average is None else ("averageValue", " (avg)")
        return f"{_amount(current, key, bool(suffix))}/{quantity_text(target.get(key), missing='<nil>')}{suffix}"
    wanted = quantity_text(average, missing="<nil>")
    if field == "pods":
        return f"{_amount(current, 'averageValue', False)}/{wanted}"
    if average is not None:
        return f"{source.get('name')}: {_amount(current, 'averageValue', False)}/{wanted}"
    used = _percentage((current or {}).get("averageUtilization"), "<unknown>")
    return f"{source.get('name')}: {used}/{_percentage(target.get('averageUtilization'), '<auto>')}"


def _targets(autoscaler: Object) -> str:
    metrics = items(part(autoscaler, "spec"), "metrics")
    statuses = list(items(part(autoscaler, "status"), "currentMetrics"))
    statuses += [{}] * (len(metrics) - len(statuses))
    pairs = zip(metrics, statuses, strict=False)
    return first_few([_target_text(metric, status) for metric, status in pairs], limit=2, separator=", ")


@AUTOSCALING.of(
    "horizontalpodautoscalers.autoscaling",
    NAME,
    text("Reference", "What is scaled."),
    text("Targets", "Metrics, and what they should be."),
    text("MinPods", "Fewest replicas."),
    text("MaxPods", "Most replicas."),
    text("Replicas", "Replicas now."),
    AGE,
)
def horizontal_pod_autoscaler(obj: Object, now: int) -> list[Cell]:
    spec = part(obj, "spec")
    target, fewest = part(spec, "scaleTargetRef"), spec.get("minReplicas")
    return [
        name_of(obj),
        f"{target.get('kind') or ''}/{target.get('name') or ''}",
        _targets(obj),
        "<unset>" if fewest is None else str(fewest),
        spec.get("maxReplicas") or 0,
        part(obj, "status").get("currentReplicas") or 0,
        created(obj, now),
    ]


def _scale(obj: Object, now: int) -> list[Cell]:
    return [
        name_of(obj),
        part(obj, "spec").get("replicas") or 0,
        part(obj, "status").get("replicas") or 0,
        created(obj, now),
    ]


#: Prints the scale of any built-in kind.
SCALE = Printer(
    (
        column("Name", "string", "Name of the object."),
        integer("Desired", "Replicas that are wanted."),
        integer("Available", "Replicas that exist."),
        AGE,
    ),
    _scale,
)
