"""Services, and the endpoints and slices behind them.

A *headless* service asks for no cluster IP (`None`). A service that has cluster IPs keeps them, whatever else changes.
"""

from __future__ import annotations

from ghostfleet.api.validation.checks import (
    Errors,
    Object,
    cidr,
    dns_label,
    dns_subdomain,
    endpoint_ip,
    immutable,
    invalid,
    ip_address,
    ip_version,
    label_value,
    labels,
    one_of,
    port_number,
    port_number_or_name,
    qualified_name,
    required,
)
from ghostfleet.api.validation.rules import Rules, dns_label_name
from ghostfleet.api.validation.structs import Layout, Shown, shown
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError

__all__ = ["RULES"]

_PORT: Layout = (
    ("Name", "name", ""),
    ("Protocol", "protocol", ""),
    ("AppProtocol", "appProtocol", None),
    ("Port", "port", 0),
    ("TargetPort", "targetPort", 0),
    ("NodePort", "nodePort", 0),
)
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_AFFINITIES = ("ClientIP", "None")
_FAMILIES = ("IPv4", "IPv6")
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_TRAFFIC = ("Cluster", "Local")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_MAX_AFFINITY_SECONDS = 86400


def _service(errors: Errors, service: Object) -> None:
    spec = service.get("spec") or {}
    sort, ports = spec.get("type", ""), spec.get("ports") or []
    headless = _headless(spec)
    if not ports and not headless and sort != "ExternalName":
        errors.append(FieldError.required("spec.ports"))
    _by_type(errors, spec, sort, headless)
    _ports(errors, ports)
    labels(errors, "spec.selector", spec.get("selector"))
    _session_affinity(errors, spec)
    if sort != "ExternalName":
        _cluster_ips(errors, spec, headless)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        if ip_address(errors, f"spec.externalIPs[{index}]", address):
            endpoint_ip(errors, f"spec.externalIPs[{index}]", address)
    one_of(errors, "spec.type", sort, _TYPES)
    _port_conflicts(errors, ports, sort)
    _load_balancing(errors, spec, sort)
    _traffic(errors, spec, sort)


def _headless(spec: Object) -> bool:
    return bool(spec.get("clusterIPs") == ["None"])


def _by_type(errors: Errors, spec: Object, sort: str, headless: bool) -> None:
    if sort in ("LoadBalancer", "NodePort") and headless:
        why = f"may not be set to 'None' for {sort} services"
        errors.append(FieldError.invalid("spec.clusterIPs[0]", "None", why))
    if sort != "ExternalName":
        return
    for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(field):
            errors.append(FieldError.forbidden(f"spec.{field}", "may not be set for ExternalName services"))
    name = spec.get("externalName", "").removesuffix(".")
    if required(errors, "spec.externalName", name):
        dns_subdomain(errors, "spec.externalName", name)


def _ports(errors: Errors, ports: list[Object]) -> None:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"spec.ports[{index}]", port.get("name", "")
        if name:
            dns_label(errors, f"{path}.name", name)
            if name in seen:
                errors.append(FieldError.duplicate(f"{path}.name", name))
            seen.add(name)
        elif len(ports) > 1:
            errors.append(FieldError.required(f"{path}.name"))
        port_number(errors, f"{path}.port", port.get("port", 0))
        one_of(errors, f"{path}.protocol", port.get("protocol", ""), _PROTOCOLS)
        port_number_or_name(errors, f"{path}.targetPort", port.get("targetPort", 0))
        if "appProtocol" in port:
            qualified_name(errors, f"{path}.appProtocol", port["appProtocol"])


