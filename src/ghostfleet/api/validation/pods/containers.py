"""Containers of a pod: the regular ones, the ones that run before them, and the ones added for debugging.

All sorts share most rules; a *scope* carries what they need to know of the pod around them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ghostfleet.api.validation.checks import (
    Errors,
    Object,
    dns_label,
    local_path,
    no_backsteps,
    one_of,
    port_name,
    port_number,
    required,
)
from ghostfleet.api.validation.pods.environment import env, env_from
from ghostfleet.api.validation.pods.handlers import lifecycle, probes
from ghostfleet.api.validation.pods.security import container_context
from ghostfleet.api.validation.resources import requirements
from ghostfleet.core.errors import FieldError

__all__ = ["PROTOCOLS", "PULL_POLICIES", "PodScope", "containers", "ephemeral_containers", "init_containers"]

PROTOCOLS = ("SCTP", "TCP", "UDP")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_PROBES = frozenset(("livenessProbe", "readinessProbe", "startupProbe"))
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_NOT_FOR_EPHEMERAL = (
    "ports",
    "resources",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "restartPolicy",
    "restartPolicyRules",
    "resizePolicy",
)
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_ONLY_SIDECARS = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")


@dataclass(slots=True)
class PodScope:
    """What a container's rules need to know of its pod."""

    volumes: dict[str, Object]
    claim_names: set[str]
    restart_policy: str
    grace: int | None
    shares_users: bool
    os_name: str


def containers(errors: Errors, path: str, found: list[Object], scope: PodScope) -> None:
    if not required(errors, path, found):
        return
    seen: set[str] = set()
    for index, container in enumerate(found):
        place = f"{path}[{index}]"
        _common(errors, place, container, scope)
        name = container.get("name", "")
        if name in seen:
            errors.append(FieldError.duplicate(f"{place}.name", name))
        seen.add(name)
        _hooks_and_probes(errors, place, container, scope)
        if "restartPolicy" in container or "restartPolicyRules" in container:
            _restart_rules(errors, place, container)
    _host_ports(errors, path, enumerate(found))


def init_containers(errors: Errors, path: str, found: list[Object], regular: list[Object], scope: PodScope) -> None:
    seen = {container.get("name", "") for container in regular}
    for index, container in enumerate(found):
        place = f"{path}[{index}]"
        _common(errors, place, container, scope)
        if "restartPolicy" in container or "restartPolicyRules" in container:
            _restart_rules(errors, place, container)
        name = container.get("name", "")
        if name in seen:
            errors.append(FieldError.duplicate(f"{place}.name", name))
        elif name:
            seen.add(name)
        _host_ports(errors, path, [(0, container)])
        if container.get("restartPolicy") == "Always":
            _hooks_and_probes(errors, place, container, scope)
            continue
        for field in _ONLY_SIDECARS:
            if field in container:
                why = "may not be set for init containers without restartPolicy=Always"
                errors.append(FieldError.forbidden(f"{place}.{field}", why))


