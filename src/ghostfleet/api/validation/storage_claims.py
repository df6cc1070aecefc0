"""What a volume claim asks for; claims stand alone, in templates of stateful sets and in ephemeral volumes."""

from __future__ import annotations

from ghostfleet.api.validation.checks import Errors, Object, dns_subdomain, invalid, label_selector, one_of, required
from ghostfleet.api.validation.resources import amount, positive_quantity
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError

__all__ = ["ACCESS_MODES", "VOLUME_MODES", "access_modes", "claim_spec", "csi_driver_name"]

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
_DRIVER_NAME_LIMIT = 63


def csi_driver_name(errors: Errors, path: str, name: str) -> None:
    if not required(errors, path, name):
        return
    if len(name) > _DRIVER_NAME_LIMIT:
        errors.append(FieldError.too_long(path, _DRIVER_NAME_LIMIT))
    invalid(errors, path, name, names.is_dns1123_subdomain(name.lower()))


def access_modes(errors: Errors, path: str, modes: list[str], detail: str = "") -> None:
    required(errors, path, modes, detail)
    for mode in modes:
        if mode not in ACCESS_MODES:
            errors.append(FieldError.unsupported(path, mode, ACCESS_MODES))
    if "ReadWriteOncePod" in modes and any(mode != "ReadWriteOncePod" and mode in ACCESS_MODES for mode in modes):
        errors.append(FieldError.forbidden(path, "may not use ReadWriteOncePod with other access modes"))


def claim_spec(errors: Errors, path: str, spec: Object) -> None:
    modes = spec.get("accessModes") or []
    required(errors, f"{path}.accessModes", modes, "at least 1 access mode is required")
    label_selector(errors, f"{path}.selector", spec.get("selector"))
    if modes:
        access_modes(errors, f"{path}.accessModes", modes)
    _storage_request(errors, f"{path}.resources[storage]", (spec.get("resources") or {}).get("requests") or {})
    if storage_class := spec.get("storageClassName"):
        dns_subdomain(errors, f"{path}.storageClassName", storage_class)
    one_of(errors, f"{path}.volumeMode", spec.get("volumeMode"), VOLUME_MODES, needed=False)
    for source in ("dataSource", "dataSourceRef"):
        if source in spec:
            _data_source(errors, f"{path}.{source}", spec[source])
    if attributes_class := spec.get("volumeAttributesClassName"):
        dns_subdomain(errors, f"{path}.volumeAttributesClassName", attributes_class)


def _storage_request(errors: Errors, path: str, requests: Object) -> None:
    if "storage" not in requests:
        errors.append(FieldError.required(path))
    elif amount(requests["storage"]) <= 0:
        positive_quantity(errors, path, requests["storage"])


def _data_source(errors: Errors, path: str, source: Object) -> None:
    required(errors, f"{path}.name", source.get("name"))
    required(errors, f"{path}.kind", source.get("kind"))
    group = source.get("apiGroup") or ""
    if group:
        dns_subdomain(errors, f"{path}.apiGroup", group)
    elif source.get("kind") != "PersistentVolumeClaim":
        why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(FieldError.invalid(path, source.get("kind", ""), why))
    if namespace := source.get("namespace"):
        invalid(errors, f"{path}.namespace", namespace, names.is_dns1123_label(namespace))