def _session_affinity(errors: Errors, spec: Object) -> None:
    affinity, config = spec.get("sessionAffinity", ""), spec.get("sessionAffinityConfig")
    one_of(errors, "spec.sessionAffinity", affinity, _AFFINITIES)
    path = "spec.sessionAffinityConfig"
    if affinity == "ClientIP":
        seconds = ((config or {}).get("clientIP") or {}).get("timeoutSeconds")
        if seconds is None:
            errors.append(FieldError.required(path, "when session affinity type is ClientIP"))
        elif not 0 < seconds <= _MAX_AFFINITY_SECONDS:
            why = f"must be greater than 0 and less than {_MAX_AFFINITY_SECONDS}"
            errors.append(FieldError.invalid(f"{path}.clientIP.timeoutSeconds", seconds, why))
    elif affinity == "None" and config is not None:
        errors.append(FieldError.forbidden(path, "must not be set when session affinity is None"))


def _cluster_ips(errors: Errors, spec: Object, headless: bool) -> None:
    path, first, addresses = "spec.clusterIPs", spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    families = spec.get("ipFamilies") or []
    if first:
        if not addresses:
            errors.append(FieldError.required(path))
        elif addresses[0] != first:
            errors.append(FieldError.invalid(path, addresses, "first value must match `clusterIP`"))
    elif addresses:
        errors.append(FieldError.invalid(path, addresses, "must be empty when `clusterIP` is not specified"))
    for index, family in enumerate(families):
        if family not in _FAMILIES:
            errors.append(FieldError.unsupported(f"spec.ipFamilies[{index}]", family, _FAMILIES))
        if family in families[:index]:
            errors.append(FieldError.duplicate(f"spec.ipFamilies[{index}]", family))
    one_of(errors, "spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), _FAMILY_POLICIES, needed=False)
    before = len(errors)
    for index, address in enumerate(addresses):
        if index == 0 and address == "None":
            if len(addresses) > 1:
                errors.append(FieldError.invalid(path, addresses, "'None' must be the first and only value"))
        else:
            ip_address(errors, f"{path}[{index}]", address)
    good = len(errors) == before
    if len(addresses) > 2:
        errors.append(FieldError.invalid(path, addresses, "may only hold up to 2 values"))
    if good and not headless:
        _families_match(errors, path, addresses, families)


def _families_match(errors: Errors, path: str, addresses: list[str], families: list[str]) -> None:
    if len(addresses) > 1 and len({ip_version(address) for address in addresses}) != 2:
        errors.append(FieldError.invalid(path, addresses, "may specify no more than one IP for each IP family"))
    for index, (address, family) in enumerate(zip(addresses, families, strict=False)):
        if family in _FAMILIES and f"IPv{ip_version(address)}" != family:
            why = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            errors.append(FieldError.invalid(f"{path}[{index}]", address, why))


def _port_conflicts(errors: Errors, ports: list[Object], sort: str) -> None:
    node_ports: set[tuple[str, int]] = set()
    taken: set[tuple[str, int]] = set()
    if sort == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                why = "may not be used when `type` is 'ClusterIP'"
                errors.append(FieldError.forbidden(f"spec.ports[{index}].nodePort", why))
    for index, port in enumerate(ports):
        if node_port := port.get("nodePort"):
            if (port.get("protocol", ""), node_port) in node_ports:
                errors.append(FieldError.duplicate(f"spec.ports[{index}].nodePort", node_port))
            node_ports.add((port.get("protocol", ""), node_port))
    for index, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("port", 0))
        if key in taken:
            value = shown({"port": key[1], "protocol": key[0]}, _PORT)
            errors.append(Shown("Duplicate value", f"spec.ports[{index}]", value))
        taken.add(key)


def _load_balancing(errors: Errors, spec: Object, sort: str) -> None:
    balanced = sort == "LoadBalancer"
    only = "may only be used when `type` is 'LoadBalancer'"
    if ranges := spec.get("loadBalancerSourceRanges"):
        if not balanced:
            errors.append(FieldError.forbidden("spec.LoadBalancerSourceRanges", only))
        for index, value in enumerate(ranges):
            cidr(errors, f"spec.LoadBalancerSourceRanges[{index}]", value.strip())
    if "allocateLoadBalancerNodePorts" in spec and not balanced:
        errors.append(FieldError.forbidden("spec.allocateLoadBalancerNodePorts", only))
    if "loadBalancerClass" in spec:
        if balanced:
            qualified_name(errors, "spec.loadBalancerClass", spec["loadBalancerClass"])
        else:
            errors.append(FieldError.forbidden("spec.loadBalancerClass", only))


