"""Preparation of pods: what the registry does to a pod when it is made, and what each of its subresources may change.

A new pod is Pending and has its service class. Label keys that its affinities and spread constraints are to match
become expressions over the pod's own labels. Scheduling gates are shown as a condition.
"""

from __future__ import annotations

from collections.abc import Iterator

from ghostfleet.api.defaults.filling import each, replaced, rule, without
from ghostfleet.api.defaults.podlevel import service_class
from ghostfleet.core.changes import Object

__all__ = ["keep_old_observations", "only_ephemeral_containers", "only_resources", "prepare_pod", "stamp_conditions"]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_GATED: Object = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "lastTransitionTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


def prepare_pod(pod: Object) -> Object:
    """A new pod, with the status it starts with."""
    spec: Object = pod["spec"]
    given = (pod.get("status") or {}).get("qosClass")
    status: Object = {"phase": "Pending", "qosClass": given or service_class(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [_GATED]
    if any("matchLabelKeys" in term or "mismatchLabelKeys" in term for term in _terms(spec)):
        spec = _match_own_labels(spec, (pod.get("metadata") or {}).get("labels") or {})
    return {**pod, "spec": spec, "status": status}


def stamp_conditions(pod: Object, now: str) -> Object:
    """The new pod with the time of its creation, `now`, in the conditions it was born with."""
    conditions = pod["status"].get("conditions")
    if not conditions:
        return pod
    stamped = each(rule(absent={"lastTransitionTime": now}))(conditions)
    return {**pod, "status": {**pod["status"], "conditions": stamped}}


def _terms(spec: Object) -> Iterator[Object]:
    """Everything in the spec that selects other pods by their labels."""
    yield from spec.get("topologySpreadConstraints") or ()
    affinity = spec.get("affinity") or {}
    for sort in (affinity.get("podAffinity"), affinity.get("podAntiAffinity")):
        if sort:
            yield from sort.get(_REQUIRED) or ()
            yield from (preferred.get("podAffinityTerm") or {} for preferred in sort.get(_PREFERRED) or ())


def _match_own_labels(spec: Object, labels: dict[str, str]) -> Object:
    def matching(term: Object) -> Object:
        selector = term.get("labelSelector")
        if selector is None:
            return term
        more = [
            {"key": key, "operator": operator, "values": [labels[key]]}
            for keys, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
            for key in term.get(keys) or ()
            if key in labels
        ]
        if not more:
            return term
        expressions = [*(selector.get("matchExpressions") or ()), *more]
        return {**term, "labelSelector": {**selector, "matchExpressions": expressions}}

    terms = rule(parts={_REQUIRED: each(matching), _PREFERRED: each(rule(parts={"podAffinityTerm": matching}))})
    affinities = rule(parts={"podAffinity": terms, "podAntiAffinity": terms})
    return rule(parts={"affinity": affinities, "topologySpreadConstraints": each(matching)})(spec)


def keep_old_observations(old: Object, new: Object) -> Object:
    """A pod whose status is written: its class, and the generations it was observed at, are not forgotten."""
    before: Object = old.get("status") or {}
    status: Object = new.get("status") or {}
    for key in ("qosClass", "observedGeneration"):
        if not status.get(key) and before.get(key):
            status = {**status, key: before[key]}
    conditions = status.get("conditions")
    if not conditions or conditions is before.get("conditions"):
        return replaced(new, "status", status)
    known: dict[str, list[int]] = {}
    for condition in before.get("conditions") or ():
        known.setdefault(condition.get("type", ""), []).append(condition.get("observedGeneration") or 0)

    def observed(condition: Object) -> Object:
        generations = known.get(condition.get("type", ""))
        generation = generations.pop(0) if generations else 0
        if condition.get("observedGeneration") or not generation:
            return condition
        return {**condition, "observedGeneration": generation}

    if known:
        status = replaced(status, "conditions", each(observed)(conditions))
    return replaced(new, "status", status)


def only_ephemeral_containers(old: Object, new: Object) -> Object:
    """The spec of `old`, with the ephemeral containers of `new`."""
    return replaced(old["spec"], "ephemeralContainers", new["spec"].get("ephemeralContainers"))


def only_resources(old: Object, new: Object) -> Object:
    """The spec of `old`, with the resources and resize policies of `new`.

    Containers that were added, removed, moved or renamed are left in, for validation to refuse.
    """
    before: Object = old["spec"]
    spec: Object = new["spec"]
    resized = replaced(before, "resources", spec.get("resources"))
    for key in ("containers", "initContainers"):
        containers, given = before.get(key) or [], spec.get(key) or []
        if [one.get("name") for one in containers] != [one.get("name") for one in given]:
            return spec
        if given:
            resized = replaced(resized, key, [_resized(one, to) for one, to in zip(containers, given, strict=True)])
    return resized


def _resized(container: Object, given: Object) -> Object:
    kept = without(container, "resources", "resizePolicy")
    return kept | {key: given[key] for key in ("resources", "resizePolicy") if given.get(key) is not None}
