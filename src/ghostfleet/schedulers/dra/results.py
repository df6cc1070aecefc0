"""AllocationResults: devices that were found, with the configuration for them and the nodes they can be used from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ghostfleet.schedulers.dra.errors import AllocationError
from ghostfleet.schedulers.dra.features import Features
from ghostfleet.schedulers.dra.requests import ClaimSpec, Request
from ghostfleet.schedulers.dra.search import Taken

__all__ = ["allocation_result", "first_available_score"]

Object = Mapping[str, Any]
#: most subrequests of a request (resource.k8s.io, FirstAvailableDeviceRequestMaxSize)
_MOST_SUBREQUESTS = 8


def allocation_result(
    spec: ClaimSpec,
    chosen: Sequence[tuple[Request, Object]],
    taken: Sequence[Taken],
    node_name: str,
    features: Features,
    share_id: Callable[[], str],
) -> dict[str, Any]:
    """The result for one claim; `chosen` is each request, or the subrequest that was taken, and its class."""
    devices: dict[str, Any] = {"results": [_result(each, features, share_id) for each in taken]}
    config = [*_class_config(chosen), *_claim_config(spec, [request for request, _ in chosen])]
    if config:
        devices["config"] = config
    result: dict[str, Any] = {"devices": devices}
    if (selector := _node_selector(taken, node_name, features)) is not None:
        result["nodeSelector"] = selector
    return result


def _result(taken: Taken, features: Features, share_id: Callable[[], str]) -> dict[str, Any]:
    request, device = taken.request, taken.device
    result: dict[str, Any] = {
        "request": request.full_name,
        "driver": device.id.driver,
        "pool": device.id.pool,
        "device": device.name,
    }
    if request.admin:
        result["adminAccess"] = True
    if request.tolerations:
        result["tolerations"] = request.tolerations
    if features.binding_conditions:
        for key in ("bindingConditions", "bindingFailureConditions"):
            if device.object.get(key):
                result[key] = device.object[key]
    if taken.consumed is not None:
        result["shareID"] = share_id()
        if taken.consumed:
            result["consumedCapacity"] = {name: str(amount) for name, amount in taken.consumed.items()}
    return result


def _class_config(chosen: Iterable[tuple[Request, Object]]) -> list[dict[str, Any]]:
    """The configuration of each class once, for all requests of it."""
    found: dict[str, list[dict[str, Any]]] = {}
    for request, device_class in chosen:
        name = device_class["metadata"]["name"]
        if name not in found:
            configs = device_class.get("spec", {}).get("config") or ()
            found[name] = [{"source": "FromClass", "requests": [], **config} for config in configs]
        for config in found[name]:
            config["requests"].append(request.full_name)
    return [config for configs in found.values() for config in configs]


def _claim_config(spec: ClaimSpec, chosen: Sequence[Request]) -> list[dict[str, Any]]:
    """The claim's own configuration, as far as it is for requests that were taken: once for each of them."""
    found: list[dict[str, Any]] = []
    for config in spec.config:
        named = config.get("requests") or ()
        copies = 1
        if named:
            copies = sum(request.group in named or request.full_name in named for request in chosen)
        found.extend({"source": "FromClaim", **config} for _ in range(copies))
    return found


def _node_selector(taken: Iterable[Taken], node_name: str, features: Features) -> dict[str, Any] | None:
    """The one node if a device is local to it, else what the devices' own selectors ask together; None for all."""
    fields: list[Object] = []
    expressions: list[Object] = []
    for device in (each.device for each in taken):
        where: Object = device.object if device.slice.per_device else device.slice.object["spec"]
        if where.get("nodeName") is not None or (device.object.get("bindsToNode") and not features.stable):
            name = {"key": "metadata.name", "operator": "In", "values": [node_name]}
            return {"nodeSelectorTerms": [{"matchFields": [name]}]}
        terms = (where.get("nodeSelector") or {}).get("nodeSelectorTerms") or ()
        if len(terms) > 1:
            raise AllocationError(f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms")
        for term in terms:
            _add_new(fields, term.get("matchFields") or ())
            _add_new(expressions, term.get("matchExpressions") or ())
    term = {key: found for key, found in (("matchExpressions", expressions), ("matchFields", fields)) if found}
    return {"nodeSelectorTerms": [term]} if term else None


def _add_new(requirements: list[Object], more: Iterable[Object]) -> None:
    known = [_requirement(each) for each in requirements]
    for requirement in more:
        if (key := _requirement(requirement)) not in known:
            known.append(key)
            requirements.append(requirement)


def _requirement(requirement: Object) -> tuple[Any, ...]:
    return requirement.get("key"), requirement.get("operator"), frozenset(requirement.get("values") or ())


def first_available_score(spec: ClaimSpec, allocation: Object) -> int:
    """How good an allocation is by the order of its subrequests: 8 for each first one, 7 for a second."""
    allocated = {result["request"] for result in (allocation.get("devices") or {}).get("results") or ()}
    return sum(
        _MOST_SUBREQUESTS - place
        for alternatives in spec.requests
        for place, request in enumerate(alternatives)
        if request.parent and request.full_name in allocated
    )