def _traffic(errors: Errors, spec: Object, sort: str) -> None:
    policy = spec.get("externalTrafficPolicy", "")
    reachable = sort in ("LoadBalancer", "NodePort") or (sort == "ClusterIP" and spec.get("externalIPs"))
    if not reachable and policy:
        why = "may only be set for externally-accessible services"
        errors.append(FieldError.invalid("spec.externalTrafficPolicy", policy, why))
    elif reachable:
        one_of(errors, "spec.externalTrafficPolicy", policy, _TRAFFIC)
    if spec.get("healthCheckNodePort") and not (sort == "LoadBalancer" and policy == "Local"):
        why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        errors.append(FieldError.invalid("spec.healthCheckNodePort", spec["healthCheckNodePort"], why))
    internal = spec.get("internalTrafficPolicy")
    if sort in ("NodePort", "LoadBalancer", "ClusterIP") or internal is not None:
        one_of(errors, "spec.internalTrafficPolicy", internal or "", _TRAFFIC)
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        errors.append(FieldError.unsupported("spec.trafficDistribution", distribution, _DISTRIBUTIONS))


def _service_update(errors: Errors, new: Object, old: Object) -> None:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    if "ExternalName" not in (after.get("type"), before.get("type")):
        _cluster_ips_update(errors, after, before)
        if not _headless(after) and not _headless(before):
            _families_update(errors, after, before)
    balanced = after.get("type") == before.get("type") == "LoadBalancer"
    if balanced and after.get("loadBalancerClass") != before.get("loadBalancerClass"):
        errors.append(
            FieldError.invalid("spec.loadBalancerClass", after.get("loadBalancerClass"), "may not change once set")
        )


def _cluster_ips_update(errors: Errors, new: Object, old: Object) -> None:
    after, before = new.get("clusterIPs") or [], old.get("clusterIPs") or []
    if _headless(new) and _headless(old):
        return
    changed = [index for index, (is_, was) in enumerate(zip(after, before, strict=False)) if is_ != was]
    if len(after) != len(before):
        changed = [index for index in changed if index == 0]
    for index in changed:
        errors.append(FieldError.invalid(f"spec.clusterIPs[{index}]", after, "may not change once set"))
    if before and not after:
        errors.append(FieldError.invalid("spec.clusterIPs[0]", after, "primary clusterIP can not be unset"))
    if len(before) > len(after) == 1 and new.get("ipFamilyPolicy") != "SingleStack":
        why = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        errors.append(FieldError.invalid("spec.ipFamilyPolicy", new.get("ipFamilyPolicy"), why))


def _families_update(errors: Errors, new: Object, old: Object) -> None:
    after, before = new.get("ipFamilies") or [], old.get("ipFamilies") or []
    if before and after and before[0] != after[0]:
        errors.append(FieldError.invalid("spec.ipFamilies[0]", after, "may not change once set"))


# Endpoints and slices


def _endpoints(errors: Errors, endpoints: Object) -> None:
    for index, subset in enumerate(endpoints.get("subsets") or ()):
        path = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(FieldError.required(path, "must specify `addresses` or `notReadyAddresses`"))
        for field in ("addresses", "notReadyAddresses"):
            for at, address in enumerate(subset.get(field) or ()):
                _endpoint_address(errors, f"{path}.{field}[{at}]", address)
        ports = subset.get("ports") or []
        for at, port in enumerate(ports):
            _endpoint_port(errors, f"{path}.ports[{at}]", port, named=len(ports) > 1)


