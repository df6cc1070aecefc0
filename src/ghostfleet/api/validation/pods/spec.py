"""The spec of a pod, in a pod and in a template alike."""

from __future__ import annotations

from ghostfleet.api.validation.checks import (
    Errors,
    Object,
    dns_label,
    dns_subdomain,
    in_range,
    invalid,
    ip_address,
    labels,
    one_of,
    qualified_name,
    required,
)
from ghostfleet.api.validation.metadata import check_annotations
from ghostfleet.api.validation.pods import containers as container_rules
from ghostfleet.api.validation.pods.containers import PodScope
from ghostfleet.api.validation.pods.placement import affinity, spread_constraints, tolerations
from ghostfleet.api.validation.pods.security import pod_context
from ghostfleet.api.validation.pods.volumes import volumes
from ghostfleet.api.validation.resources import amount, requirements
from ghostfleet.api.validation.structs import Layout, Shown, shown
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError
from ghostfleet.core.quantity import canonical, total

__all__ = ["pod_annotations", "pod_spec", "pod_template"]

_CLAIM: Layout = (
    ("Name", "name", ""),
    ("ResourceClaimName", "resourceClaimName", None),
    ("ResourceClaimTemplateName", "resourceClaimTemplateName", None),
)
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION = ("PreemptLowerPriority", "Never")
_MIRROR = "kubernetes.io/config.mirror"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_MAX_INT32 = 2**31 - 1


def pod_template(errors: Errors, path: str, template: Object) -> None:
    metadata = template.get("metadata") or {}
    spec = template.get("spec") or {}
    labels(errors, f"{path}.labels", metadata.get("labels"))
    check_annotations(errors, f"{path}.annotations", metadata.get("annotations"))
    pod_annotations(errors, f"{path}.annotations", metadata.get("annotations"), spec)
    pod_spec(errors, f"{path}.spec", spec)
    if spec.get("ephemeralContainers"):
        why = "ephemeral containers not allowed in pod template"
        errors.append(FieldError.forbidden(f"{path}.spec.ephemeralContainers", why))


def pod_annotations(errors: Errors, path: str, annotations: Object | None, spec: Object) -> None:
    if not annotations:
        return
    if _MIRROR in annotations and not spec.get("nodeName"):
        why = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(FieldError.invalid(f"{path}[{_MIRROR}]", annotations[_MIRROR], why))
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not _is_int32(cost):
        errors.append(FieldError.invalid(f"{path}[{_DELETION_COST}]", cost, "must be a 32bit integer"))


def _is_int32(text: str) -> bool:
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdecimal() and (digits == "0" or not digits.startswith("0"))
    return plain and -(2**31) <= int(text) <= _MAX_INT32


def pod_spec(errors: Errors, path: str, spec: Object, pod_name: str = "", *, is_pod: bool = False) -> None:
    """All rules of a pod's spec, in Kubernetes' order."""
    if "terminationGracePeriodSeconds" not in spec:
        errors.append(FieldError.required(f"{path}.terminationGracePeriodSeconds"))
    found = spec.get("volumes") or []
    claims = spec.get("resourceClaims") or []
    scope = PodScope(
        volumes=volumes(errors, f"{path}.volumes", found, pod_name, is_pod=is_pod) if found else {},
        claim_names={claim["name"] for claim in claims if claim.get("name")},
        restart_policy=spec.get("restartPolicy", ""),
        grace=spec.get("terminationGracePeriodSeconds"),
        shares_users=spec.get("hostUsers") is not False,
        os_name=(spec.get("os") or {}).get("name", ""),
    )
    if claims:
        _resource_claims(errors, f"{path}.resourceClaims", claims)
    _all_containers(errors, path, spec, scope)
    if spec.get("resources"):
        _pod_resources(errors, f"{path}.resources", spec)
    if spec.get("hostNetwork"):
        _host_network_ports(errors, f"{path}.containers", spec, is_pod=is_pod)
    one_of(errors, f"{path}.restartPolicy", scope.restart_policy, _RESTART_POLICIES)
    one_of(errors, f"{path}.dnsPolicy", spec.get("dnsPolicy", ""), _DNS_POLICIES)
    labels(errors, f"{path}.nodeSelector", spec.get("nodeSelector"))
    context = spec.get("securityContext")
    if context or spec.get("shareProcessNamespace"):
        pod_context(errors, f"{path}.securityContext", context or {}, spec)
    if "affinity" in spec:
        affinity(errors, f"{path}.affinity", spec["affinity"])
    if spec.get("dnsConfig") or spec.get("dnsPolicy") == "None":
        _dns_config(errors, f"{path}.dnsConfig", spec.get("dnsConfig"), spec.get("dnsPolicy", ""))
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        qualified_name(errors, f"{path}.readinessGates[{index}].conditionType", gate.get("conditionType", ""))
    if gates := spec.get("schedulingGates"):
        _scheduling_gates(errors, f"{path}.schedulingGates", gates)
    if constraints := spec.get("topologySpreadConstraints"):
        spread_constraints(errors, f"{path}.topologySpreadConstraints", constraints)
    if not scope.shares_users:
        _own_users(errors, path, spec)
    _names_and_times(errors, path, spec)


def _all_containers(errors: Errors, path: str, spec: Object, scope: PodScope) -> None:
    regular, first = spec.get("containers") or [], spec.get("initContainers") or []
    container_rules.containers(errors, f"{path}.containers", regular, scope)
    if first:
        container_rules.init_containers(errors, f"{path}.initContainers", first, regular, scope)
    if added := spec.get("ephemeralContainers"):
        others = [*regular, *first]
        container_rules.ephemeral_containers(errors, f"{path}.ephemeralContainers", added, others, scope)


