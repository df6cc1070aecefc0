"""Compute resources: their names, their amounts, and what a container may ask of them.

A *native* resource (cpu, memory) has no domain in its name and may be overcommitted; an *extended* one (nvidia.com/gpu)
comes in whole units, and what is requested of it must be its limit. Huge pages are native but not overcommitted either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache

from ghostfleet.api.validation.checks import NEGATIVE, Errors, Object, dns_label, invalid
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError
from ghostfleet.core.quantity import canonical, parse

__all__ = [
    "amount",
    "container_resource",
    "extended",
    "not_negative",
    "overcommittable",
    "pod_level_resource",
    "positive_quantity",
    "quantity_of",
    "quota_resource",
    "requirements",
    "resource_name",
    "standard_quota_resource",
]

_REQUESTS_LIMITS = tuple(
    f"{side}.{name}" for side in ("requests", "limits") for name in ("cpu", "memory", "ephemeral-storage")
)
_COUNTED = (
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
)
_CONTAINER = frozenset({"cpu", "memory", "ephemeral-storage"})
_QUOTA = _CONTAINER | {*_REQUESTS_LIMITS, *_COUNTED, "requests.storage"}
_STANDARD = _QUOTA | {"storage"}
_POD_LEVEL = ("cpu", "hugepages-", "memory")
_HUGE_PAGES = "hugepages-"

_UNIT = 10**9


def amount(quantity: str) -> int:
    """The amount in billionths of a unit."""
    return parse(quantity).nano


def native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def overcommittable(name: str) -> bool:
    return native(name) and not name.startswith(_HUGE_PAGES)


@lru_cache(maxsize=4096)
def extended(name: str) -> bool:
    if native(name) or name.startswith("requests."):
        return False
    return not names.is_qualified_name(f"requests.{name}")


@lru_cache(maxsize=4096)
def _whole(name: str) -> bool:
    return name in _COUNTED or extended(name)


def _standard_huge_pages(name: str) -> bool:
    return name.startswith((_HUGE_PAGES, "requests.hugepages-"))


@lru_cache(maxsize=4096)
def resource_name(name: str) -> tuple[str, ...]:
    """What is wrong with the name of any resource."""
    if messages := names.is_qualified_name(name):
        return tuple(messages)
    if "/" not in name and name not in _STANDARD and not _standard_huge_pages(name):
        return ("must be a standard resource type or fully qualified",)
    return ()


@lru_cache(maxsize=4096)
def container_resource(name: str) -> tuple[str, ...]:
    """What is wrong with the name of a resource that a container asks for."""
    messages = resource_name(name)
    if "/" not in name:
        if name not in _CONTAINER and not name.startswith(_HUGE_PAGES):
            return (*messages, "must be a standard resource for containers")
    elif not native(name) and not extended(name):
        return (*messages, "doesn't follow extended resource name standard")
    return messages


def standard_quota_resource(name: str) -> bool:
    return name in _QUOTA or _standard_huge_pages(name)


def quota_resource(name: str) -> tuple[str, ...]:
    messages = resource_name(name)
    if "/" not in name and not standard_quota_resource(name):
        return (*messages, "must be a standard resource for quota")
    return messages


def pod_level_resource(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith(_HUGE_PAGES)


def not_negative(errors: Errors, path: str, quantity: str) -> None:
    if amount(quantity) < 0:
        errors.append(FieldError.invalid(path, canonical(quantity), NEGATIVE))


def positive_quantity(errors: Errors, path: str, quantity: str) -> None:
    if amount(quantity) <= 0:
        errors.append(FieldError.invalid(path, canonical(quantity), "must be greater than zero"))


def quantity_of(errors: Errors, path: str, name: str, quantity: str) -> None:
    """An amount of this resource: not negative, and whole where the resource comes in units."""
    not_negative(errors, path, quantity)
    if _whole(name) and amount(quantity) % _UNIT:
        errors.append(FieldError.invalid(path, quantity, "must be an integer"))


def _supported_at_pod_level(errors: Errors, path: str, name: str) -> None:
    if messages := resource_name(name):
        invalid(errors, path, name, messages)
    elif not pod_level_resource(name):
        errors.append(FieldError.unsupported(path, name, _POD_LEVEL))


def _supported_in_container(errors: Errors, path: str, name: str) -> None:
    if messages := container_resource(name):
        invalid(errors, path, name, messages)


def requirements(
    errors: Errors, path: str, found: Object, claim_names: Collection[str] = (), *, pod_level: bool = False
) -> None:
    """Limits, requests and claims of a container, or of a pod as a whole."""
    check_name = _supported_at_pod_level if pod_level else _supported_in_container
    limits: Object = found.get("limits") or {}
    requests: Object = found.get("requests") or {}
    for name, quantity in limits.items():
        if pod_level or not _fine_in_container(name, quantity):
            _amount(errors, f"{path}.limits[{name}]", name, quantity, check_name)
    for name, quantity in requests.items():
        if pod_level or not _fine_in_container(name, quantity):
            _amount(errors, f"{path}.requests[{name}]", name, quantity, check_name)
        if quantity != limits.get(name):
            _request_within_limit(errors, path, name, quantity, limits.get(name))
    if claims := found.get("claims"):
        _claims(errors, f"{path}.claims", claims, claim_names)
    if "cpu" not in limits and "cpu" not in requests:
        asked = limits.keys() | requests.keys()
        if "memory" not in asked and any(name.startswith(_HUGE_PAGES) for name in asked):
            errors.append(FieldError.forbidden(path, "HugePages require cpu or memory"))


@lru_cache(maxsize=16384)
def _fine_in_container(name: str, quantity: str) -> bool:
    """Whether there is nothing at all to say about this amount: the usual case, so it is remembered."""
    found: Errors = []
    _amount(found, "", name, quantity, _supported_in_container)
    return not found


def _amount(
    errors: Errors, path: str, name: str, quantity: str, check_name: Callable[[Errors, str, str], None]
) -> None:
    check_name(errors, path, name)
    quantity_of(errors, path, name, quantity)
    if name.startswith(_HUGE_PAGES) and not _whole_pages(name, quantity):
        why = f"{canonical(quantity)} is not positive integer multiple of {name}"
        errors.append(FieldError.invalid(path, canonical(quantity), why))


def _whole_pages(name: str, quantity: str) -> bool:
    try:
        page = amount(name.removeprefix(_HUGE_PAGES))
    except ValueError:
        return False
    return page > 0 and page % _UNIT == 0 and amount(quantity) % page == 0


def _request_within_limit(errors: Errors, path: str, name: str, request: str, limit: str | None) -> None:
    if limit is None:
        if not overcommittable(name):
            errors.append(FieldError.required(f"{path}.limits", "Limit must be set for non overcommitable resources"))
        return
    asked, allowed = amount(request), amount(limit)
    if asked != allowed and not overcommittable(name):
        why = f"must be equal to {name} limit of {canonical(limit)}"
        errors.append(FieldError.invalid(f"{path}.requests", canonical(request), why))
    elif asked > allowed:
        why = f"must be less than or equal to {name} limit of {canonical(limit)}"
        errors.append(FieldError.invalid(f"{path}.requests", canonical(request), why))


def _claims(errors: Errors, path: str, claims: list[Object], known: Collection[str]) -> None:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        place, name, request = f"{path}[{index}]", claim.get("name", ""), claim.get("request", "")
        if not name:
            errors.append(FieldError.required(place))
            continue
        key = f"{name}/{request}" if request else name
        if request:
            dns_label(errors, f"{place}.request", request)
        if name in seen or key in seen or (not request and any(other.startswith(f"{name}/") for other in seen)):
            errors.append(FieldError.duplicate(place, name if name in seen else key))
        seen.add(key)
        if name not in known:
            detail = "must be one of the names in pod.spec.resourceClaims"
            detail += f": {', '.join(sorted(known))}" if known else " which is empty"
            errors.append(FieldError("Not found", place, name, detail))