def ephemeral_containers(
    errors: Errors, path: str, found: list[Object], others: Iterable[Object], scope: PodScope
) -> None:
    targets = {container.get("name", "") for container in others}
    seen = set(targets)
    for index, container in enumerate(found):
        place = f"{path}[{index}]"
        _common(errors, place, container, scope)
        _trimmed_image(errors, place, container)
        name = container.get("name", "")
        if name in seen:
            errors.append(FieldError.duplicate(f"{place}.name", name))
        seen.add(name)
        target = container.get("targetContainerName", "")
        if target and target not in targets:
            errors.append(FieldError.not_found(f"{place}.targetContainerName", target))
        for field in _NOT_FOR_EPHEMERAL:
            if container.get(field):
                errors.append(FieldError.forbidden(f"{place}.{field}", "cannot be set for an Ephemeral Container"))
        for at, mount in enumerate(container.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    where = f"{place}.volumeMounts[{at}].{field}"
                    errors.append(FieldError.forbidden(where, "cannot be set for an Ephemeral Container"))


def trimmed_images(errors: Errors, path: str, found: list[Object]) -> None:
    """Templates may hold any image text, pods may not."""
    for index, container in enumerate(found):
        _trimmed_image(errors, f"{path}[{index}]", container)


def _trimmed_image(errors: Errors, path: str, container: Object) -> None:
    image = container.get("image", "")
    if image != image.strip():
        errors.append(FieldError.invalid(f"{path}.image", image, "must not have leading or trailing whitespace"))


def _common(errors: Errors, path: str, container: Object, scope: PodScope) -> None:
    name = container.get("name", "")
    if required(errors, f"{path}.name", name):
        dns_label(errors, f"{path}.name", name)
    if not container.get("image"):
        errors.append(FieldError.required(f"{path}.image"))
    one_of(errors, f"{path}.terminationMessagePolicy", container.get("terminationMessagePolicy", ""), _MESSAGE_POLICIES)
    if ports := container.get("ports"):
        _ports(errors, f"{path}.ports", ports)
    if variables := container.get("env"):
        env(errors, f"{path}.env", variables)
    if sources := container.get("envFrom"):
        env_from(errors, f"{path}.envFrom", sources)
    mounts, devices = container.get("volumeMounts"), container.get("volumeDevices")
    if mounts:
        _mounts(errors, f"{path}.volumeMounts", mounts, devices or [], container, scope.volumes)
    if devices:
        _devices(errors, f"{path}.volumeDevices", devices, mounts or [], scope.volumes)
    one_of(errors, f"{path}.imagePullPolicy", container.get("imagePullPolicy", ""), PULL_POLICIES)
    if resources := container.get("resources"):
        requirements(errors, f"{path}.resources", resources, scope.claim_names)
    if policies := container.get("resizePolicy"):
        _resize_policies(errors, f"{path}.resizePolicy", policies, scope.restart_policy)
    if context := container.get("securityContext"):
        container_context(errors, f"{path}.securityContext", context, shares_users=scope.shares_users)


def _hooks_and_probes(errors: Errors, path: str, container: Object, scope: PodScope) -> None:
    if hooks := container.get("lifecycle"):
        lifecycle(errors, f"{path}.lifecycle", hooks, scope.grace, os_name=scope.os_name)
    if not _PROBES.isdisjoint(container):
        probes(errors, path, container)


def _ports(errors: Errors, path: str, ports: list[Object]) -> None:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        place = f"{path}[{index}]"
        if name := port.get("name"):
            before = len(errors)
            port_name(errors, f"{place}.name", name)
            if name in seen:
                errors.append(FieldError.duplicate(f"{place}.name", name))
            elif len(errors) == before:
                seen.add(name)
        if number := port.get("containerPort"):
            port_number(errors, f"{place}.containerPort", number)
        else:
            errors.append(FieldError.required(f"{place}.containerPort"))
        if host_port := port.get("hostPort"):
            port_number(errors, f"{place}.hostPort", host_port)
        one_of(errors, f"{place}.protocol", port.get("protocol", ""), PROTOCOLS)


def _host_ports(errors: Errors, path: str, found: Iterable[tuple[int, Object]]) -> None:
    taken: set[str] = set()
    for index, container in found:
        for at, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in taken:
                errors.append(FieldError.duplicate(f"{path}[{index}].ports[{at}].hostPort", key))
            taken.add(key)


def _mounts(
    errors: Errors,
    path: str,
    mounts: list[Object],
    devices: list[Object],
    container: Object,
    volumes: dict[str, Object],
) -> None:
    device_names = {device.get("name") for device in devices}
    device_paths = {device.get("devicePath") for device in devices}
    taken: set[str] = set()
    for index, mount in enumerate(mounts):
        name, target = mount.get("name", ""), mount.get("mountPath", "")
        if name in volumes and target and target not in taken and len(mount) == 2 and not devices:
            taken.add(target)
            continue
        place = f"{path}[{index}]"
        required(errors, f"{place}.name", name)
        if name not in volumes:
            errors.append(FieldError.not_found(f"{place}.name", name))
        required(errors, f"{place}.mountPath", target)
        if target in taken:
            errors.append(FieldError.invalid(f"{place}.mountPath", target, "must be unique"))
        taken.add(target)
        if name in device_names:
            errors.append(FieldError.invalid(f"{place}.name", name, "must not already exist in volumeDevices"))
        if target in device_paths:
            why = "must not already exist as a path in volumeDevices"
            errors.append(FieldError.invalid(f"{place}.mountPath", target, why))
        if len(mount) > 2:
            _mount_options(errors, path, place, mount, container)


def _mount_options(errors: Errors, path: str, place: str, mount: Object, container: Object) -> None:
    if sub_path := mount.get("subPath"):
        local_path(errors, f"{path}.subPath", sub_path)
    if expression := mount.get("subPathExpr"):
        if sub_path:
            why = "subPathExpr and subPath are mutually exclusive"
            errors.append(FieldError.invalid(f"{place}.subPathExpr", expression, why))
        local_path(errors, f"{path}.subPathExpr", expression)
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        if propagation not in _PROPAGATIONS:
            errors.append(FieldError.unsupported(f"{path}.mountPropagation", propagation, _PROPAGATIONS))
        privileged = (container.get("securityContext") or {}).get("privileged")
        if propagation == "Bidirectional" and not privileged:
            why = "Bidirectional mount propagation is available only to privileged containers"
            errors.append(FieldError.forbidden(f"{path}.mountPropagation", why))
    if mount.get("recursiveReadOnly") in ("Enabled", "IfPossible") and not mount.get("readOnly"):
        why = "may only be specified when readOnly is true"
        errors.append(FieldError.forbidden(f"{path}.recursiveReadOnly", why))


def _devices(
    errors: Errors, path: str, devices: list[Object], mounts: list[Object], volumes: dict[str, Object]
) -> None:
    mount_names = {mount.get("name") for mount in mounts}
    mount_paths = {mount.get("mountPath") for mount in mounts}
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(devices):
        place, name, target = f"{path}[{index}]", device.get("name", ""), device.get("devicePath", "")

        def wrong(field: str, value: Any, why: str, place: str = place) -> None:
            errors.append(FieldError.invalid(f"{place}.{field}", value, why))

        required(errors, f"{place}.name", name)
        if name in names:
            wrong("name", name, "must be unique")
        volume = volumes.get(name)
        if volume is None:
            errors.append(FieldError.not_found(f"{place}.name", name))
        elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
            wrong("name", name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode")
        required(errors, f"{place}.devicePath", target)
        if target in paths:
            wrong("devicePath", target, "must be unique")
        backsteps: Errors = []
        no_backsteps(backsteps, path, target)
        if backsteps:
            wrong("devicePath", target, "can not contain backsteps ('..')")
        if name in mount_names:
            wrong("name", name, "must not already exist in volumeMounts")
        if target in mount_paths:
            wrong("devicePath", target, "must not already exist as a path in volumeMounts")
        names.add(name)
        paths.add(target)


def _resize_policies(errors: Errors, path: str, policies: list[Object], restart_policy: str) -> None:
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        resource, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if resource in seen:
            errors.append(FieldError.duplicate(f"{path}[{index}]", resource))
        seen.add(resource)
        one_of(errors, path, resource, ("cpu", "memory"))
        one_of(errors, path, restart, ("NotRequired", "RestartContainer"))
        if restart_policy == "Never" and restart != "NotRequired":
            why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.append(FieldError.invalid(path, restart, why))


def _restart_rules(errors: Errors, path: str, container: Object) -> None:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    if policy is None:
        if rules:
            why = "must specify restartPolicy when restart rules are used"
            errors.append(FieldError.required(f"{path}.restartPolicy", why))
    elif policy not in _RESTART_POLICIES:
        errors.append(FieldError.unsupported(f"{path}.restartPolicy", policy, _RESTART_POLICIES))
    if len(rules) > 20:
        errors.append(FieldError.too_many(f"{path}.restartPolicyRules", len(rules), 20))
    for index, rule in enumerate(rules):
        place, action = f"{path}.restartPolicyRules[{index}]", rule.get("action", "")
        if action not in ("Restart", "RestartAllContainers"):
            errors.append(FieldError.unsupported(f"{place}.action", action, ("Restart", "RestartAllContainers")))
        codes = rule.get("exitCodes")
        if codes is None:
            errors.append(FieldError.required(f"{place}.exitCodes", "must be specified"))
        elif codes.get("operator") not in ("In", "NotIn"):
            operator = codes.get("operator", "")
            errors.append(FieldError.unsupported(f"{place}.exitCodes.operator", operator, ("In", "NotIn")))