def _endpoint_address(errors: Errors, path: str, address: Object) -> None:
    ip_address(errors, f"{path}.ip", address.get("ip", ""))
    if address.get("hostname"):
        dns_label(errors, f"{path}.hostname", address["hostname"])
    if "nodeName" in address:
        dns_subdomain(errors, f"{path}.nodeName", address["nodeName"])
    endpoint_ip(errors, f"{path}.ip", address.get("ip", ""))


def _endpoint_port(errors: Errors, path: str, port: Object, *, named: bool) -> None:
    if port.get("name"):
        dns_label(errors, f"{path}.name", port["name"])
    elif named:
        errors.append(FieldError.required(f"{path}.name"))
    port_number(errors, f"{path}.port", port.get("port", 0))
    one_of(errors, f"{path}.protocol", port.get("protocol", ""), _PROTOCOLS)


def _slice(errors: Errors, found: Object) -> None:
    sort = found.get("addressType", "")
    one_of(errors, "addressType", sort, ("FQDN", "IPv4", "IPv6"))
    ports = found.get("ports") or []
    if len(ports) > 20000:
        errors.append(FieldError.too_many("ports", len(ports), 20000))
    seen: set[str] = set()
    for index, port in enumerate(ports):
        name = port.get("name", "")
        if name:
            dns_label(errors, f"ports[{index}].name", name)
        if name in seen:
            errors.append(FieldError.duplicate(f"ports[{index}].name", name))
        seen.add(name)
        one_of(errors, f"ports[{index}].protocol", port.get("protocol", ""), _PROTOCOLS)
    endpoints = found.get("endpoints") or []
    if len(endpoints) > 1000:
        errors.append(FieldError.too_many("endpoints", len(endpoints), 1000))
    for index, endpoint in enumerate(endpoints):
        _slice_endpoint(errors, f"endpoints[{index}]", endpoint, sort)


def _slice_endpoint(errors: Errors, path: str, endpoint: Object, sort: str) -> None:
    addresses = endpoint.get("addresses") or []
    if not addresses:
        errors.append(FieldError.required(f"{path}.addresses", "must contain at least 1 address"))
    elif len(addresses) > 100:
        errors.append(FieldError.too_many(f"{path}.addresses", len(addresses), 100))
    for index, address in enumerate(addresses):
        place = f"{path}.addresses[{index}]"
        if sort == "FQDN":
            invalid(errors, place, address, names.is_dns1123_subdomain(address))
        elif sort in _FAMILIES and ip_address(errors, place, address):
            if f"IPv{ip_version(address)}" != sort:
                errors.append(FieldError.invalid(f"{path}.addresses", address, f"must be an {sort} address"))
            endpoint_ip(errors, place, address)
    if "nodeName" in endpoint:
        dns_subdomain(errors, f"{path}.nodeName", endpoint["nodeName"])
    labels(errors, f"{path}.deprecatedTopology", endpoint.get("deprecatedTopology"))
    if "hostname" in endpoint:
        dns_label(errors, f"{path}.hostname", endpoint["hostname"])
    for index, zone in enumerate((endpoint.get("hints") or {}).get("forZones") or ()):
        label_value(errors, f"{path}.hints.forZones[{index}].name", zone.get("name", ""))


def _slice_update(errors: Errors, new: Object, old: Object) -> None:
    immutable(errors, "addressType", new.get("addressType", ""), old.get("addressType", ""))


def _service_status(errors: Errors, new: Object, _old: Object) -> None:
    balanced = (new.get("spec") or {}).get("type") == "LoadBalancer"
    if not balanced and ((new.get("status") or {}).get("loadBalancer") or {}).get("ingress"):
        why = "may only be used when `spec.type` is 'LoadBalancer'"
        errors.append(FieldError.forbidden("status.loadBalancer.ingress", why))


RULES: dict[str, Rules] = {
    "services": Rules(_service, name=dns_label_name, update=_service_update, status=_service_status),
    "endpoints": Rules(_endpoints),
    "endpointslices.discovery.k8s.io": Rules(_slice, update=_slice_update),
}
