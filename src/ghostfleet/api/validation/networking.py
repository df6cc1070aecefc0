"""Ingresses, ingress classes and network policies."""

from __future__ import annotations

from ghostfleet.api.validation.checks import (
    Errors,
    Object,
    cidr,
    dns_label,
    dns_subdomain,
    immutable,
    invalid,
    ip_version,
    label_selector,
    port_name,
    port_number,
    required,
)
from ghostfleet.api.validation.rules import Rules
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError

__all__ = ["RULES"]

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_CONTROLLER_LIMIT = 250


def _ingress(errors: Errors, ingress: Object) -> None:
    spec = ingress.get("spec") or {}
    rules, default = spec.get("rules") or [], spec.get("defaultBackend")
    if not rules and default is None:
        why = "either `defaultBackend` or `rules` must be specified"
        errors.append(FieldError.invalid("spec", spec.get("rules"), why))
    if default is not None:
        _backend(errors, "spec.defaultBackend", default)
    for index, rule in enumerate(rules):
        _rule(errors, f"spec.rules[{index}]", rule)
    for index, tls in enumerate(spec.get("tls") or ()):
        for at, host in enumerate(tls.get("hosts") or ()):
            _host(errors, f"spec.tls[{index}].hosts[{at}]", host)
        if tls.get("secretName"):
            dns_subdomain(errors, f"spec.tls[{index}].secretName", tls["secretName"])
    if "ingressClassName" in spec:
        dns_subdomain(errors, "spec.ingressClassName", spec["ingressClassName"])


def _host(errors: Errors, path: str, host: str) -> None:
    if "*" in host:
        invalid(errors, path, host, names.is_wildcard_dns1123_subdomain(host))
    else:
        dns_subdomain(errors, path, host)


def _rule(errors: Errors, path: str, rule: Object) -> None:
    if host := rule.get("host"):
        if ip_version(host):
            errors.append(FieldError.invalid(f"{path}.host", host, "must be a DNS name, not an IP address"))
        _host(errors, f"{path}.host", host)
    http = rule.get("http")
    if http is None:
        return
    required(errors, f"{path}.http.paths", http.get("paths"))
    for index, entry in enumerate(http.get("paths") or ()):
        _path(errors, f"{path}.http.paths[{index}]", entry)


def _path(errors: Errors, path: str, entry: Object) -> None:
    sort, value = entry.get("pathType"), entry.get("path", "")
    if sort is None:
        errors.append(FieldError.required(f"{path}.pathType", "pathType must be specified"))
        return
    if sort not in _PATH_TYPES:
        errors.append(FieldError.unsupported(f"{path}.pathType", sort, _PATH_TYPES))
    elif not value.startswith("/") and (value or sort != "ImplementationSpecific"):
        errors.append(FieldError.invalid(f"{path}.path", value, "must be an absolute path"))
    if sort in ("Exact", "Prefix"):
        for sequence in _BAD_SEQUENCES:
            if sequence in value:
                errors.append(FieldError.invalid(f"{path}.path", value, f"must not contain '{sequence}'"))
        for end in _BAD_ENDS:
            if value.endswith(end):
                errors.append(FieldError.invalid(f"{path}.path", value, f"cannot end with '{end}'"))
    _backend(errors, f"{path}.backend", entry.get("backend") or {})


def _backend(errors: Errors, path: str, backend: Object) -> None:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        errors.append(FieldError.invalid(path, "", "cannot set both resource and service backends"))
    elif resource is not None:
        for field in ("kind", "name"):
            required(errors, f"{path}.resource.{field}", resource.get(field))
    elif service is not None:
        _service_backend(errors, path, service)
    else:
        errors.append(FieldError.invalid(path, "", "resource or service backend is required"))


def _service_backend(errors: Errors, path: str, service: Object) -> None:
    if required(errors, f"{path}.service.name", service.get("name")):
        dns_label(errors, f"{path}.service.name", service["name"])
    port = service.get("port") or {}
    name, number = port.get("name"), port.get("number")
    if name and number:
        errors.append(FieldError.invalid(path, "", "cannot set both port name & port number"))
    elif name:
        port_name(errors, f"{path}.service.port.name", name)
    elif number:
        port_number(errors, f"{path}.service.port.number", number)
    else:
        errors.append(FieldError.required(path, "port name or number is required"))


