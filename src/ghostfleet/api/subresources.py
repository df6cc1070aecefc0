"""Subresources that are not a part of the object but a view of it or an act on it.

*scale* shows and sets the replicas of anything that has some. *binding* gives a pod to a node. *eviction* deletes a pod
if its disruption budget allows. *finalize* lets a namespace go. The logs of a pod that never ran are the story of its
containers, told from its status.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.api.defaults.pods import scheduled
from ghostfleet.api.kinds import Resource
from ghostfleet.api.options import DeleteOptions
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import ApiError, FieldError, bad_request, conflict, invalid, too_many_requests
from ghostfleet.core.jsonpath import compile as compile_path
from ghostfleet.core.selectors import selector_from_object
from ghostfleet.core.store import Store
from ghostfleet.core.timestamps import rfc3339

__all__ = ["bind", "check_eviction", "finalize_namespace", "logs", "scale_of", "with_replicas"]

#: After so many seconds a client may ask again about a budget that has just changed.
_PROCESSING_SECONDS = 10


def scale_of(resource: Resource, obj: Object) -> Object:
    """The Scale of a workload."""
    metadata = obj["metadata"]
    shown = {
        key: metadata[key]
        for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if key in metadata
    }
    spec, status = _replicas(resource, obj)
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": shown, "spec": spec, "status": status}


def _replicas(resource: Resource, obj: Object) -> tuple[Object, Object]:
    if resource.scale is not None:
        paths = resource.scale
        wanted, present = compile_path(paths.spec_replicas).first(obj), compile_path(paths.status_replicas).first(obj)
        selector = compile_path(paths.label_selector).first(obj) if paths.label_selector else None
    else:
        wanted, present = obj.get("spec", {}).get("replicas"), obj.get("status", {}).get("replicas")
        selector = _selector_text(obj.get("spec", {}).get("selector"))
    status: Object = {"replicas": present or 0}
    if selector:
        status["selector"] = selector
    return ({"replicas": wanted} if wanted else {}), status


def _selector_text(selector: Any) -> str:
    if not selector:
        return ""
    if "matchLabels" in selector or "matchExpressions" in selector:
        return str(selector_from_object(selector))
    return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))


def with_replicas(resource: Resource, obj: Object, scale: Any) -> Object:
    """The workload with the replicas that a Scale asks for."""
    name = obj["metadata"]["name"]
    if not isinstance(scale, dict) or not isinstance(scale.get("spec") or {}, dict):
        raise bad_request("the object provided is unrecognized (must be of type Scale)")
    if scale.get("kind", "Scale") != "Scale":
        raise bad_request(f"{scale.get('kind')} cannot be handled as a Scale")
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise bad_request('Scale in version "v1" cannot be handled as a Scale: spec.replicas must be an integer')
    if replicas < 0:
        error = FieldError.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid("Scale", "autoscaling", name, [error])
    stated = scale.get("metadata") or {}
    version = stated.get("resourceVersion") if isinstance(stated, dict) else None
    if version and version != obj["metadata"]["resourceVersion"]:
        raise conflict(resource.key, name)
    path = resource.scale.spec_replicas if resource.scale is not None else ".spec.replicas"
    return _with_value(obj, path.lstrip(".").split("."), replicas)


def _with_value(obj: Object, path: list[str], value: Any) -> Object:
    head, *rest = path
    return {**obj, head: _with_value(obj.get(head) or {}, rest, value) if rest else value}


def bind(store: Store, namespace: str, name: str, binding: Any, *, dry_run: bool = False) -> Object:
    """Give a pod to the node that a Binding names."""
    _check_own_name(binding, name, "Binding")
    target = binding.get("target") if isinstance(binding, dict) else None
    if not isinstance(target, dict):
        raise invalid("Binding", "", name, [FieldError.required("target.name")])
    node, kind = target.get("name"), target.get("kind") or "Node"
    if kind not in ("Node", "Minion"):
        raise invalid("Binding", "", name, [FieldError.unsupported("target.kind", kind, ["Node", "<empty>"])])
    if not isinstance(node, str) or not node:
        raise invalid("Binding", "", name, [FieldError.required("target.name")])
    pod = store.get("pods", namespace, name)
    _check_bindable(pod, binding)
    if not dry_run:
        store.update("pods", bound(pod, node, rfc3339(store.clock.now()), binding.get("metadata") or {}))
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _check_own_name(body: Any, name: str, kind: str) -> None:
    """A binding or eviction must name the pod of its path."""
    metadata = body.get("metadata") if isinstance(body, dict) else None
    stated = metadata.get("name") if isinstance(metadata, dict) else None
    if stated != name:
        raise bad_request(f"name in URL does not match name in {kind} object")


def _check_bindable(pod: Object, binding: Object) -> None:
    name = pod["metadata"]["name"]
    stated = (binding.get("metadata") or {}).get("uid")
    if stated and stated != pod["metadata"]["uid"]:
        why = f"Precondition failed: UID in precondition: {stated}, UID in object meta: {pod['metadata']['uid']}"
        raise conflict("pods/binding", name, why)
    if "deletionTimestamp" in pod["metadata"]:
        raise conflict("pods/binding", name, f"pod {name} is being deleted, cannot be assigned to a host")
    assigned = pod["spec"].get("nodeName")
    if assigned:
        raise conflict("pods/binding", name, f'pod {name} is already assigned to node "{assigned}"')
    if pod["spec"].get("schedulingGates"):
        raise conflict("pods/binding", name, f"pod {name} has non-empty .spec.schedulingGates")


def bound(pod: Object, node: str, now: str, metadata: Object) -> Object:
    """A pod on its node: spec.nodeName, the PodScheduled condition, annotations of the binding."""
    own = pod["metadata"]
    merged = {
        field: {**own.get(field, {}), **metadata[field]} for field in ("annotations", "labels") if metadata.get(field)
    }
    return {
        **pod,
        "metadata": {**own, **merged},
        "spec": {**pod["spec"], "nodeName": node},
        "status": scheduled(pod.get("status", {}), now),
    }


def check_eviction(store: Store, namespace: str, name: str, eviction: Any, *, dry_run: bool = False) -> DeleteOptions:
    """How an evicted pod is to be deleted; 429 when its budget forbids it now. Counts the disruption."""
    _check_own_name(eviction, name, "Eviction")
    pod = store.get("pods", namespace, name)
    options = eviction.get("deleteOptions") or {} if isinstance(eviction, dict) else {}
    if not isinstance(options, dict):
        raise bad_request("Eviction: deleteOptions must be an object")
    dry_run = dry_run or bool(options.get("dryRun"))
    deletion = DeleteOptions(
        propagation=options.get("propagationPolicy"),
        grace_seconds=options.get("gracePeriodSeconds"),
        uid=(options.get("preconditions") or {}).get("uid"),
        resource_version=(options.get("preconditions") or {}).get("resourceVersion"),
        dry_run=dry_run,
    )
    if "deletionTimestamp" in pod["metadata"] or pod.get("status", {}).get("phase") in (
        "Pending",
        "Succeeded",
        "Failed",
    ):
        return deletion
    budgets = _budgets_of(store, namespace, pod)
    if len(budgets) > 1:
        message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise ApiError(500, "InternalError", f"Internal error occurred: {message}")
    for budget in budgets:
        _spend(store, budget, name, dry_run=dry_run)
    return deletion


def _budgets_of(store: Store, namespace: str, pod: Object) -> list[Object]:
    labels = pod["metadata"].get("labels")
    return [
        budget
        for budget in store.list("poddisruptionbudgets.policy", namespace)
        if budget.get("spec", {}).get("selector") is not None
        and selector_from_object(budget["spec"]["selector"]).matches(labels)
    ]


def _spend(store: Store, budget: Object, pod: str, *, dry_run: bool) -> None:
    status = budget.get("status", {})
    allowed, name = status.get("disruptionsAllowed", 0), budget["metadata"]["name"]
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        detail = f"The disruption budget {name} is still being processed by the server."
        raise too_many_requests(
            "Cannot evict pod as it would violate the pod's disruption budget.",
            _PROCESSING_SECONDS,
            [{"reason": "DisruptionBudget", "message": detail}],
        )
    if allowed <= 0:
        healthy, wanted = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
        detail = f"The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently"
        raise too_many_requests(
            "Cannot evict pod as it would violate the pod's disruption budget.",
            0,
            [{"reason": "DisruptionBudget", "message": detail}],
        )
    if dry_run:
        return
    disrupted = {**status.get("disruptedPods", {}), pod: rfc3339(store.clock.now())}
    spent = {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": disrupted}
    store.patch_status("poddisruptionbudgets.policy", budget["metadata"]["namespace"], name, spent)


def finalize_namespace(store: Store, name: str, body: Any) -> Object:
    """Set the finalizers in a namespace's spec; an empty, marked namespace is gone with the last one."""
    namespace = store.get("namespaces", "", name)
    spec = body.get("spec") if isinstance(body, dict) else None
    finalizers = (spec or {}).get("finalizers") or []
    updated = {**namespace, "spec": {**namespace.get("spec", {}), "finalizers": finalizers}}
    if not finalizers:
        updated["spec"].pop("finalizers")
    if "deletionTimestamp" in namespace["metadata"] and not finalizers and not namespace["metadata"].get("finalizers"):
        store.delete("namespaces", "", name)
        return updated
    return store.update("namespaces", updated)


