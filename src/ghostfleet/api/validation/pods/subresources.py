"""Subresources of pods: its status, its containers for debugging, its size and its binding to a node."""

from __future__ import annotations

from typing import Any

from ghostfleet.api.defaults.podlevel import service_class
from ghostfleet.api.validation.checks import (
    Errors,
    Object,
    dns_subdomain,
    immutable,
    ip_address,
    ip_version,
    qualified_name,
)
from ghostfleet.api.validation.pods.pod import by_itself
from ghostfleet.api.validation.structs import difference
from ghostfleet.core.errors import FieldError

__all__ = ["binding", "ephemeral_containers", "resize", "status"]

_SYSTEM_CONDITIONS = {"PodScheduled", "Ready", "Initialized"}


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
    by_itself(errors, new)
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
    by_itself(errors, new)
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