def _ingress_class(errors: Errors, found: Object) -> None:
    spec = found.get("spec") or {}
    controller = spec.get("controller", "")
    if len(controller) > _CONTROLLER_LIMIT:
        errors.append(FieldError.too_long("spec.controller", _CONTROLLER_LIMIT))
    domain, slash, rest = controller.partition("/")
    if not required(errors, "spec.controller", controller):
        pass
    elif not slash or not domain or not rest:
        why = 'must be a domain-prefixed path (such as "acme.io/foo")'
        errors.append(FieldError.invalid("spec.controller", controller, why))
    else:
        invalid(errors, "spec.controller", domain, names.is_dns1123_subdomain(domain))
    if parameters := spec.get("parameters"):
        for field in ("kind", "name"):
            required(errors, f"spec.parameters.{field}", parameters.get(field))


def _ingress_class_update(errors: Errors, new: Object, old: Object) -> None:
    after, before = (new.get("spec") or {}).get("controller"), (old.get("spec") or {}).get("controller")
    immutable(errors, "spec.controller", after, before)


# Network policies


def _network_policy(errors: Errors, policy: Object) -> None:
    spec = policy.get("spec") or {}
    label_selector(errors, "spec.podSelector", spec.get("podSelector"))
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            path = f"spec.{direction}[{index}]"
            for at, port in enumerate(rule.get("ports") or ()):
                _policy_port(errors, f"{path}.ports[{at}]", port)
            for at, peer in enumerate(rule.get(peers) or ()):
                _peer(errors, f"{path}.{peers}[{at}]", peer)
    types = spec.get("policyTypes") or []
    if len(types) > 2:
        errors.append(FieldError.invalid("spec.policyTypes", types, "may not specify more than two policyTypes"))
    else:
        for index, sort in enumerate(types):
            if sort not in ("Ingress", "Egress"):
                errors.append(FieldError.unsupported(f"spec.policyTypes[{index}]", sort, ("Ingress", "Egress")))


def _policy_port(errors: Errors, path: str, found: Object) -> None:
    protocol, port, end = found.get("protocol"), found.get("port"), found.get("endPort")
    if protocol is not None and protocol not in _PROTOCOLS:
        errors.append(FieldError.unsupported(f"{path}.protocol", protocol, _PROTOCOLS))
    if isinstance(port, int):
        port_number(errors, f"{path}.port", port)
        if end is not None:
            if end < port:
                why = "must be greater than or equal to `port`"
                errors.append(FieldError.invalid(f"{path}.endPort", port, why))
            port_number(errors, f"{path}.endPort", end)
        return
    if end is not None:
        why = f"may not be specified when `port` is {'not specified' if port is None else 'non-numeric'}"
        errors.append(FieldError.invalid(f"{path}.endPort", end, why))
    if port is not None:
        port_name(errors, f"{path}.port", port)


def _peer(errors: Errors, path: str, peer: Object) -> None:
    for selector in ("podSelector", "namespaceSelector"):
        label_selector(errors, f"{path}.{selector}", peer.get(selector))
    if "ipBlock" in peer:
        block = peer["ipBlock"]
        if required(errors, f"{path}.ipBlock.cidr", block.get("cidr")):
            cidr(errors, f"{path}.ipBlock.cidr", block["cidr"])
        for index, value in enumerate(block.get("except") or ()):
            cidr(errors, f"{path}.ipBlock.except[{index}]", value)
    found = [field for field in ("podSelector", "namespaceSelector", "ipBlock") if field in peer]
    if not found:
        errors.append(FieldError.required(path, "must specify a peer"))
    elif len(found) > 1 and "ipBlock" in found:
        errors.append(FieldError.forbidden(path, "may not specify both ipBlock and another peer"))


def _service_network_update(errors: Errors, new: Object, old: Object) -> None:
    """A range stays; one of the other family may be added to it."""
    after, before = (each.get("spec", {}).get("cidrs") or [] for each in (new, old))
    if len(after) != len(before) and (len(before), len(after)) != (1, 2):
        immutable(errors, "spec.cidrs", after, before)
        return
    for index, (now, was) in enumerate(zip(after, before, strict=False)):
        immutable(errors, f"spec.cidrs[{index}]", now, was)


RULES: dict[str, Rules] = {
    "ingresses.networking.k8s.io": Rules(_ingress),
    "ingressclasses.networking.k8s.io": Rules(_ingress_class, namespaced=False, update=_ingress_class_update),
    "networkpolicies.networking.k8s.io": Rules(_network_policy),
    "servicecidrs.networking.k8s.io": Rules(namespaced=False, update=_service_network_update),
}
