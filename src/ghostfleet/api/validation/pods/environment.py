"""Environment variables of a container, and the references they and downward API volumes take values from."""

from __future__ import annotations

from collections.abc import Sequence

from ghostfleet.api.validation.checks import (
    Errors,
    Object,
    dns_label,
    dns_subdomain,
    env_name,
    invalid,
    no_backsteps,
    qualified_name,
    required,
)
from ghostfleet.api.validation.resources import amount
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError
from ghostfleet.core.quantity import canonical

__all__ = ["env", "env_from", "field_ref", "resource_ref"]

_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
#: What the downward API knows at all, whether or not it may be used in a given place.
_KNOWN_FIELDS = {
    *_FIELDS,
    "metadata.annotations",
    "metadata.labels",
    "spec.restartPolicy",
    "spec.schedulerName",
    "status.phase",
}
_RESOURCES = tuple(
    f"{side}.{resource}" for side in ("limits", "requests") for resource in ("cpu", "ephemeral-storage", "memory")
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_SIZES = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def env(errors: Errors, path: str, variables: list[Object]) -> None:
    for index, variable in enumerate(variables):
        name = variable.get("name")
        if name:
            env_name(errors, f"{path}[{index}].name", name)
        else:
            errors.append(FieldError.required(f"{path}[{index}].name"))
        if "valueFrom" in variable:
            _value_from(errors, f"{path}[{index}].valueFrom", variable["valueFrom"], variable.get("value", ""))


def _value_from(errors: Errors, path: str, source: Object, value: str) -> None:
    if "fieldRef" in source:
        field_ref(errors, f"{path}.fieldRef", source["fieldRef"], _FIELDS)
    if "resourceFieldRef" in source:
        resource_ref(errors, f"{path}.resourceFieldRef", source["resourceFieldRef"], in_volume=False)
    for reference in ("configMapKeyRef", "secretKeyRef"):
        if reference in source:
            _key_ref(errors, f"{path}.{reference}", source[reference])
    if "fileKeyRef" in source:
        _file_key(errors, f"{path}.fileKeyRef", source["fileKeyRef"])
    count = sum(field in source for field in _SOURCES)
    if count == 0:
        why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        errors.append(FieldError.invalid(path, "", why))
    elif value:
        errors.append(FieldError.invalid(path, "", "may not be specified when `value` is not empty"))
    elif count > 1:
        errors.append(FieldError.invalid(path, "", "may not have more than one field specified at a time"))


def field_ref(errors: Errors, path: str, reference: Object, allowed: Sequence[str]) -> None:
    for field in ("apiVersion", "fieldPath"):
        if not required(errors, f"{path}.{field}", reference.get(field)):
            return
    field_path = reference["fieldPath"]
    base, bracket, rest = field_path.partition("['")
    if bracket and rest.endswith("']"):
        _subscript(errors, path, base, rest[:-2])
        return
    if reference["apiVersion"] != "v1":
        why = f"error converting fieldPath: unsupported pod version: {reference['apiVersion']}"
        errors.append(FieldError.invalid(f"{path}.fieldPath", field_path, why))
    elif field_path not in _KNOWN_FIELDS:
        why = f"error converting fieldPath: field label not supported: {field_path}"
        errors.append(FieldError.invalid(f"{path}.fieldPath", field_path, why))
    elif field_path not in allowed:
        errors.append(FieldError.unsupported(f"{path}.fieldPath", field_path, allowed))


def _subscript(errors: Errors, path: str, base: str, key: str) -> None:
    if base == "metadata.annotations":
        qualified_name(errors, path, key.lower())
    elif base == "metadata.labels":
        qualified_name(errors, path, key)
    else:
        why = f"error converting fieldPath: field label does not support subscript: {base}['{key}']"
        errors.append(FieldError.invalid(f"{path}.fieldPath", f"{base}['{key}']", why))


def resource_ref(errors: Errors, path: str, reference: Object, *, in_volume: bool) -> None:
    resource = reference.get("resource", "")
    if in_volume and not reference.get("containerName"):
        errors.append(FieldError.required(f"{path}.containerName"))
    elif not resource:
        errors.append(FieldError.required(f"{path}.resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        errors.append(FieldError.unsupported(f"{path}.resource", resource, _RESOURCES))
    _divisor(errors, path, resource, reference.get("divisor", "0"))


def _divisor(errors: Errors, path: str, resource: str, divisor: str) -> None:
    if amount(divisor) == 0:
        return
    text = canonical(divisor)
    name = resource.partition(".")[2]
    if name == "cpu":
        if text not in ("1m", "1"):
            why = "only divisor's values 1m and 1 are supported with the cpu resource"
            errors.append(FieldError.invalid(f"{path}.divisor", resource, why))
    elif text not in _SIZES.split(", "):
        words = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(name, "hugepages")
        why = f"only divisor's values {_SIZES} are supported with the {words} resource"
        errors.append(FieldError.invalid(f"{path}.divisor", resource, why))


def _key_ref(errors: Errors, path: str, reference: Object) -> None:
    dns_subdomain(errors, f"{path}.name", reference.get("name", ""))
    key = reference.get("key", "")
    if required(errors, f"{path}.key", key):
        invalid(errors, f"{path}.key", key, names.is_config_map_key(key))


def _file_key(errors: Errors, path: str, reference: Object) -> None:
    if required(errors, f"{path}.key", reference.get("key")):
        env_name(errors, f"{path}.key", reference["key"])
    if required(errors, f"{path}.volumeName", reference.get("volumeName")):
        dns_label(errors, f"{path}.volumeName", reference["volumeName"])
    if required(errors, f"{path}.path", reference.get("path")):
        no_backsteps(errors, f"{path}.path", reference["path"])


def env_from(errors: Errors, path: str, sources: list[Object]) -> None:
    for index, source in enumerate(sources):
        place = f"{path}[{index}]"
        if prefix := source.get("prefix"):
            env_name(errors, f"{place}.prefix", prefix)
        references = [field for field in ("configMapRef", "secretRef") if field in source]
        for field in references:
            if required(errors, f"{place}.{field}.name", source[field].get("name")):
                dns_subdomain(errors, f"{place}.{field}.name", source[field]["name"])
        if not references:
            errors.append(FieldError.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(references) > 1:
            errors.append(FieldError.invalid(path, "", "may not have more than one field specified at a time"))
