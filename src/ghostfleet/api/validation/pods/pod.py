"""Pods: what may be created, the little that may change afterwards, and what each subresource may change.

A pod's spec is nearly frozen. The exceptions are few: images, a shorter deadline, added tolerations, removed scheduling
gates and, while gated, tighter node selection. The subresources are its status, its containers for debugging, its size
and its binding to a node.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.api.podresources import service_class
from ghostfleet.api.validation.checks import (
    Errors,
    Object,
    dns_subdomain,
    immutable,
    in_range,
    ip_address,
    ip_version,
    qualified_name,
)
from ghostfleet.api.validation.pods.containers import trimmed_images
from ghostfleet.api.validation.pods.placement import tolerations
from ghostfleet.api.validation.pods.spec import pod_annotations, pod_spec
from ghostfleet.api.validation.structs import difference
from ghostfleet.core.errors import FieldError

__all__ = ["binding", "create", "ephemeral_containers", "resize", "status", "update"]

_MAX_INT32 = 2**31 - 1
_MIRROR = "kubernetes.io/config.mirror"
_MUTABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_SYSTEM_CONDITIONS = {"PodScheduled", "Ready", "Initialized"}


def create(errors: Errors, pod: Object) -> None:
    spec = pod.get("spec") or {}
    _by_itself(errors, pod)
    if spec.get("ephemeralContainers"):
        errors.append(FieldError.forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        why = "cannot be set until all schedulingGates have been cleared"
        errors.append(FieldError.forbidden("spec.nodeName", why))


def _by_itself(errors: Errors, pod: Object) -> None:
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    pod_annotations(errors, "metadata.annotations", metadata.get("annotations"), spec)
    pod_spec(errors, "spec", spec, metadata.get("name", ""), is_pod=True)
    if not spec.get("serviceAccountName"):
        _no_token_without_account(errors, spec)
    trimmed_images(errors, "spec.containers", spec.get("containers") or [])
    trimmed_images(errors, "spec.initContainers", spec.get("initContainers") or [])


def _no_token_without_account(errors: Errors, spec: Object) -> None:
    for index, volume in enumerate(spec.get("volumes") or ()):
        for at, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if "serviceAccountToken" in source:
                place = f"spec.volumes[{index}].projected.sources[{at}].serviceAccountToken"
                why = "must not be specified when serviceAccountName is not set"
                errors.append(FieldError.forbidden(place, why))


# Updates


def update(errors: Errors, new: Object, old: Object) -> None:
    old_spec, new_spec = old.get("spec") or {}, new.get("spec") or {}
    _annotation_update(errors, new, old)
    if new_spec == old_spec:
        return
    _by_itself(errors, new)
    for field in ("containers", "initContainers"):
        before, after = old_spec.get(field) or [], new_spec.get(field) or []
        if len(before) != len(after):
            errors.append(FieldError.forbidden(f"spec.{field}", "pod updates may not add or remove containers"))
            return
    _deadline_update(errors, new_spec.get("activeDeadlineSeconds"), old_spec.get("activeDeadlineSeconds"))
    _toleration_update(errors, new_spec.get("tolerations") or [], old_spec.get("tolerations") or [])
    _gate_update(errors, new_spec.get("schedulingGates") or [], old_spec.get("schedulingGates") or [])
    unexplained = _without_allowed_changes(errors, new_spec, old_spec)
    if unexplained != old_spec:
        why = f"pod updates may not change fields other than {_MUTABLE}\n{difference(old_spec, unexplained)}"
        errors.append(FieldError.forbidden("spec", why))


def _annotation_update(errors: Errors, new: Object, old: Object) -> None:
    before = (old.get("metadata") or {}).get("annotations") or {}
    after = (new.get("metadata") or {}).get("annotations") or {}
    if before.get(_MIRROR) == after.get(_MIRROR):
        return
    verb = "remove or update" if _MIRROR in before else "add"
    place = f"metadata.annotations[{_MIRROR}]"
    errors.append(FieldError.forbidden(place, f"may not {verb} mirror pod annotation"))


def _deadline_update(errors: Errors, new: int | None, old: int | None) -> None:
    path = "spec.activeDeadlineSeconds"
    if new is None:
        if old is not None:
            errors.append(FieldError.invalid(path, None, "must not update from a positive integer to nil value"))
        return
    in_range(errors, path, new, 0, _MAX_INT32)
    if old is not None and old < new:
        errors.append(FieldError.invalid(path, new, "must be less than or equal to previous value"))


def _toleration_update(errors: Errors, new: list[Object], old: list[Object]) -> None:
    kept = [_but_for_seconds(toleration) for toleration in new]
    for toleration in old:
        if _but_for_seconds(toleration) not in kept:
            why = "existing toleration can not be modified except its tolerationSeconds"
            errors.append(FieldError.forbidden("spec.tolerations", why))
    tolerations(errors, "spec.tolerations", new)


def _but_for_seconds(toleration: Object) -> Object:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _gate_update(errors: Errors, new: list[Object], old: list[Object]) -> None:
    known = {gate.get("name") for gate in old}
    for index, gate in enumerate(new):
        if gate.get("name") not in known:
            why = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            errors.append(FieldError.forbidden(f"spec.schedulingGates[{index}].name", why))


def _without_allowed_changes(errors: Errors, new: Object, old: Object) -> Object:
    """The new spec with everything put back that may change; what still differs may not."""
    spec = dict(new)
    for field in ("containers", "initContainers"):
        if field in new and field in old:
            spec[field] = [
                {**after, "image": before.get("image")} for after, before in zip(new[field], old[field], strict=True)
            ]
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _put_back(spec, old, field)
    if old.get("terminationGracePeriodSeconds", 0) < 0 and new.get("terminationGracePeriodSeconds") == 1:
        _put_back(spec, old, "terminationGracePeriodSeconds")
    if old.get("schedulingGates"):
        _gated_changes(errors, spec, old)
    return spec


def _put_back(spec: Object, old: Object, field: str) -> None:
    spec.pop(field, None)
    if field in old:
        spec[field] = old[field]


def _gated_changes(errors: Errors, spec: Object, old: Object) -> None:
    """While gated, node selection may only get tighter."""
    before, after = old.get("nodeSelector") or {}, spec.get("nodeSelector") or {}
    for key, value in before.items():
        if after.get(key) != value:
            why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            errors.append(FieldError.invalid("spec.nodeSelector", after, why))
    _put_back(spec, old, "nodeSelector")
    old_nodes = (old.get("affinity") or {}).get("nodeAffinity")
    new_nodes = (spec.get("affinity") or {}).get("nodeAffinity")
    if old_nodes == new_nodes:
        return
    _tighter_node_affinity(errors, new_nodes or {}, old_nodes or {})
    affinity = {key: value for key, value in (spec.get("affinity") or {}).items() if key != "nodeAffinity"}
    if old_nodes is not None:
        affinity["nodeAffinity"] = old_nodes
    spec["affinity"] = affinity
    if not affinity and "affinity" not in old:
        del spec["affinity"]


def _tighter_node_affinity(errors: Errors, new: Object, old: Object) -> None:
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    before = (old.get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    after = (new.get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    if before and len(before) != len(after):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        errors.append(FieldError.invalid(path, after, why))
        return
    for index, (old_term, new_term) in enumerate(zip(before, after, strict=False)):
        if not _only_adds(new_term, old_term):
            why = "only additions are allowed (no mutations or deletions)"
            errors.append(FieldError.invalid(f"{path}[{index}]", new_term, why))


def _only_adds(new: Object, old: Object) -> bool:
    parts = ("matchExpressions", "matchFields")
    if not any(old.get(part) for part in parts):
        return not any(new.get(part) for part in parts)
    return all((new.get(part) or [])[: len(old.get(part) or [])] == (old.get(part) or []) for part in parts)


def status(errors: Errors, new: Object, old: Object) -> None:
    found, before = new.get("status") or {}, old.get("status") or {}
    for index, condition in enumerate(found.get("conditions") or ()):
        place = f"status.conditions[{index}]"
        if condition.get("observedGeneration", 0) < 0:
            generation = condition["observedGeneration"]
            errors.append(
                FieldError.invalid(f"{place}.observedGeneration", generation, "must be a non-negative integer")
            )
        if condition.get("type") not in _SYSTEM_CONDITIONS:
            qualified_name(errors, f"{place}.Type", condition.get("type", ""))
    nominated = found.get("nominatedNodeName", "")
    if nominated and nominated != before.get("nominatedNodeName"):
        dns_subdomain(errors, "status.nominatedNodeName", nominated)
        if (old.get("spec") or {}).get("nodeName"):
            why = "may not be set on pods that are already bound to a node"
            errors.append(FieldError.forbidden("status.nominatedNodeName", why))
    immutable(errors, "status.qosClass", found.get("qosClass", ""), before.get("qosClass", ""))
    spec = old.get("spec") or {}
    for sort in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        _no_resurrection(errors, f"status.{sort}", found.get(sort) or [], before.get(sort) or [], sort, spec)
    _addresses(errors, found)


def _no_resurrection(errors: Errors, path: str, new: list[Object], old: list[Object], sort: str, spec: Object) -> None:
    """A container that has ended for good stays ended."""
    if not old or new is old:
        return
    by_name = {entry.get("name"): entry for entry in new}
    for index, entry in enumerate(old):
        ended = (entry.get("state") or {}).get("terminated")
        after = by_name.get(entry.get("name"))
        if ended is None or after is None or "terminated" in (after.get("state") or {}):
            continue
        if sort == "ephemeralContainerStatuses" or not _may_restart(entry.get("name"), ended, sort, spec):
            why = "may not be transitioned to non-terminated state"
            errors.append(FieldError.forbidden(f"{path}[{index}].state", why))


def _may_restart(name: Any, ended: Object, sort: str, spec: Object) -> bool:
    field = "containers" if sort == "containerStatuses" else "initContainers"
    container: Object = next((one for one in spec.get(field) or () if one.get("name") == name), {})
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes") or {}
        listed = ended.get("exitCode", 0) in (codes.get("values") or ())
        if listed == (codes.get("operator") == "In"):
            return True
    policy: str = container.get("restartPolicy") or spec.get("restartPolicy", "Always")
    return policy == "Always" or (policy == "OnFailure" and ended.get("exitCode", 0) != 0)


def _addresses(errors: Errors, found: Object) -> None:
    for field in ("podIPs", "hostIPs"):
        if not found.get(field):
            continue
        addresses = [entry.get("ip", "") for entry in found[field]]
        if field == "hostIPs" and addresses[0] != found.get("hostIP", ""):
            errors.append(FieldError.invalid("status.hostIPs[0].ip", addresses[0], "must be equal to `hostIP`"))
        for index, address in enumerate(addresses):
            ip_address(errors, f"status.{field}[{index}]", address)
        if len({ip_version(address) for address in addresses}) != len(addresses):
            why = "may specify no more than one IP for each IP family"
            errors.append(FieldError.invalid(f"status.{field}", found[field], why))


def ephemeral_containers(errors: Errors, new: Object, old: Object) -> None:
    _by_itself(errors, new)
    path = "spec.ephemeralContainers"
    after = {one.get("name"): one for one in (new.get("spec") or {}).get("ephemeralContainers") or ()}
    for container in (old.get("spec") or {}).get("ephemeralContainers") or ():
        name = container.get("name")
        if name not in after:
            errors.append(FieldError.forbidden(path, f'existing ephemeral containers "{name}" may not be removed\n'))
        elif after[name] != container:
            why = f'existing ephemeral containers "{name}" may not be changed\n{difference(container, after[name])}'
            errors.append(FieldError.forbidden(path, why))


def resize(errors: Errors, new: Object, old: Object) -> None:
    _by_itself(errors, new)
    before, after = old.get("spec") or {}, new.get("spec") or {}
    service = service_class(before)
    if service_class(after) != service:
        errors.append(FieldError.invalid("spec", service, "Pod QOS Class may not change as a result of resizing"))
    munged = dict(after)
    for field in ("containers", "initContainers"):
        old_list, new_list = before.get(field) or [], after.get(field) or []
        if len(old_list) != len(new_list):
            errors.append(FieldError.forbidden(f"spec.{field}", f"{field} may not be added or removed on resize"))
            return
        for index, (was, now) in enumerate(zip(old_list, new_list, strict=True)):
            if was.get("name") != now.get("name"):
                why = f"{field} may not be renamed or reordered on resize"
                errors.append(FieldError.forbidden(f"spec.{field}[{index}].name", why))
                return
            _nothing_removed(errors, f"spec.{field}[{index}].resources", now, was)
        if field in after:
            munged[field] = [_resized_back(now, was) for now, was in zip(new_list, old_list, strict=True)]
    if munged != before:
        errors.append(FieldError.forbidden("spec", "only cpu and memory resources are mutable"))


def _nothing_removed(errors: Errors, path: str, now: Object, was: Object) -> None:
    for side in ("requests", "limits"):
        before = (was.get("resources") or {}).get(side) or {}
        after = (now.get("resources") or {}).get(side) or {}
        if before.keys() - after.keys():
            errors.append(FieldError.forbidden(f"{path}.{side}", f"resource {side} cannot be removed"))


def _resized_back(now: Object, was: Object) -> Object:
    """The container with its old cpu and memory: what else differs is not a resize."""
    resources = dict(now.get("resources") or {})
    for side in ("requests", "limits"):
        before = (was.get("resources") or {}).get(side) or {}
        kept = {name: amount for name, amount in (resources.get(side) or {}).items() if name not in ("cpu", "memory")}
        kept |= {name: before[name] for name in ("cpu", "memory") if name in before}
        resources.pop(side, None)
        if kept or side in (was.get("resources") or {}):
            resources[side] = kept
    return {**now, "resources": resources} if "resources" in now or resources else now


def binding(errors: Errors, found: Object) -> None:
    target = found.get("target") or {}
    kind = target.get("kind", "")
    if kind not in ("", "Node"):
        errors.append(FieldError.unsupported("target.kind", kind, ("Node", "<empty>")))
    if not target.get("name"):
        errors.append(FieldError.required("target.name"))