def _resource_claims(errors: Errors, path: str, claims: list[Object]) -> None:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        place, name = f"{path}[{index}]", claim.get("name", "")
        if not name:
            errors.append(FieldError.required(f"{place}.name"))
        elif name in seen:
            errors.append(FieldError.duplicate(f"{place}.name", name))
        else:
            dns_label(errors, f"{place}.name", name)
            seen.add(name)
        sources = [field for field in ("resourceClaimName", "resourceClaimTemplateName") if field in claim]
        if len(sources) == 2:
            why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            errors.append(Shown("Invalid value", place, shown(claim, _CLAIM), why))
        if not sources:
            why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            errors.append(Shown("Invalid value", place, shown(claim, _CLAIM), why))
        for source in sources:
            dns_subdomain(errors, f"{place}.{source}", claim[source])


def _pod_resources(errors: Errors, path: str, spec: Object) -> None:
    resources: Object = spec["resources"]
    if "claims" in resources:
        errors.append(FieldError.forbidden(f"{path}.claims", "claims may not be set for Resources at pod-level"))
    requirements(errors, path, {**resources, "claims": None}, pod_level=True)
    regular = spec.get("containers") or []
    for name, request in (resources.get("requests") or {}).items():
        asked = [((container.get("resources") or {}).get("requests") or {}).get(name) for container in regular]
        together = total(quantity for quantity in asked if quantity is not None)
        if together.nano > amount(request):
            why = f"must be greater than or equal to aggregate container requests of {together}"
            errors.append(FieldError.invalid(f"{path}.requests[{name}]", canonical(request), why))
    limits = resources.get("limits") or {}
    for index, container in enumerate(regular):
        for name, limit in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and amount(limit) > amount(limits[name]):
                why = f"must be less than or equal to pod limits of {canonical(limits[name])}"
                place = f"{path}.containers[{index}][{name}].limits"
                errors.append(FieldError.invalid(place, canonical(limit), why))


def _host_network_ports(errors: Errors, path: str, spec: Object, *, is_pod: bool) -> None:
    for index, container in enumerate(spec.get("containers") or ()):
        for at, port in enumerate(container.get("ports") or ()):
            host_port = port.get("hostPort", 0)
            if (is_pod or host_port) and host_port != port.get("containerPort", 0):
                why = "must match `containerPort` when `hostNetwork` is true"
                errors.append(FieldError.invalid(f"{path}[{index}].ports[{at}].hostPort", host_port, why))


def _dns_config(errors: Errors, path: str, config: Object | None, policy: str) -> None:
    if policy == "None":
        if config is None:
            errors.append(FieldError.required(path, "must provide `dnsConfig` when `dnsPolicy` is None"))
        elif not config.get("nameservers"):
            why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            errors.append(FieldError.required(f"{path}.nameservers", why))
    config = config or {}
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if len(servers) > 3:
        errors.append(FieldError.invalid(f"{path}.nameservers", servers, "must not have more than 3 nameservers"))
    for index, server in enumerate(servers):
        ip_address(errors, f"{path}.nameservers[{index}]", server)
    if len(searches) > 32:
        errors.append(FieldError.invalid(f"{path}.searches", searches, "must not have more than 32 search paths"))
    if len(" ".join(searches)) > 2048:
        why = "must not have more than 2048 characters (including spaces) in the search list"
        errors.append(FieldError.invalid(f"{path}.searches", searches, why))
    for index, option in enumerate(config.get("options") or ()):
        required(errors, f"{path}.options[{index}]", option.get("name"), "must not be empty")


def _scheduling_gates(errors: Errors, path: str, gates: list[Object]) -> None:
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name", "")
        qualified_name(errors, f"{path}[{index}]", name)
        if name in seen:
            errors.append(FieldError.duplicate(f"{path}[{index}]", name))
        seen.add(name)


def _own_users(errors: Errors, path: str, spec: Object) -> None:
    for field, name in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(field):
            errors.append(FieldError.forbidden(f"{path}.{name}", "when `hostUsers` is false"))


def _names_and_times(errors: Errors, path: str, spec: Object) -> None:
    for field in ("serviceAccountName", "nodeName"):
        if spec.get(field):
            dns_subdomain(errors, f"{path}.{field}", spec[field])
    in_range(errors, f"{path}.activeDeadlineSeconds", spec.get("activeDeadlineSeconds"), 1, _MAX_INT32)
    for field in ("hostname", "subdomain"):
        if spec.get(field):
            dns_label(errors, f"{path}.{field}", spec[field])
    if spec.get("tolerations"):
        tolerations(errors, f"{path}.tolerations", spec["tolerations"])
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        ip_address(errors, f"{path}.hostAliases[{index}].ip", alias.get("ip", ""))
        for at, hostname in enumerate(alias.get("hostnames") or ()):
            dns_subdomain(errors, f"{path}.hostAliases[{index}].hostnames[{at}]", hostname)
    if spec.get("priorityClassName"):
        dns_subdomain(errors, f"{path}.priorityClassName", spec["priorityClassName"])
    if "runtimeClassName" in spec:
        name = spec["runtimeClassName"]
        invalid(errors, f"{path}.runtimeClassName", name, names.is_dns1123_subdomain(name))
    if "preemptionPolicy" in spec:
        one_of(errors, f"{path}.preemptionPolicy", spec["preemptionPolicy"], _PREEMPTION)
    if "overhead" in spec:
        requirements(errors, f"{path}.overhead", {"limits": spec["overhead"]})
    if "os" in spec:
        name = spec["os"].get("name", "")
        if required(errors, f"{path}.os.name", name) and name not in ("linux", "windows"):
            errors.append(FieldError.unsupported(f"{path}.os", name, ("linux", "windows")))
