"""Priorities, disruption budgets and groups of pods in one line."""

from __future__ import annotations

from ghostfleet.core.changes import Object
from ghostfleet.server.tables.cells import condition, created, name_of, part
from ghostfleet.server.tables.printers import AGE, NAME, Cell, Printers, boolean, integer, text

__all__ = ["SCHEDULING"]

SCHEDULING = Printers()


@SCHEDULING.of(
    "priorityclasses.scheduling.k8s.io",
    NAME,
    integer("Value", "Priority that pods of the class get."),
    boolean("Global-Default", "Whether pods without a class get this one."),
    AGE,
    text("PreemptionPolicy", "Whether pods of the class may preempt others."),
)
def priority_class(obj: Object, now: int) -> list[Cell]:
    return [
        name_of(obj),
        obj.get("value") or 0,
        bool(obj.get("globalDefault")),
        created(obj, now),
        obj.get("preemptionPolicy") or "",
    ]


@SCHEDULING.of(
    "poddisruptionbudgets.policy",
    NAME,
    text("Min Available", "Pods that must stay available."),
    text("Max Unavailable", "Pods that may be unavailable."),
    integer("Allowed Disruptions", "Pods that may be evicted now."),
    AGE,
)
def pod_disruption_budget(obj: Object, now: int) -> list[Cell]:
    spec = part(obj, "spec")
    return [
        name_of(obj),
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        part(obj, "status").get("disruptionsAllowed") or 0,
        created(obj, now),
    ]


@SCHEDULING.of("workloads.scheduling.k8s.io", NAME, AGE)
def workload(obj: Object, now: int) -> list[Cell]:
    return [name_of(obj), created(obj, now)]


def _group_word(group: Object) -> str:
    if disruption := condition(group, "DisruptionTarget"):
        return disruption.get("reason") or ""
    scheduled = condition(group, "PodGroupScheduled")
    if not scheduled:
        return "Pending"
    return "Scheduled" if scheduled.get("status") == "True" else "Unschedulable"


@SCHEDULING.of(
    "podgroups.scheduling.k8s.io",
    NAME,
    text("Policy", "How the pods are scheduled: each alone, or all together."),
    text("Workload", "Workload the group belongs to."),
    text("Status", "Whether the group is scheduled."),
    AGE,
)
def pod_group(obj: Object, now: int) -> list[Cell]:
    spec = part(obj, "spec")
    is_gang = part(spec, "schedulingPolicy").get("gang") is not None
    template = spec.get("podGroupTemplateRef")
    return [
        name_of(obj),
        "Gang" if is_gang else "Basic",
        "<none>" if template is None else part(template, "workload").get("workloadName") or "",
        _group_word(obj),
        created(obj, now),
    ]
