"""Config maps, secrets and service accounts: data that pods read."""

from __future__ import annotations

import base64

import orjson

from ghostfleet.api.validation.checks import Errors, Object, immutable, invalid, required
from ghostfleet.api.validation.rules import Rules
from ghostfleet.core import names
from ghostfleet.core.errors import FieldError

__all__ = ["RULES"]

_LIMIT = 1024 * 1024
_FIXED = "field is immutable when `immutable` is set"
_SERVICE_ACCOUNT = "kubernetes.io/service-account.name"
_DOCKER_KEYS = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


def _config_map(errors: Errors, config_map: Object) -> None:
    data, binary = config_map.get("data") or {}, config_map.get("binaryData") or {}
    for key in data:
        invalid(errors, f"data[{key}]", key, names.is_config_map_key(key))
        if key in binary:
            errors.append(FieldError.invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    for key in binary:
        invalid(errors, f"binaryData[{key}]", key, names.is_config_map_key(key))
    if sum(len(value.encode()) for value in data.values()) + _decoded_size(binary) > _LIMIT:
        errors.append(FieldError.too_long("[]", _LIMIT))


def _decoded_size(data: Object) -> int:
    return sum(len(value) * 3 // 4 - value[-2:].count("=") for value in data.values())


def _config_map_update(errors: Errors, new: Object, old: Object) -> None:
    _stays_immutable(errors, new, old, ("data", "binaryData"))


def _stays_immutable(errors: Errors, new: Object, old: Object, fields: tuple[str, ...]) -> None:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        errors.append(FieldError.forbidden("immutable", _FIXED))
    for field in fields:
        if new.get(field) != old.get(field):
            errors.append(FieldError.forbidden(field, _FIXED))


def _secret(errors: Errors, secret: Object) -> None:
    data = secret.get("data") or {}
    for key in data:
        invalid(errors, f"data[{key}]", key, names.is_config_map_key(key))
    if _decoded_size(data) > _LIMIT:
        errors.append(FieldError.too_long("data", _LIMIT))
    _secret_of_type(errors, secret, data, secret.get("type", ""))


def _secret_of_type(errors: Errors, secret: Object, data: Object, sort: str) -> None:
    if sort == "kubernetes.io/service-account-token":
        annotations = (secret.get("metadata") or {}).get("annotations") or {}
        required(errors, f"metadata.annotations[{_SERVICE_ACCOUNT}]", annotations.get(_SERVICE_ACCOUNT))
    elif sort in _DOCKER_KEYS:
        _docker_config(errors, data, _DOCKER_KEYS[sort])
    elif sort == "kubernetes.io/basic-auth":
        if "username" not in data and "password" not in data:
            errors.append(FieldError.required("data[username]"))
            errors.append(FieldError.required("data[password]"))
    elif sort == "kubernetes.io/ssh-auth":
        required(errors, "data[ssh-privatekey]", data.get("ssh-privatekey"))
    elif sort == "kubernetes.io/tls":
        for key in ("tls.crt", "tls.key"):
            if key not in data:
                errors.append(FieldError.required(f"data[{key}]"))


def _docker_config(errors: Errors, data: Object, key: str) -> None:
    if key not in data:
        errors.append(FieldError.required(f"data[{key}]"))
        return
    try:
        found = orjson.loads(base64.b64decode(data[key]))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        why = "unexpected end of JSON input" if not data[key] else "invalid character in JSON"
        errors.append(FieldError.invalid(f"data[{key}]", "<secret contents redacted>", why))


def _secret_update(errors: Errors, new: Object, old: Object) -> None:
    immutable(errors, "type", new.get("type", ""), old.get("type", ""))
    _stays_immutable(errors, new, old, ("data",))


RULES: dict[str, Rules] = {
    "configmaps": Rules(_config_map, update=_config_map_update),
    "secrets": Rules(_secret, update=_secret_update),
    "serviceaccounts": Rules(),
}
