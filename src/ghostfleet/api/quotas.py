"""Quotas: how much of a namespace's allowance an object takes.

A ResourceQuota names *hard* limits; its status says what is *used*. A new object is *charged* to every quota of its
namespace whose limits and scopes concern it: when one has not enough left, the object is refused, otherwise the use is
written down at once, so that the next object sees it. What objects give back when they end is counted by the quota
controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ghostfleet.api.podresources import ResourceList, pod_resources
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.errors import forbidden
from ghostfleet.core.quantity import Quantity, add, from_value, parse
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import parse_rfc3339

__all__ = ["QUOTAS", "charge_quotas", "check_quota", "counts_towards", "matches_scopes", "usage_of"]

QUOTAS = "resourcequotas"

_ONE = from_value(1)
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
#: Where one of these is limited, every container must say how much it takes.
_MUST_BE_STATED = frozenset(("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"))
_POD_LIMITS = frozenset(
    ("pods", *_COMPUTE, *(f"requests.{name}" for name in _COMPUTE), *(f"limits.{name}" for name in _COMPUTE))
)
_OLD_COUNTS = frozenset(("configmaps", "resourcequotas", "replicationcontrollers", "secrets"))
_CLASS_SUFFIX = ".storageclass.storage.k8s.io/"


def check_quota(store: Store, resource: str, obj: Object) -> None:
    """403 in Kubernetes' words when a new object does not fit into a quota of its namespace."""
    charge_quotas(store, resource, obj, dry_run=True)


def charge_quotas(store: Store, resource: str, obj: Object, *, dry_run: bool = False) -> None:
    """Charge a new object to the quotas of its namespace; 403, and nothing charged, when one has not enough left."""
    if not store.count(QUOTAS):
        return
    namespace = obj["metadata"].get("namespace", "")
    quotas = store.list(QUOTAS, namespace)
    if not quotas:
        return
    usage = usage_of(resource, obj, store.clock.now())
    charged = []
    for quota in quotas:
        used = _charged(resource, obj, usage, quota)
        if used is not None:
            charged.append((quota["metadata"]["name"], {**quota["status"], "used": used}))
    if not dry_run:
        for name, status in charged:
            store.patch_status(QUOTAS, namespace, name, status)


def _charged(resource: str, obj: Object, usage: ResourceList, quota: Object) -> dict[str, str] | None:
    """What is used of a quota once the object is charged to it; None when it does not concern the object."""
    status = quota.get("status") or {}
    hard: Mapping[str, str] = status.get("hard") or {}
    concerned = [name for name in hard if counts_towards(resource, name)]
    if not concerned or not matches_scopes(quota, resource, obj):
        return None
    name = quota["metadata"]["name"]
    if resource == "pods":
        _check_stated(obj, concerned, name)
    used: Mapping[str, str] = status.get("used") or {}
    unknown = [each for each in concerned if each not in used]
    if unknown:
        raise _refusal(resource, obj, f"status unknown for quota: {name}, resources: {','.join(sorted(concerned))}")
    asked = {each: amount for each, amount in usage.items() if each in hard and amount.nano}
    if not asked:
        return None
    after = {each: add(used.get(each, "0"), amount) for each, amount in asked.items()}
    exceeded = sorted(each for each in after if after[each].nano > parse(hard[each]).nano)
    if exceeded:
        requested = ",".join(f"{each}={asked[each]}" for each in exceeded)
        taken = ",".join(f"{each}={used[each]}" for each in exceeded)
        limited = ",".join(f"{each}={hard[each]}" for each in exceeded)
        raise _refusal(
            resource, obj, f"exceeded quota: {name}, requested: {requested}, used: {taken}, limited: {limited}"
        )
    return {**used, **{each: str(amount) for each, amount in after.items()}}


def _refusal(resource: str, obj: Object, why: str) -> Exception:
    metadata = obj["metadata"]
    return forbidden(resource, metadata.get("name") or metadata.get("generateName") or "", why)


