"""Services: defaults of the kinds that lead traffic to pods."""

from __future__ import annotations

from ghostfleet.api.defaults.filling import ObjectRule, each, rule, without
from ghostfleet.core.changes import Object

__all__ = ["DEFAULTS", "is_externally_accessible"]

#: How long a client stays with one pod, when the service says only that it does: three hours.
_CLIENT_IP = {"clientIP": {"timeoutSeconds": 10800}}
_WITHIN_THE_CLUSTER = frozenset({"ClusterIP", "NodePort", "LoadBalancer"})


def is_externally_accessible(spec: Object) -> bool:
    """Whether a service takes traffic from outside of the cluster."""
    sort = spec.get("type")
    return sort in ("LoadBalancer", "NodePort") or (sort == "ClusterIP" and bool(spec.get("externalIPs")))


def _fill_port(port: Object) -> Object:
    added: Object = {}
    if not port.get("protocol"):
        added["protocol"] = "TCP"
    if not port.get("targetPort") and port.get("port"):
        added["targetPort"] = port["port"]
    return {**port, **added} if added else port


def _finish_service_spec(spec: Object) -> Object:
    sort: str = spec["type"]
    added: Object = {}
    if not spec.get("externalTrafficPolicy") and is_externally_accessible(spec):
        added["externalTrafficPolicy"] = "Cluster"
    if spec.get("internalTrafficPolicy") is None and sort in _WITHIN_THE_CLUSTER:
        added["internalTrafficPolicy"] = "Cluster"
    if sort == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is None:
        added["allocateLoadBalancerNodePorts"] = True
    if added:
        spec = {**spec, **added}
    if sort == "ExternalName":
        spec = without(spec, "internalTrafficPolicy")
    return _with_affinity(spec)


def _with_affinity(spec: Object) -> Object:
    if spec["sessionAffinity"] == "None":
        return without(spec, "sessionAffinityConfig")
    client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
    if spec["sessionAffinity"] == "ClientIP" and client.get("timeoutSeconds") is None:
        return {**spec, "sessionAffinityConfig": _CLIENT_IP}
    return spec


def _fill_address(address: Object) -> Object:
    return {**address, "ipMode": "VIP"} if address.get("ip") and address.get("ipMode") is None else address


_fill_addresses = rule(parts={"status": rule(parts={"loadBalancer": rule(parts={"ingress": each(_fill_address)})})})


def _finish_service(service: Object) -> Object:
    return _fill_addresses(service) if service["spec"]["type"] == "LoadBalancer" else service


_fill_balancer_status = rule(absent={"loadBalancer": {}})

_fill_service = rule(
    absent={"spec": {}, "status": {}},
    parts={
        "spec": rule(
            zero={"sessionAffinity": "None", "type": "ClusterIP"},
            parts={"ports": each(_fill_port)},
            last=_finish_service_spec,
        ),
        "status": _fill_balancer_status,
    },
    last=_finish_service,
)

_TCP = {"protocol": "TCP"}
_fill_policy_rules = each(rule(parts={"ports": each(rule(absent=_TCP))}))


def _finish_policy_spec(spec: Object) -> Object:
    if spec.get("policyTypes"):
        return spec
    return {**spec, "policyTypes": ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]}


_fill_ingress_backend = rule(
    parts={
        "service": rule(absent={"port": {}}),
        "resource": rule(null=("apiGroup",)),
    }
)
_fill_ingress_rule = rule(
    parts={"http": rule(parts={"paths": each(rule(absent={"backend": {}}, parts={"backend": _fill_ingress_backend}))})}
)

DEFAULTS: dict[str, ObjectRule] = {
    "services": _fill_service,
    "endpoints": rule(parts={"subsets": each(rule(parts={"ports": each(rule(zero=_TCP))}))}),
    "endpointslices.discovery.k8s.io": rule(
        null=("endpoints", "ports"),
        parts={
            "endpoints": each(rule(absent={"conditions": {}})),
            "ports": each(rule(absent={"name": "", "protocol": "TCP"})),
        },
    ),
    "ingresses.networking.k8s.io": rule(
        absent={"spec": {}, "status": {}},
        parts={
            "spec": rule(parts={"defaultBackend": _fill_ingress_backend, "rules": each(_fill_ingress_rule)}),
            "status": _fill_balancer_status,
        },
    ),
    "ingressclasses.networking.k8s.io": rule(
        absent={"spec": {}},
        parts={"spec": rule(parts={"parameters": rule(absent={"scope": "Cluster"})})},
    ),
    "networkpolicies.networking.k8s.io": rule(
        absent={"spec": {}},
        parts={
            "spec": rule(
                absent={"podSelector": {}},
                parts={"ingress": _fill_policy_rules, "egress": _fill_policy_rules},
                last=_finish_policy_spec,
            )
        },
    ),
    "servicecidrs.networking.k8s.io": rule(absent={"spec": {}, "status": {}}),
    "ipaddresses.networking.k8s.io": rule(absent={"spec": {}}),
}
