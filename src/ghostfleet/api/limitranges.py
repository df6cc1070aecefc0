"""Limit ranges: what containers, pods and claims of a namespace get when they ask for nothing, and how much they may
ask.

The defaults of every LimitRange are put into the containers of a new pod, and noted in an annotation. Then each range
is held against the result. What breaks one is refused in the words of the LimitRanger admission plug-in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ghostfleet.api.podresources import pod_resources, service_class
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import forbidden
from ghostfleet.core.quantity import Quantity, parse
from ghostfleet.core.store import Store

__all__ = ["ANNOTATION", "apply_limit_ranges", "check_claim_limits"]

ANNOTATION = "kubernetes.io/limit-ranger"

Amounts = Mapping[str, "str | Quantity"]


def apply_limit_ranges(store: Store, pod: Object) -> Object:
    """A new pod with the defaults of its namespace's limit ranges; 403 when it breaks one of them."""
    ranges = store.list("limitranges", pod["metadata"].get("namespace", ""))
    for each in ranges:
        pod = _with_defaults(each, pod)
    for each in ranges:
        _refuse("pods", pod, list(_pod_problems(each, pod)))
    return pod


def check_claim_limits(store: Store, claim: Object) -> None:
    """403 when a claim asks for more or less storage than a limit range of its namespace allows."""
    if not store.count("limitranges"):
        return
    requests = (claim.get("spec", {}).get("resources") or {}).get("requests") or {}
    for each in store.list("limitranges", claim["metadata"].get("namespace", "")):
        problems: list[str] = []
        for limit in _limits(each, "PersistentVolumeClaim"):
            problems += _below("PersistentVolumeClaim", limit, requests, {})
            problems += _requests_above("PersistentVolumeClaim", limit, requests)
        _refuse("persistentvolumeclaims", claim, problems)


def _limits(limit_range: Object, kind: str) -> Iterator[Object]:
    return (limit for limit in limit_range.get("spec", {}).get("limits") or () if limit.get("type") == kind)


def _refuse(resource: str, obj: Object, problems: list[str]) -> None:
    if problems:
        unique = list(dict.fromkeys(problems))
        text = unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
        metadata = obj["metadata"]
        raise forbidden(resource, metadata.get("name") or metadata.get("generateName") or "", text)


def _with_defaults(limit_range: Object, pod: Object) -> Object:
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    for limit in _limits(limit_range, "Container"):
        requests.update(limit.get("defaultRequest") or {})
        limits.update(limit.get("default") or {})
    notes: list[str] = []
    spec = pod["spec"]
    changed: Object = {}
    for field, word in (("containers", "container"), ("initContainers", "init container")):
        if spec.get(field):
            changed[field] = [_filled(each, requests, limits, word, notes) for each in spec[field]]
    if not notes:
        return pod
    metadata = pod["metadata"]
    annotations = {**(metadata.get("annotations") or {}), ANNOTATION: "LimitRanger plugin set: " + "; ".join(notes)}
    pod = {**pod, "metadata": {**metadata, "annotations": annotations}, "spec": {**spec, **changed}}
    if "status" in pod:
        pod["status"] = {**pod["status"], "qosClass": service_class(pod["spec"])}
    return pod


def _filled(container: Object, requests: Amounts, limits: Amounts, word: str, notes: list[str]) -> Object:
    resources = container.get("resources") or {}
    filled = dict(resources)
    for field, defaults, note in (("requests", requests, "request"), ("limits", limits, "limit")):
        missing = {name: amount for name, amount in defaults.items() if name not in (resources.get(field) or {})}
        if missing:
            filled[field] = {**(resources.get(field) or {}), **missing}
            notes.append(f"{', '.join(sorted(missing))} {note} for {word} {container['name']}")
    return {**container, "resources": filled} if filled != resources else container


def _pod_problems(limit_range: Object, pod: Object) -> Iterator[str]:
    spec = pod["spec"]
    for limit in limit_range.get("spec", {}).get("limits") or ():
        kind = limit.get("type")
        if kind == "Container":
            for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
                resources = container.get("resources") or {}
                yield from _problems(kind, limit, resources.get("requests") or {}, resources.get("limits") or {})
        elif kind == "Pod":
            requests = pod_resources(pod, "requests", overhead=False)
            yield from _problems(kind, limit, requests, pod_resources(pod, "limits", overhead=False))


def _problems(kind: str, limit: Object, requests: Amounts, limits: Amounts) -> Iterator[str]:
    yield from _below(kind, limit, requests, limits)
    for name, most in (limit.get("max") or {}).items():
        start = f"maximum {name} usage per {kind} is {most}"
        if name not in limits:
            yield f"{start}.  No limit is specified"
        elif parse(limits[name]).nano > parse(most).nano:
            yield f"{start}, but limit is {limits[name]}"
        elif name in requests and parse(requests[name]).nano > parse(most).nano:
            yield f"{start}, but request is {requests[name]}"
    for name, most in (limit.get("maxLimitRequestRatio") or {}).items():
        start = f"{name} max limit to request ratio per {kind} is {most}"
        requested, limited = parse(requests.get(name, "0")).nano, parse(limits.get(name, "0")).nano
        if not requested:
            yield f"{start}, but no request is specified or request is 0"
        elif not limited:
            yield f"{start}, but no limit is specified or limit is 0"
        elif limited * 1_000_000_000 > parse(most).nano * requested:
            yield f"{start}, but provided ratio is {limited / requested:f}"


def _below(kind: str, limit: Object, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, least in (limit.get("min") or {}).items():
        start = f"minimum {name} usage per {kind} is {least}"
        if name not in requests:
            yield f"{start}.  No request is specified"
        elif parse(requests[name]).nano < parse(least).nano:
            yield f"{start}, but request is {requests[name]}"
        elif name in limits and parse(limits[name]).nano < parse(least).nano:
            yield f"{start}, but limit is {limits[name]}"


def _requests_above(kind: str, limit: Object, requests: Amounts) -> Iterator[str]:
    for name, most in (limit.get("max") or {}).items():
        start = f"maximum {name} usage per {kind} is {most}"
        if name not in requests:
            yield f"{start}.  No request is specified"
        elif parse(requests[name]).nano > parse(most).nano:
            yield f"{start}, but request is {requests[name]}"
