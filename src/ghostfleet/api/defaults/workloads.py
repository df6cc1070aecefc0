"""Workloads: defaults of what makes pods.

Each kind has a pod template and its own ways of replacing pods. Jobs and replication controllers take their labels from
the template when they have none. The job inside a CronJob is only a template: it gets a job's defaults when it is made.
"""

from __future__ import annotations

from ghostfleet.api.defaults.filling import ObjectRule, each, rule
from ghostfleet.api.defaults.pods import fill_template
from ghostfleet.api.defaults.storage import fill_claim
from ghostfleet.core.changes import Object

__all__ = ["DEFAULTS"]

_MAX_INT32 = 2**31 - 1


def _status(*conditions: str, **counters: int) -> ObjectRule:
    """The rule of a status that always shows some counters, and the given times in its conditions."""
    return rule(absent=counters, parts={"conditions": each(rule(null=conditions))})


def _workload(spec: ObjectRule, status: ObjectRule, last: ObjectRule | None = None) -> ObjectRule:
    return rule(absent={"spec": {}, "status": {}}, parts={"spec": spec, "status": status}, last=last)


def _rolling(default: Object, limits: Object) -> ObjectRule:
    """The rule of an update strategy: rolling unless it says otherwise, within the given limits."""
    rolled = rule(absent={"rollingUpdate": {}}, parts={"rollingUpdate": rule(absent=limits)})

    def apply(strategy: Object) -> Object:
        if not strategy.get("type"):
            strategy = {**strategy, **default}
        return rolled(strategy) if strategy["type"] == "RollingUpdate" else strategy

    return apply


_ROLLING = {"type": "RollingUpdate"}

_fill_deployment = _workload(
    rule(
        absent={
            "replicas": 1,
            "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
            "strategy": {},
            "template": {},
        },
        parts={
            "strategy": _rolling(_ROLLING, {"maxUnavailable": "25%", "maxSurge": "25%"}),
            "template": fill_template,
        },
    ),
    _status("lastUpdateTime", "lastTransitionTime"),
)

_fill_replicaset = _workload(
    rule(absent={"replicas": 1, "template": {}}, parts={"template": fill_template}),
    _status("lastTransitionTime", replicas=0),
)

_fill_daemonset = _workload(
    rule(
        absent={"revisionHistoryLimit": 10, "updateStrategy": {}, "template": {}},
        parts={"updateStrategy": _rolling(_ROLLING, {"maxUnavailable": 1, "maxSurge": 0}), "template": fill_template},
    ),
    _status(
        "lastTransitionTime",
        currentNumberScheduled=0,
        numberMisscheduled=0,
        desiredNumberScheduled=0,
        numberReady=0,
    ),
)


def _fill_ordered_strategy(strategy: Object) -> Object:
    # Unlike the others, a StatefulSet that says RollingUpdate and no more is not given a partition.
    if not strategy.get("type"):
        strategy = {"rollingUpdate": {}, **strategy, "type": "RollingUpdate"}
    rolling = strategy.get("rollingUpdate")
    if strategy["type"] == "RollingUpdate" and rolling is not None and rolling.get("partition") is None:
        return {**strategy, "rollingUpdate": {**rolling, "partition": 0}}
    return strategy


_CLAIM_TYPE = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}

_fill_statefulset = _workload(
    rule(
        zero={"podManagementPolicy": "OrderedReady"},
        absent={
            "replicas": 1,
            "revisionHistoryLimit": 10,
            "serviceName": "",
            "updateStrategy": {},
            "persistentVolumeClaimRetentionPolicy": {},
            "template": {},
        },
        parts={
            "updateStrategy": _fill_ordered_strategy,
            "persistentVolumeClaimRetentionPolicy": rule(zero={"whenDeleted": "Retain", "whenScaled": "Retain"}),
            "template": fill_template,
            "volumeClaimTemplates": each(rule(zero=_CLAIM_TYPE, absent={"metadata": {}}, last=fill_claim)),
        },
    ),
    _status("lastTransitionTime", replicas=0, availableReplicas=0),
)


def _labelled_like_its_pods(obj: Object) -> Object:
    labels = obj["spec"].get("template", {}).get("metadata", {}).get("labels")
    metadata = obj.get("metadata") or {}
    if labels and not metadata.get("labels"):
        return {**obj, "metadata": {**metadata, "labels": labels}}
    return obj


def _finish_controller_spec(spec: Object) -> Object:
    labels = (spec.get("template") or {}).get("metadata", {}).get("labels")
    return {**spec, "selector": labels} if labels and not spec.get("selector") else spec


_fill_controller = _workload(
    rule(absent={"replicas": 1}, parts={"template": fill_template}, last=_finish_controller_spec),
    _status("lastTransitionTime", replicas=0),
    last=_labelled_like_its_pods,
)

_fill_failure_policy = rule(parts={"rules": each(rule(parts={"onPodConditions": each(rule(zero={"status": "True"}))}))})
_JOB_PARTS = {"podFailurePolicy": _fill_failure_policy, "template": fill_template}


def _finish_job_spec(spec: Object) -> Object:
    added: Object = {}
    if spec.get("parallelism") is None:
        added["parallelism"] = 1
        if spec.get("completions") is None:
            added["completions"] = 1
    if spec.get("backoffLimit") is None:
        added["backoffLimit"] = 6 if spec.get("backoffLimitPerIndex") is None else _MAX_INT32
    if spec.get("podReplacementPolicy") is None:
        added["podReplacementPolicy"] = "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed"
    return {**spec, **added} if added else spec


_fill_job = _workload(
    rule(
        absent={"completionMode": "NonIndexed", "suspend": False, "manualSelector": False, "template": {}},
        parts=_JOB_PARTS,
        last=_finish_job_spec,
    ),
    _status("lastProbeTime", "lastTransitionTime"),
    last=_labelled_like_its_pods,
)

_fill_job_template = rule(
    absent={"metadata": {}, "spec": {}},
    parts={"spec": rule(absent={"template": {}}, parts=_JOB_PARTS)},
)
_fill_cronjob = _workload(
    rule(
        zero={"concurrencyPolicy": "Allow"},
        absent={"suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1, "jobTemplate": {}},
        parts={"jobTemplate": _fill_job_template},
    ),
    rule(),
)

DEFAULTS: dict[str, ObjectRule] = {
    "deployments.apps": _fill_deployment,
    "replicasets.apps": _fill_replicaset,
    "daemonsets.apps": _fill_daemonset,
    "statefulsets.apps": _fill_statefulset,
    "controllerrevisions.apps": rule(absent={"revision": 0}, null=("data",)),
    "replicationcontrollers": _fill_controller,
    "jobs.batch": _fill_job,
    "cronjobs.batch": _fill_cronjob,
}
