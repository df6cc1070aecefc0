"""Admission: what a cluster itself adds to, or holds against, a new object.

The admission plug-ins that a default kube-apiserver runs and that matter here: the namespace must exist and not be on
its way out, limit ranges and quotas are held against what there is of them, services get addresses and node ports. A
pod gets a service account, the priority of its priority class, and tolerations that keep it for five minutes on a node
that is not ready or cannot be reached. Nothing is mounted for the service account: there is nobody to read a token.

Parts of the cluster may have a say too, as a validating webhook has in a real one: a *validator* looks at each new and
each changed object of a resource when everything else has found it good, and refuses it or warns.
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Callable, Sequence

from ghostfleet.api.defaults.pods import tolerating_failure
from ghostfleet.api.kinds import Resource
from ghostfleet.api.limitranges import apply_limit_ranges, check_claim_limits
from ghostfleet.api.podclaims import CLAIMS, TEMPLATES
from ghostfleet.api.quotas import QUOTAS, charge_quotas
from ghostfleet.api.templatecache import PodTemplates
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import ApiError, FieldError, forbidden, invalid, not_found
from ghostfleet.core.store import Store

__all__ = ["Admission", "Validator", "admit_pod", "denied"]

#: Looks at an object as it was (None: it is new) and as it is to be; answers warnings, or raises `denied`.
Validator = Callable[[Object | None, Object], Sequence[str]]

#: resource.k8s.io, DRAAdminNamespaceLabelKey
_ADMIN_LABEL = "resource.kubernetes.io/admin-access"
_SERVICE_NETWORK = ipaddress.IPv4Network("10.96.0.0/12")
_NODE_PORTS = (30_000, 32_767)
#: Classes that every cluster has; names that begin with `system-` are theirs.
_SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_PREEMPTS = "PreemptLowerPriority"
_MIRROR = "kubernetes.io/config.mirror"


def denied(webhook: str, why: str) -> ApiError:
    """The refusal of a validating webhook of this name."""
    return ApiError(403, "Forbidden", f'admission webhook "{webhook}" denied the request: {why}')


class Admission:
    """Admits objects to one store."""

    def __init__(self, store: Store, rng: random.Random) -> None:
        self._store = store
        self._rng = rng
        self._quotas = store.bucket(QUOTAS)
        self._ranges = store.bucket("limitranges")
        #: What becomes of the specs of pods, for all who make pods.
        self.templates = PodTemplates(store, self._admit_pod)
        self._validators: dict[str, tuple[Validator, ...]] = {}

    def add_validator(self, key: str, validator: Validator) -> None:
        """Ask `validator` about the objects of a resource from now on."""
        self._validators[key] = (*self._validators.get(key, ()), validator)

    def review(self, key: str, old: Object | None, new: Object) -> list[str]:
        """What validators warn of; their error if they refuse the object."""
        return [warning for validator in self._validators.get(key, ()) for warning in validator(old, new)]

    def check_namespace(self, resource: Resource, obj: Object) -> None:
        """The namespace of a new object must be there and alive."""
        if not resource.namespaced:
            return
        metadata = obj["metadata"]
        namespace = self._store.find("namespaces", "", metadata.get("namespace", ""))
        if namespace is None:
            raise not_found("namespaces", metadata.get("namespace", ""))
        if "deletionTimestamp" not in namespace["metadata"]:
            return
        name = metadata["namespace"]
        error = forbidden(
            resource.key,
            metadata.get("name", ""),
            f"unable to create new content in namespace {name} because it is being terminated",
        )
        assert error.details is not None
        message = f"namespace {name} is being terminated"
        error.details["causes"] = [
            {"reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace"}
        ]
        raise error

    def check_definition(self, resource: Resource, obj: Object) -> None:
        """A definition on its way out takes no new objects."""
        if not resource.custom:
            return
        definition = self._store.find("customresourcedefinitions.apiextensions.k8s.io", "", resource.key)
        if definition is not None and "deletionTimestamp" in definition["metadata"]:
            why = "create not allowed while custom resource definition is terminating"
            raise forbidden(resource.key, obj["metadata"].get("name", ""), why)

    def admit(self, key: str, obj: Object) -> Object:
        """The new object with what the cluster adds to it."""
        if key == "pods":
            return self._admit_pod(obj)
        if key == "services":
            return self._addressed(obj)
        if key == "persistentvolumeclaims":
            check_claim_limits(self._store, obj)
        if key in (CLAIMS, TEMPLATES):
            self._check_admin_access(obj)
        return obj

    def _check_admin_access(self, obj: Object) -> None:
        """Who may look at devices that others hold is said by a label of the namespace."""
        spec = obj["spec"].get("spec") or obj["spec"]
        requests = (spec.get("devices") or {}).get("requests") or ()
        asking = [place for place, each in enumerate(requests) if (each.get("exactly") or {}).get("adminAccess")]
        namespace = self._store.find("namespaces", "", obj["metadata"]["namespace"]) if asking else None
        if namespace is None or (namespace["metadata"].get("labels") or {}).get(_ADMIN_LABEL) == "true":
            return
        why = f"admin access to devices requires the `{_ADMIN_LABEL}: true` label on the containing namespace"
        error = FieldError.forbidden(f"spec.devices.requests[{asking[0]}].adminAccess", why)
        raise invalid(obj["kind"], "resource.k8s.io", obj["metadata"].get("name", ""), [error])

    def charge(self, key: str, obj: Object, *, dry_run: bool = False) -> None:
        """Count a new object against the quotas of its namespace, or refuse it."""
        if self._quotas.size:
            charge_quotas(self._store, key, obj, dry_run=dry_run)

    def _admit_pod(self, pod: Object) -> Object:
        return admit_pod(
            apply_limit_ranges(self._store, pod) if self._ranges.size else pod,
            priority_class=self._priority_class,
            default_priority_class=self._default_priority_class,
        )

    def _priority_class(self, name: str) -> Object | None:
        return self._store.find("priorityclasses.scheduling.k8s.io", "", name)

    def _default_priority_class(self) -> Object | None:
        """The global default; of several, the lowest, as Kubernetes picks it."""
        classes = [each for each in self._store.list("priorityclasses.scheduling.k8s.io") if each.get("globalDefault")]
        return min(classes, key=lambda each: each.get("value", 0), default=None)

    def _addressed(self, service: Object) -> Object:
        """A service with its cluster IP and node ports."""
        spec = service.get("spec", {})
        if spec.get("type") == "ExternalName":
            return service
        spec = {**spec, **self._cluster_ip(service, spec)}
        if spec.get("type") in ("NodePort", "LoadBalancer"):
            spec["ports"] = self._node_ports(service["metadata"].get("name", ""), spec.get("ports", []))
        return {**service, "spec": spec}

    def admit_change(self, key: str, new: Object) -> Object:
        """A changed object with what it needs now and did not need before."""
        return self._readdressed(new) if key == "services" else new

    def _readdressed(self, service: Object) -> Object:
        spec = service.get("spec", {})
        ports, kind = spec.get("ports", []), spec.get("type")
        if kind != "ExternalName" and not spec.get("clusterIP"):
            return self._addressed(service)
        if kind in ("NodePort", "LoadBalancer") and not all(port.get("nodePort") for port in ports):
            numbered = self._node_ports(service["metadata"].get("name", ""), ports)
            return {**service, "spec": {**spec, "ports": numbered}}
        return service

    def _cluster_ip(self, service: Object, spec: Object) -> Object:
        asked = spec.get("clusterIP")
        if asked and asked != "None":
            if _outside(asked):
                detail = f"failed to allocate IP {asked}: the provided network does not match the current range"
                error = FieldError.invalid("spec.clusterIPs", [asked], detail)
                raise invalid("Service", "", service["metadata"].get("name", ""), [error])
            if self._holder(asked) is not None:
                detail = f"failed to allocate IP {asked}: provided IP is already allocated"
                error = FieldError.invalid("spec.clusterIPs", [asked], detail)
                raise invalid("Service", "", service["metadata"].get("name", ""), [error])
            address = asked
        else:
            address = asked or self._free_address()
        families = {"ipFamilies": spec.get("ipFamilies") or ["IPv4"]}
        return {
            "clusterIP": address,
            "clusterIPs": [address],
            "ipFamilyPolicy": spec.get("ipFamilyPolicy") or "SingleStack",
            **families,
        }

    def _holder(self, address: str) -> Object | None:
        for service in self._store.list("services"):
            if service.get("spec", {}).get("clusterIP") == address:
                return service
        return None

    def _free_address(self) -> str:
        taken = {service.get("spec", {}).get("clusterIP") for service in self._store.list("services")}
        first, size = int(_SERVICE_NETWORK.network_address), _SERVICE_NETWORK.num_addresses
        while True:
            address = str(ipaddress.IPv4Address(first + self._rng.randrange(2, size - 1)))
            if address not in taken:
                return address

    def _node_ports(self, service: str, ports: list[Object]) -> list[Object]:
        low, high = _NODE_PORTS
        for index, port in enumerate(ports):
            asked = port.get("nodePort")
            if asked and not low <= asked <= high:
                why = f"provided port is not in the valid range. The range of valid ports is {low}-{high}"
                raise invalid("Service", "", service, [FieldError.invalid(f"spec.ports[{index}].nodePort", asked, why)])
        taken = {
            port["nodePort"]
            for service in self._store.list("services")
            for port in service.get("spec", {}).get("ports", [])
            if port.get("nodePort")
        }
        numbered = []
        for port in ports:
            number = port.get("nodePort")
            while not number or (number in taken and not port.get("nodePort")):
                number = self._rng.randint(*_NODE_PORTS)
            taken.add(number)
            numbered.append({**port, "nodePort": number})
        return numbered


def _outside(address: str) -> bool:
    """Whether an address is none of the service network; what is no address at all is left to validation."""
    try:
        return ipaddress.ip_address(address) not in _SERVICE_NETWORK
    except ValueError:
        return False


def admit_pod(
    pod: Object,
    *,
    priority_class: Callable[[str], Object | None],
    default_priority_class: Callable[[], Object | None],
) -> Object:
    """A new pod as it is admitted; 403 when its priority is not its class's, or its class is unknown.

    `priority_class` finds a PriorityClass by name; `default_priority_class` gives the one for pods that name none.
    """
    spec: Object = pod.get("spec") or {}
    added = _account(pod, spec) | _priority(pod, spec, priority_class, default_priority_class)
    tolerations = spec.get("tolerations")
    tolerating = tolerating_failure(tolerations)
    if tolerating is not tolerations:
        added["tolerations"] = tolerating
    if all(spec.get(key) == value for key, value in added.items()):
        return pod
    return {**pod, "spec": {**spec, **added}}


def _account(pod: Object, spec: Object) -> Object:
    # A mirror pod shows what a kubelet runs on its own; it must stay as the kubelet wrote it.
    if _MIRROR in ((pod.get("metadata") or {}).get("annotations") or ()):
        return {}
    account = spec.get("serviceAccountName") or "default"
    return {"serviceAccountName": account, "serviceAccount": account}


def _priority(
    pod: Object,
    spec: Object,
    priority_class: Callable[[str], Object | None],
    default_priority_class: Callable[[], Object | None],
) -> Object:
    name = spec.get("priorityClassName")
    if name:
        found = priority_class(name) or _system_class(name)
        if found is None:
            raise forbidden("pods", _shown_name(pod), f"no PriorityClass with name {name} was found")
    else:
        found = default_priority_class() or {}
        name = found.get("metadata", {}).get("name", "")
    priority, policy = found.get("value", 0), found.get("preemptionPolicy") or _PREEMPTS
    _refuse_other_priority(pod, spec, priority, policy)
    added = {"priority": priority, "preemptionPolicy": policy}
    return {**added, "priorityClassName": name} if name else added


def _system_class(name: str) -> Object | None:
    value = _SYSTEM_PRIORITIES.get(name)
    return None if value is None else {"value": value, "preemptionPolicy": _PREEMPTS}


def _refuse_other_priority(pod: Object, spec: Object, priority: int, policy: str) -> None:
    computed = "priority admission controller computed {} from the given PriorityClass name"
    given = spec.get("priority")
    if given is not None and given != priority:
        why = f"the integer value of priority ({given}) must not be provided in pod spec; "
        raise forbidden("pods", _shown_name(pod), why + computed.format(priority))
    given = spec.get("preemptionPolicy")
    if given is not None and given != policy:
        why = f"the string value of PreemptionPolicy ({given}) must not be provided in pod spec; "
        raise forbidden("pods", _shown_name(pod), why + computed.format(policy))


def _shown_name(pod: Object) -> str:
    metadata = pod.get("metadata") or {}
    return metadata.get("name") or metadata.get("generateName") or "Unknown"
