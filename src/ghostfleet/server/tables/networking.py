"""Services, endpoints, ingresses and network policies in one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.server.tables.cells import created, first_few, items, label_text, name_of, part, selector_text
from ghostfleet.server.tables.printers import AGE, NAME, Cell, Printers, text, wide

__all__ = ["NETWORKING"]

NETWORKING = Printers()


def _load_balancer(obj: Object) -> list[str]:
    entries = items(part(obj, "status", "loadBalancer"), "ingress")
    return sorted({entry.get("ip") or entry.get("hostname") or "" for entry in entries} - {""})


def _cluster_ip(spec: Mapping[str, Any]) -> str:
    addresses = items(spec, "clusterIPs")
    return addresses[0] if addresses else spec.get("clusterIP") or "<none>"


def _external_ip(service: Object) -> str:
    spec = part(service, "spec")
    extra = list(items(spec, "externalIPs"))
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(extra) or "<none>"
        case "LoadBalancer":
            return ",".join(_load_balancer(service) + extra) or "<pending>"
        case "ExternalName":
            return spec.get("externalName") or ""
    return "<unknown>"


def _port(port: Mapping[str, Any]) -> str:
    exposed = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port') or 0}{exposed}/{port.get('protocol') or ''}"


@NETWORKING.of(
    "services",
    NAME,
    text("Type", "How the service is exposed."),
    text("Cluster-IP", "Address within the cluster."),
    text("External-IP", "Addresses or name outside the cluster."),
    text("Port(s)", "Ports of the service, with node ports."),
    AGE,
    wide("Selector", "Labels of the pods that serve."),
)
def service(obj: Object, now: int) -> list[Cell]:
    spec = part(obj, "spec")
    return [
        name_of(obj),
        spec.get("type") or "",
        _cluster_ip(spec),
        _external_ip(obj),
        ",".join(_port(port) for port in items(spec, "ports")) or "<none>",
        created(obj, now),
        label_text(spec.get("selector")),
    ]


def _host_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _subset_endpoints(subset: Mapping[str, Any]) -> list[str]:
    hosts = [address.get("ip") or "" for address in items(subset, "addresses")]
    ports = items(subset, "ports")
    return [_host_port(host, port.get("port") or 0) for port in ports for host in hosts] if ports else hosts


@NETWORKING.of("endpoints", NAME, text("Endpoints", "Addresses and ports that serve."), AGE)
def endpoints(obj: Object, now: int) -> list[Cell]:
    subsets = items(obj, "subsets")
    listed = first_few([endpoint for subset in subsets for endpoint in _subset_endpoints(subset)])
    return [name_of(obj), listed if subsets else "<none>", created(obj, now)]


def _slice_port(port: Mapping[str, Any]) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    return "*" if port.get("name") is None else str(port["name"])


@NETWORKING.of(
    "endpointslices.discovery.k8s.io",
    NAME,
    text("AddressType", "Sort of the addresses."),
    text("Ports", "Ports that every endpoint serves."),
    text("Endpoints", "Addresses that serve."),
    AGE,
)
def endpoint_slice(obj: Object, now: int) -> list[Cell]:
    addresses = [address for endpoint in items(obj, "endpoints") for address in items(endpoint, "addresses")]
    return [
        name_of(obj),
        obj.get("addressType") or "",
        first_few([_slice_port(port) for port in items(obj, "ports")]) or "<unset>",
        first_few(addresses) or "<unset>",
        created(obj, now),
    ]


def _hosts(rules: Sequence[Mapping[str, Any]]) -> str:
    """The first three hosts; what is left is counted in rules, whether they name a host or not."""
    limit, shown = 3, list[str]()
    for rule in rules:
        if len(shown) == limit:
            return f"{','.join(shown)} + {len(rules) - limit} more..."
        if host := rule.get("host"):
            shown.append(host)
    return ",".join(shown) or "*"


@NETWORKING.of(
    "ingresses.networking.k8s.io",
    NAME,
    text("Class", "Ingress class that implements it."),
    text("Hosts", "Hosts whose requests it takes."),
    text("Address", "Addresses of the load balancer."),
    text("Ports", "Ports it listens on."),
    AGE,
)
def ingress(obj: Object, now: int) -> list[Cell]:
    spec = part(obj, "spec")
    class_name = spec.get("ingressClassName")
    return [
        name_of(obj),
        "<none>" if class_name is None else class_name,
        _hosts(items(spec, "rules")),
        ",".join(_load_balancer(obj)),
        "80, 443" if items(spec, "tls") else "80",
        created(obj, now),
    ]


_DEFAULT_INGRESS_CLASS = "ingressclass.kubernetes.io/is-default-class"


def _parameters(reference: Mapping[str, Any] | None) -> str:
    if reference is None:
        return "<none>"
    group = reference.get("apiGroup")
    kind = reference.get("kind") or ""
    return f"{kind if group is None else f'{kind}.{group}'}/{reference.get('name') or ''}"


@NETWORKING.of(
    "ingressclasses.networking.k8s.io",
    NAME,
    text("Controller", "Controller that implements the class."),
    text("Parameters", "Object with further settings."),
    AGE,
)
def ingress_class(obj: Object, now: int) -> list[Cell]:
    spec = part(obj, "spec")
    is_default = part(obj, "metadata", "annotations").get(_DEFAULT_INGRESS_CLASS) == "true"
    return [
        f"{name_of(obj)} (default)" if is_default else name_of(obj),
        spec.get("controller") or "",
        _parameters(spec.get("parameters")),
        created(obj, now),
    ]


@NETWORKING.of("networkpolicies.networking.k8s.io", NAME, text("Pod-Selector", "Pods the policy is for."), AGE)
def network_policy(obj: Object, now: int) -> list[Cell]:
    return [name_of(obj), selector_text(part(obj, "spec").get("podSelector")), created(obj, now)]


@NETWORKING.of("servicecidrs.networking.k8s.io", NAME, text("CIDRs", "Ranges of service addresses."), AGE)
def service_cidr(obj: Object, now: int) -> list[Cell]:
    return [name_of(obj), ",".join(items(part(obj, "spec"), "cidrs")), created(obj, now)]


@NETWORKING.of("ipaddresses.networking.k8s.io", NAME, text("ParentRef", "Object that has the address."))
def ip_address(obj: Object, now: int) -> list[Cell]:
    # Kubernetes sends an age here for which it declares no column.
    return [name_of(obj), _parent(part(obj, "spec").get("parentRef")), created(obj, now)]


def _parent(reference: Mapping[str, Any] | None) -> str:
    if reference is None:
        return "<none>"
    resource = ".".join(filter(None, (reference.get("resource"), reference.get("group")))).lower()
    return "/".join([resource, *filter(None, [reference.get("namespace")]), reference.get("name") or ""])