def _check_stated(pod: Object, concerned: Iterable[str], quota: str) -> None:
    required = _MUST_BE_STATED.intersection(concerned)
    spec = pod.get("spec") or {}
    if not required or spec.get("resources"):
        return
    missing: dict[str, set[str]] = {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        stated = _compute(resources.get("requests") or {}, resources.get("limits") or {})
        for name in required:
            if name not in stated:
                missing.setdefault(name, set()).add(container["name"])
    if missing:
        listed = "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))
        raise _refusal("pods", pod, f"failed quota: {quota}: must specify {listed}")


def counts_towards(resource: str, name: str) -> bool:
    """Whether objects of a resource are counted under this name in quotas."""
    if name == f"count/{resource}" or (name == resource and resource in _OLD_COUNTS):
        return True
    if resource == "pods":
        extended = name.startswith("requests.") and "/" in name and "kubernetes.io/" not in name
        return name in _POD_LIMITS or extended or name.removeprefix("requests.").startswith("hugepages-")
    if resource == "services":
        return name in ("services", "services.loadbalancers", "services.nodeports")
    if resource == "persistentvolumeclaims":
        return name in ("persistentvolumeclaims", "requests.storage") or _CLASS_SUFFIX in name
    return False


def usage_of(resource: str, obj: Object, now: int) -> ResourceList:
    """What an object takes, by the names that quotas have for it."""
    usage: ResourceList = {f"count/{resource}": _ONE}
    if resource in _OLD_COUNTS:
        usage[resource] = _ONE
    elif resource == "pods":
        if not _is_over(obj, now):
            usage |= _compute(pod_resources(obj, "requests"), pod_resources(obj, "limits"))
            usage["pods"] = _ONE
    elif resource == "services":
        usage |= _service(obj.get("spec") or {})
    elif resource == "persistentvolumeclaims":
        usage |= _claim(obj.get("spec") or {})
    return usage


def _is_over(pod: Object, now: int) -> bool:
    """Ended, or long past the time at which it was to end: such pods take nothing any more."""
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return True
    metadata = pod["metadata"]
    if "deletionTimestamp" not in metadata:
        return False
    grace = metadata.get("deletionGracePeriodSeconds") or 0
    return now > parse_rfc3339(metadata["deletionTimestamp"]) + grace * SECOND


def _compute(requests: Mapping[str, str | Quantity], limits: Mapping[str, str | Quantity]) -> ResourceList:
    usage: ResourceList = {}
    for name, amount in requests.items():
        quantity = parse(amount)
        if name in _COMPUTE or name.startswith("hugepages-"):
            usage[name] = usage[f"requests.{name}"] = quantity
        elif "/" in name:
            usage[f"requests.{name}"] = quantity
    for name in _COMPUTE:
        if name in limits:
            usage[f"limits.{name}"] = parse(limits[name])
    return usage


def _service(spec: Object) -> ResourceList:
    usage = {"services": _ONE}
    kind, ports = spec.get("type"), len(spec.get("ports") or ())
    if kind == "NodePort" or (kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts", True)):
        usage["services.nodeports"] = from_value(ports)
    if kind == "LoadBalancer":
        usage["services.loadbalancers"] = _ONE
    return usage


def _claim(spec: Object) -> ResourceList:
    usage = {"persistentvolumeclaims": _ONE}
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is not None:
        usage["requests.storage"] = parse(storage)
    if spec.get("storageClassName"):
        prefix = spec["storageClassName"] + _CLASS_SUFFIX
        usage[f"{prefix}persistentvolumeclaims"] = _ONE
        if storage is not None:
            usage[f"{prefix}requests.storage"] = parse(storage)
    return usage


def matches_scopes(quota: Object, resource: str, obj: Object) -> bool:
    """Whether an object lies in all scopes of a quota."""
    spec = quota.get("spec") or {}
    selectors = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    selectors += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    if not selectors:
        return True
    return resource == "pods" and all(_in_scope(selector, obj) for selector in selectors)


def _in_scope(selector: Object, pod: Object) -> bool:
    spec = pod.get("spec") or {}
    scope, operator, values = selector["scopeName"], selector.get("operator"), selector.get("values") or ()
    if scope in ("Terminating", "NotTerminating"):
        return bool((spec.get("activeDeadlineSeconds") is not None) == (scope == "Terminating"))
    if scope in ("BestEffort", "NotBestEffort"):
        return bool(((pod.get("status") or {}).get("qosClass") == "BestEffort") == (scope == "BestEffort"))
    if scope == "PriorityClass":
        name = spec.get("priorityClassName")
        tests = {"Exists": bool(name), "DoesNotExist": not name, "In": name in values, "NotIn": name not in values}
        return tests.get(operator or "", False)
    if scope == "CrossNamespacePodAffinity":
        return _looks_beyond_namespace(spec)
    return False


def _looks_beyond_namespace(spec: Object) -> bool:
    affinity = spec.get("affinity") or {}
    for sort in ("podAffinity", "podAntiAffinity"):
        stated = affinity.get(sort) or {}
        terms = [
            *(stated.get("requiredDuringSchedulingIgnoredDuringExecution") or ()),
            *(each["podAffinityTerm"] for each in stated.get("preferredDuringSchedulingIgnoredDuringExecution") or ()),
        ]
        if any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms):
            return True
    return False
