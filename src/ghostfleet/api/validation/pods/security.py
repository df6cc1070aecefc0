"""Security contexts of pods and containers, as far as the API server judges them."""

from __future__ import annotations

import re

from ghostfleet.api.validation.checks import Errors, Object, in_range, local_path, one_of
from ghostfleet.api.validation.structs import Layout, Shown, shown
from ghostfleet.core.errors import FieldError

__all__ = ["container_context", "pod_context"]

_CONTEXT: Layout = tuple(
    ("SELinuxOptions" if field == "seLinuxOptions" else field[0].upper() + field[1:], field, None)
    for field in (
        "capabilities",
        "privileged",
        "seLinuxOptions",
        "windowsOptions",
        "runAsUser",
        "runAsGroup",
        "runAsNonRoot",
        "readOnlyRootFilesystem",
        "allowPrivilegeEscalation",
        "procMount",
        "seccompProfile",
        "appArmorProfile",
    )
)
_MAX_ID = 2**31 - 1
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_SYSCTL_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = f"^({_SYSCTL_SEGMENT}[\\./])*{_SYSCTL_SEGMENT}$"
_SYSCTL_PATTERN = re.compile(_SYSCTL)
_SYSCTL_LIMIT = 253
_CHANGE_POLICIES = {
    "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
    "supplementalGroupsPolicy": ("Merge", "Strict"),
    "seLinuxChangePolicy": ("MountOption", "Recursive"),
}


def pod_context(errors: Errors, path: str, context: Object, spec: Object) -> None:
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        in_range(errors, f"{path}.{field}", context.get(field), 0, _MAX_ID)
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        in_range(errors, f"{path}.supplementalGroups[{index}]", group, 0, _MAX_ID)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(FieldError.invalid(f"{path}.shareProcessNamespace", True, why))
    _sysctls(errors, f"{path}.sysctls", context.get("sysctls") or [], spec)
    if "fsGroupChangePolicy" in context:
        _policy(errors, path, context, "fsGroupChangePolicy")
    _seccomp(errors, f"{path}.seccompProfile", context.get("seccompProfile"))
    _app_armor(errors, f"{path}.appArmorProfile", context.get("appArmorProfile"))
    for field in ("supplementalGroupsPolicy", "seLinuxChangePolicy"):
        _policy(errors, path, context, field)


def _policy(errors: Errors, path: str, context: Object, field: str) -> None:
    if field in context and context[field] not in _CHANGE_POLICIES[field]:
        errors.append(FieldError.unsupported(f"{path}.{field}", context[field], _CHANGE_POLICIES[field]))


def _sysctls(errors: Errors, path: str, sysctls: list[Object], spec: Object) -> None:
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        name, place = sysctl.get("name", ""), f"{path}[{index}].name"
        if not name:
            errors.append(FieldError.required(place))
        elif len(name) > _SYSCTL_LIMIT or not _SYSCTL_PATTERN.match(name):
            why = f"must have at most {_SYSCTL_LIMIT} characters and match regex {_SYSCTL}"
            errors.append(FieldError.invalid(place, name, why))
        elif name in seen:
            errors.append(FieldError.duplicate(place, name))
        if spec.get("hostNetwork") and name.startswith("net."):
            errors.append(FieldError.invalid(place, name, "may not be specified when 'hostNetwork' is true"))
        seen.add(name)


def container_context(errors: Errors, path: str, context: Object, *, shares_users: bool) -> None:
    for field in ("runAsUser", "runAsGroup"):
        in_range(errors, f"{path}.{field}", context.get(field), 0, _MAX_ID)
    if proc_mount := context.get("procMount"):
        one_of(errors, f"{path}.procMount", proc_mount, ("Default", "Unmasked"))
        if shares_users and proc_mount == "Unmasked":
            why = "`hostUsers` must be false to use `Unmasked`"
            errors.append(FieldError.invalid(f"{path}.procMount", proc_mount, why))
    _seccomp(errors, f"{path}.seccompProfile", context.get("seccompProfile"))
    if context.get("allowPrivilegeEscalation") is False:
        _no_escalation(errors, path, context)
    _app_armor(errors, f"{path}.appArmorProfile", context.get("appArmorProfile"))


def _no_escalation(errors: Errors, path: str, context: Object) -> None:
    if context.get("privileged"):
        why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        errors.append(Shown("Invalid value", path, shown(context, _CONTEXT), why))
    if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
        why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
        errors.append(Shown("Invalid value", path, shown(context, _CONTEXT), why))


def _seccomp(errors: Errors, path: str, profile: Object | None) -> None:
    if profile is None:
        return
    _profile_type(errors, path, profile, "seccompProfile")
    local = profile.get("localhostProfile")
    if profile.get("type") == "Localhost":
        if local is None:
            why = "must be set when seccomp type is Localhost"
            errors.append(FieldError.required(f"{path}.localhostProfile", why))
        else:
            local_path(errors, f"{path}.localhostProfile", local)
    elif local is not None:
        why = "can only be set when seccomp type is Localhost"
        errors.append(FieldError.invalid(f"{path}.localhostProfile", profile, why))


def _app_armor(errors: Errors, path: str, profile: Object | None) -> None:
    if profile is None:
        return
    _profile_type(errors, path, profile, "appArmorProfile")
    local = profile.get("localhostProfile")
    if profile.get("type") == "Localhost":
        if not (local or "").strip():
            why = "must be set when AppArmor type is Localhost"
            errors.append(FieldError.required(f"{path}.localhostProfile", why))
        elif local is not None and local != local.strip():
            errors.append(FieldError.invalid(f"{path}.localhostProfile", local, "must not be padded with whitespace"))
    elif local is not None and profile.get("type") in _PROFILES:
        why = "can only be set when AppArmor type is Localhost"
        errors.append(FieldError.invalid(f"{path}.localhostProfile", local, why))


def _profile_type(errors: Errors, path: str, profile: Object, field: str) -> None:
    sort = profile.get("type")
    if not sort:
        errors.append(FieldError.required(f"{path}.type", f"type is required when {field} is set"))
    elif sort not in _PROFILES:
        errors.append(FieldError.unsupported(f"{path}.type", sort, _PROFILES))
