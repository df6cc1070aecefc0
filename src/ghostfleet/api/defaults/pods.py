"""Pods: their defaults, those of every pod template, and what the registry does when a pod is made or changed.

A pod *template* gets less than a pod: links to services, requests from limits, host ports and pod-level requests are
filled in only when a pod is made. Ordinary, init and ephemeral containers share one table. Fields that say one thing
twice (the service account under its old name, the first of the pod's addresses) are kept in step here too, as
Kubernetes does while it converts.

A new pod is Pending and has its service class. Label keys that its affinities and spread constraints are to match
become expressions over the pod's own labels. Scheduling gates are shown as a condition. Of a changed pod, each
subresource changes its own part, and what admission gave the pod stays with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ghostfleet.api.defaults.filling import (
    ObjectRule,
    each,
    fill_pod_requirements,
    fill_requirements,
    fill_resource_list,
    pull_policy,
    replaced,
    rule,
    without,
)
from ghostfleet.api.defaults.volumes import REFERENCES, fill_volume
from ghostfleet.api.podresources import fill_pod_level_resources, service_class
from ghostfleet.core.changes import Object

__all__ = [
    "DEFAULTS",
    "fill_pod_status",
    "fill_template",
    "keep_admitted",
    "keep_old_observations",
    "only_ephemeral_containers",
    "only_resources",
    "prepare_pod",
    "scheduled",
    "stamp_conditions",
    "tolerating_failure",
]

_fill_request = rule(zero={"path": "/", "scheme": "HTTP"})
_fill_probe = rule(
    zero={"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    parts={"httpGet": _fill_request, "grpc": rule(absent={"service": ""})},
)
_fill_hook = rule(parts={"httpGet": _fill_request})
_fill_lifecycle = rule(parts={"postStart": _fill_hook, "preStop": _fill_hook})
_fill_variable = rule(parts={"valueFrom": rule(parts={**REFERENCES, "fileKeyRef": rule(absent={"optional": False})})})

_PARTS: dict[str, Callable[[Any], Any]] = {
    "ports": each(rule(zero={"protocol": "TCP"})),
    "env": each(_fill_variable),
    "livenessProbe": _fill_probe,
    "readinessProbe": _fill_probe,
    "startupProbe": _fill_probe,
    "lifecycle": _fill_lifecycle,
}
_FIXED = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
_fill_state = rule(
    parts={
        "running": rule(null=("startedAt",)),
        "terminated": rule(absent={"exitCode": 0}, null=("startedAt", "finishedAt")),
    }
)
_fill_container_statuses = each(
    rule(
        absent={"state": {}, "lastState": {}, "ready": False, "restartCount": 0, "image": "", "imageID": ""},
        parts={
            "state": _fill_state,
            "lastState": _fill_state,
            "allocatedResources": fill_resource_list,
            "resources": fill_requirements,
        },
    )
)
_TOLERATED = tuple(
    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
)
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_GATED: Object = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "lastTransitionTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


def _pulled(container: Object) -> Object:
    if container.get("imagePullPolicy"):
        return container
    return {**container, "imagePullPolicy": pull_policy(container.get("image") or "")}


def _container_rule(fill_resources: ObjectRule) -> ObjectRule:
    parts = {**_PARTS, "resources": fill_resources}
    return rule(zero=_FIXED, absent={"resources": {}}, parts=parts, last=_pulled)


_fill_container = _container_rule(fill_requirements)
_fill_pod_container = _container_rule(fill_pod_requirements)


def _spec_rule(container: ObjectRule, absent: Object, last: ObjectRule) -> ObjectRule:
    return rule(
        zero={"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler"},
        absent={"securityContext": {}, "terminationGracePeriodSeconds": 30, **absent},
        parts={
            "containers": each(container),
            "initContainers": each(container),
            "ephemeralContainers": each(_fill_container),
            "volumes": each(fill_volume),
            "overhead": fill_resource_list,
            "resources": fill_requirements,
        },
        last=last,
    )


def _account_under_both_names(spec: Object) -> Object:
    name, old = spec.get("serviceAccountName"), spec.get("serviceAccount")
    if name == old or not (name or old):
        return spec
    account = name or old
    return {**spec, "serviceAccountName": account, "serviceAccount": account}


def _finish_pod_spec(spec: Object) -> Object:
    spec = _account_under_both_names(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec = {**spec, "terminationGracePeriodSeconds": 1}
    if spec.get("hostNetwork"):
        spec = _fill_host_ports(spec)
    return fill_pod_level_resources(spec) if spec.get("resources") else spec


def _host_port(port: Object) -> Object:
    given = port.get("containerPort")
    return {**port, "hostPort": given} if given and not port.get("hostPort") else port


_fill_ports = each(rule(parts={"ports": each(_host_port)}))
_fill_host_ports = rule(parts={"containers": _fill_ports, "initContainers": _fill_ports})

_fill_template_spec = _spec_rule(_fill_container, {}, _account_under_both_names)
_fill_pod_spec = _spec_rule(_fill_pod_container, {"enableServiceLinks": True}, _finish_pod_spec)

#: A pod template: what Deployments, Jobs and the like make pods from.
fill_template = rule(absent={"metadata": {}, "spec": {}}, parts={"spec": _fill_template_spec})


def _first_of_addresses(status: Object) -> Object:
    address: str | None = status.get("podIP")
    addresses: list[Any] | None = status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        return {**status, "podIPs": [{"ip": address}]}
    if addresses and not address:
        return {**status, "podIP": addresses[0].get("ip")}
    return status


fill_pod_status = rule(
    parts={
        "conditions": each(rule(null=("lastProbeTime", "lastTransitionTime"))),
        "containerStatuses": _fill_container_statuses,
        "initContainerStatuses": _fill_container_statuses,
        "ephemeralContainerStatuses": _fill_container_statuses,
        "allocatedResources": fill_resource_list,
        "resources": fill_requirements,
    },
    last=_first_of_addresses,
)

_fill_pod = rule(absent={"spec": {}, "status": {}}, parts={"spec": _fill_pod_spec, "status": fill_pod_status})

DEFAULTS: dict[str, ObjectRule] = {
    "pods": _fill_pod,
    "podtemplates": rule(absent={"template": {}}, parts={"template": fill_template}),
}


def prepare_pod(pod: Object) -> Object:
    """A new pod, with the status it starts with."""
    spec: Object = pod["spec"]
    given = (pod.get("status") or {}).get("qosClass")
    status: Object = {"phase": "Pending", "qosClass": given or service_class(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [_GATED]
    if any("matchLabelKeys" in term or "mismatchLabelKeys" in term for term in _terms(spec)):
        spec = _match_own_labels(spec, (pod.get("metadata") or {}).get("labels") or {})
    return {**pod, "spec": spec, "status": status}


def stamp_conditions(pod: Object, now: str) -> Object:
    """The new pod with the time of its creation, `now`, in the conditions it was born with."""
    conditions = pod["status"].get("conditions")
    if not conditions:
        return pod
    stamped = each(rule(absent={"lastTransitionTime": now}))(conditions)
    return {**pod, "status": {**pod["status"], "conditions": stamped}}


def _terms(spec: Object) -> Iterator[Object]:
    """Everything in the spec that selects other pods by their labels."""
    yield from spec.get("topologySpreadConstraints") or ()
    affinity = spec.get("affinity") or {}
    for sort in (affinity.get("podAffinity"), affinity.get("podAntiAffinity")):
        if sort:
            yield from sort.get(_REQUIRED) or ()
            yield from (preferred.get("podAffinityTerm") or {} for preferred in sort.get(_PREFERRED) or ())


def _match_own_labels(spec: Object, labels: dict[str, str]) -> Object:
    def matching(term: Object) -> Object:
        selector = term.get("labelSelector")
        if selector is None:
            return term
        more = [
            {"key": key, "operator": operator, "values": [labels[key]]}
            for keys, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
            for key in term.get(keys) or ()
            if key in labels
        ]
        if not more:
            return term
        expressions = [*(selector.get("matchExpressions") or ()), *more]
        return {**term, "labelSelector": {**selector, "matchExpressions": expressions}}

    terms = rule(parts={_REQUIRED: each(matching), _PREFERRED: each(rule(parts={"podAffinityTerm": matching}))})
    affinities = rule(parts={"podAffinity": terms, "podAntiAffinity": terms})
    return rule(parts={"affinity": affinities, "topologySpreadConstraints": each(matching)})(spec)


def keep_old_observations(old: Object, new: Object) -> Object:
    """A pod whose status is written: its class, and the generations it was observed at, are not forgotten."""
    before: Object = old.get("status") or {}
    status: Object = new.get("status") or {}
    for key in ("qosClass", "observedGeneration"):
        if not status.get(key) and before.get(key):
            status = {**status, key: before[key]}
    conditions = status.get("conditions")
    if not conditions or conditions is before.get("conditions"):
        return replaced(new, "status", status)
    known: dict[str, list[int]] = {}
    for condition in before.get("conditions") or ():
        known.setdefault(condition.get("type", ""), []).append(condition.get("observedGeneration") or 0)

    def observed(condition: Object) -> Object:
        generations = known.get(condition.get("type", ""))
        generation = generations.pop(0) if generations else 0
        if condition.get("observedGeneration") or not generation:
            return condition
        return {**condition, "observedGeneration": generation}

    if known:
        status = replaced(status, "conditions", each(observed)(conditions))
    return replaced(new, "status", status)


def keep_admitted(old: Object, new: Object) -> Object:
    """A changed pod: what admission gave it stays with it, though the client leaves it out."""
    before, spec = old.get("spec") or {}, new.get("spec") or {}
    added = {
        key: before[key]
        for key in ("priority", "preemptionPolicy")
        if spec.get(key) is None and before.get(key) is not None
    }
    tolerations = spec.get("tolerations")
    tolerating = tolerating_failure(tolerations)
    if tolerating is not tolerations:
        added["tolerations"] = tolerating
    return {**new, "spec": {**spec, **added}} if added else new


def tolerating_failure(tolerations: list[Object] | None) -> list[Object] | None:
    """With five minutes on a node that is not ready or cannot be reached; the same list when it has that already."""
    missing = [default for default in _TOLERATED if not any(_covers(one, default) for one in tolerations or ())]
    return [*(tolerations or ()), *missing] if missing else tolerations


def _covers(toleration: Object, default: Object) -> bool:
    return (toleration.get("key") or default["key"]) == default["key"] and (
        toleration.get("effect") or "NoExecute"
    ) == "NoExecute"


def scheduled(status: Object, now: str) -> Object:
    """The status of a pod that got its node."""
    others = [each for each in status.get("conditions", []) if each.get("type") != "PodScheduled"]
    condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    return {**status, "conditions": [*others, condition]}


def only_ephemeral_containers(old: Object, new: Object) -> Object:
    """The spec of `old`, with the ephemeral containers of `new`."""
    return replaced(old["spec"], "ephemeralContainers", new["spec"].get("ephemeralContainers"))


def only_resources(old: Object, new: Object) -> Object:
    """The spec of `old`, with the resources and resize policies of `new`.

    Containers that were added, removed, moved or renamed are left in, for validation to refuse.
    """
    before: Object = old["spec"]
    spec: Object = new["spec"]
    resized = replaced(before, "resources", spec.get("resources"))
    for key in ("containers", "initContainers"):
        containers, given = before.get(key) or [], spec.get(key) or []
        if [one.get("name") for one in containers] != [one.get("name") for one in given]:
            return spec
        if given:
            resized = replaced(resized, key, [_resized(one, to) for one, to in zip(containers, given, strict=True)])
    return resized


def _resized(container: Object, given: Object) -> Object:
    kept = without(container, "resources", "resizePolicy")
    return kept | {key: given[key] for key in ("resources", "resizePolicy") if given.get(key) is not None}