def logs(store: Store, namespace: str, name: str, container: str, *, previous: bool, tail: int | None) -> str:
    """The log of a container that exists in the API only: the times of its life, one line each."""
    pod = store.get("pods", namespace, name)
    chosen = _container(pod, container)
    status = next(
        (
            each
            for field in ("containerStatuses", "initContainerStatuses")
            for each in pod.get("status", {}).get(field, [])
            if each.get("name") == chosen["name"]
        ),
        None,
    )
    if previous and (status is None or "terminated" not in status.get("lastState", {})):
        raise bad_request(f'previous terminated container "{chosen["name"]}" in pod "{name}" not found')
    state = (status or {}).get("lastState" if previous else "state", {})
    lines = _story(pod, chosen, state)
    if tail is not None:
        lines = lines[max(len(lines) - tail, 0) :]
    return "".join(f"{line}\n" for line in lines)


def _container(pod: Object, name: str) -> Object:
    spec = pod["spec"]
    everyone: list[Object] = [*spec.get("containers", []), *spec.get("initContainers", [])]
    if not name:
        if len(spec.get("containers", [])) > 1:
            listed = " ".join(each["name"] for each in spec["containers"])
            raise bad_request(
                f"a container name must be specified for pod {pod['metadata']['name']}, choose one of: [{listed}]"
            )
        return everyone[0]
    for each in everyone:
        if each["name"] == name:
            return each
    raise bad_request(f"container {name} is not valid for pod {pod['metadata']['name']}")


def _story(pod: Object, container: Object, state: Object) -> list[str]:
    if "waiting" in state or not state:
        if pod["spec"].get("nodeName") and "waiting" in state:
            reason = state["waiting"].get("reason", "ContainerCreating")
            raise bad_request(
                f'container "{container["name"]}" in pod "{pod["metadata"]["name"]}" is waiting to start: {reason}'
            )
        return []
    ended = state.get("terminated")
    started = (ended or state.get("running") or {}).get("startedAt", "")
    lines = [f"{started} {container['name']} started (image {container.get('image', '')}; nothing really runs here)"]
    if ended:
        lines.append(f"{ended.get('finishedAt', '')} {container['name']} exited with code {ended.get('exitCode', 0)}")
    return lines
