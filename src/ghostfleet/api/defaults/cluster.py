"""The cluster's own kinds: defaults of namespaces, nodes, quotas, limits, secrets, events and leases."""

from __future__ import annotations

from base64 import b64encode

from ghostfleet.api.defaults.filling import ObjectRule, each, fill_resource_list, rule, without
from ghostfleet.core.changes import Object

__all__ = ["DEFAULTS", "with_name_label"]

_NAME_LABEL = "kubernetes.io/metadata.name"


def with_name_label(namespace: Object) -> Object:
    """The namespace with the label that holds its name; one without a name yet (generateName) stays as it is."""
    metadata = namespace.get("metadata") or {}
    name, labels = metadata.get("name"), metadata.get("labels") or {}
    if not name or labels.get(_NAME_LABEL) == name:
        return namespace
    return {**namespace, "metadata": {**metadata, "labels": {**labels, _NAME_LABEL: name}}}


def _finish_node_spec(spec: Object) -> Object:
    cidr, cidrs = spec.get("podCIDR"), spec.get("podCIDRs")
    if cidr and (not cidrs or cidrs[0] != cidr):
        return {**spec, "podCIDRs": [cidr]}
    return {**spec, "podCIDR": cidrs[0]} if cidrs and not cidr else spec


def _finish_node_status(status: Object) -> Object:
    capacity = status.get("capacity")
    return {**status, "allocatable": capacity} if capacity and status.get("allocatable") is None else status


_NODE_INFO = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)
_fill_node_status = rule(
    absent={"daemonEndpoints": {}, "nodeInfo": {}},
    parts={
        "capacity": fill_resource_list,
        "allocatable": fill_resource_list,
        "conditions": each(rule(null=("lastHeartbeatTime", "lastTransitionTime"))),
        "daemonEndpoints": rule(
            absent={"kubeletEndpoint": {}},
            parts={"kubeletEndpoint": rule(absent={"Port": 0})},
        ),
        "nodeInfo": rule(absent=dict.fromkeys(_NODE_INFO, "")),
    },
    last=_finish_node_status,
)


def _fill_limit(limit: Object) -> Object:
    """A limit on containers: its default is its maximum, and its default request that default, or else its minimum."""
    limit = _fill_limit_lists(limit)
    if limit.get("type") != "Container":
        return limit
    default = {**(limit.get("max") or {}), **(limit.get("default") or {})}
    request = {**(limit.get("min") or {}), **default, **(limit.get("defaultRequest") or {})}
    added = {
        key: value
        for key, value in (("default", default), ("defaultRequest", request))
        if value and value != limit.get(key)
    }
    return {**limit, **added} if added else limit


_fill_limit_lists = rule(
    absent={"type": ""},
    parts=dict.fromkeys(("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"), fill_resource_list),
)


def _encode_strings(secret: Object) -> Object:
    """Strings given in clear go into the data, and are never shown again."""
    strings = secret.get("stringData")
    if strings:
        encoded = {key: b64encode(text.encode()).decode() for key, text in strings.items()}
        secret = {**secret, "data": {**(secret.get("data") or {}), **encoded}}
    return without(secret, "stringData")


DEFAULTS: dict[str, ObjectRule] = {
    "namespaces": rule(
        absent={"spec": {}, "status": {}},
        parts={
            "status": rule(zero={"phase": "Active"}, parts={"conditions": each(rule(null=("lastTransitionTime",)))})
        },
        last=with_name_label,
    ),
    "nodes": rule(
        absent={"spec": {}, "status": {}},
        parts={"spec": rule(last=_finish_node_spec), "status": _fill_node_status},
    ),
    "limitranges": rule(
        absent={"spec": {}}, parts={"spec": rule(null=("limits",), parts={"limits": each(_fill_limit)})}
    ),
    "resourcequotas": rule(
        absent={"spec": {}, "status": {}},
        parts={
            "spec": rule(parts={"hard": fill_resource_list}),
            "status": rule(parts={"hard": fill_resource_list, "used": fill_resource_list}),
        },
    ),
    "secrets": rule(zero={"type": "Opaque"}, last=_encode_strings),
    "events": rule(
        absent={"involvedObject": {}, "source": {}, "reportingComponent": "", "reportingInstance": ""},
        null=("firstTimestamp", "lastTimestamp", "eventTime"),
        parts={"series": rule(null=("lastObservedTime",))},
    ),
    "leases.coordination.k8s.io": rule(absent={"spec": {}}),
}
