"""Pods: defaults of pods and of every pod template.

A pod *template* gets less than a pod: links to services, requests from limits, host ports and pod-level requests are
filled in only when a pod is made. Fields that say one thing twice (the service account under its old name, the first of
the pod's addresses) are kept in step here too, as Kubernetes does while it converts.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.api.defaults.containers import fill_container, fill_pod_container
from ghostfleet.api.defaults.filling import ObjectRule, each, rule
from ghostfleet.api.defaults.podlevel import fill_pod_level_resources
from ghostfleet.api.defaults.resources import fill_requirements, fill_resource_list
from ghostfleet.api.defaults.volumes import fill_volume
from ghostfleet.core.changes import Object

__all__ = ["DEFAULTS", "fill_pod", "fill_pod_status", "fill_template"]


def _spec_rule(container: ObjectRule, absent: Object, last: ObjectRule) -> ObjectRule:
    return rule(
        zero={"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler"},
        absent={"securityContext": {}, "terminationGracePeriodSeconds": 30, **absent},
        parts={
            "containers": each(container),
            "initContainers": each(container),
            "ephemeralContainers": each(fill_container),
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

_fill_template_spec = _spec_rule(fill_container, {}, _account_under_both_names)
_fill_pod_spec = _spec_rule(fill_pod_container, {"enableServiceLinks": True}, _finish_pod_spec)

#: A pod template: what Deployments, Jobs and the like make pods from.
fill_template = rule(absent={"metadata": {}, "spec": {}}, parts={"spec": _fill_template_spec})

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

fill_pod = rule(absent={"spec": {}, "status": {}}, parts={"spec": _fill_pod_spec, "status": fill_pod_status})

DEFAULTS: dict[str, ObjectRule] = {
    "pods": fill_pod,
    "podtemplates": rule(absent={"template": {}}, parts={"template": fill_template}),
}
