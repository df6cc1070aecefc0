"""Version parts: names, columns, subresources and the other small things that a definition states.

Each function takes one of them with the path where it stands, and gives what is wrong with it.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from ghostfleet.api.customresources.fieldpaths import follow
from ghostfleet.api.customresources.nodes import Raw
from ghostfleet.core import names as naming
from ghostfleet.core.errors import FieldError

__all__ = [
    "column_errors",
    "conversion_errors",
    "deprecation_errors",
    "name_errors",
    "selectable_errors",
    "subresource_errors",
]

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_STRATEGIES = ("None", "Webhook")
_REVIEW_VERSIONS = ("v1", "v1beta1")
_MAX_WARNING = 256
_MAX_SELECTABLE = 8
_URL_FORM = "; desired format: https://host[/path]"


def name_errors(names: Raw, path: str) -> list[FieldError]:
    """Names that are given must be names."""
    errors: list[FieldError] = []

    def check(field: str, name: str, *, any_case: bool = False) -> None:
        problems = naming.is_dns1035_label(name.lower() if any_case else name)
        if problems:
            prefix = "may have mixed case, but should otherwise match: " if any_case else ""
            errors.append(FieldError.invalid(f"{path}.{field}", name, prefix + ",".join(problems)))

    for field in ("plural", "singular"):
        if names.get(field):
            check(field, names[field])
    for field in ("kind", "listKind"):
        if names.get(field):
            check(field, names[field], any_case=True)
    for index, name in enumerate(names.get("shortNames") or ()):
        check(f"shortNames[{index}]", name)
    if names.get("kind") and names["kind"] == names.get("listKind"):
        why = "kind and listKind may not be the same"
        errors.append(FieldError.invalid(f"{path}.listKind", names["listKind"], why))
    for index, name in enumerate(names.get("categories") or ()):
        check(f"categories[{index}]", name)
    return errors


def deprecation_errors(version: Raw, path: str) -> list[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return []
    path = f"{path}.deprecationWarning"
    if not version.get("deprecated"):
        return [FieldError.invalid(path, warning, "can only be set for deprecated versions")]
    problems = []
    if len(warning.encode()) > _MAX_WARNING:
        problems.append(f"must be <= {_MAX_WARNING} characters long")
    if not warning:
        problems.append("must not be an empty string")
    unprintable = next((index for index, character in enumerate(warning) if not character.isprintable()), None)
    if unprintable is not None:
        at = len(warning[:unprintable].encode())
        problems.append(f"must only contain printable UTF-8 characters; non-printable character found at index {at}")
    return [FieldError.invalid(path, warning, problem) for problem in problems]


def column_errors(column: Raw, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    kind, form = column.get("type") or "", column.get("format") or ""
    if not column.get("name"):
        errors.append(FieldError.required(f"{path}.name"))
    if kind not in _COLUMN_TYPES:
        why = f"must be one of {','.join(_COLUMN_TYPES)}"
        place = f"{path}.type"
        errors.append(FieldError.invalid(place, kind, why) if kind else FieldError.required(place, why))
    if form and form not in _COLUMN_FORMATS:
        errors.append(FieldError.invalid(f"{path}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}"))
    return errors + _path_errors(column.get("jsonPath") or "", f"{path}.JSONPath")


def _path_errors(json_path: str, path: str) -> list[FieldError]:
    if not json_path:
        return [FieldError.required(path)]
    if not json_path.startswith("."):
        return [FieldError.invalid(path, json_path, "must be a simple json path starting with .")]
    return []


def subresource_errors(subresources: Raw | None, path: str) -> list[FieldError]:
    scale = (subresources or {}).get("scale")
    if scale is None:
        return []
    errors: list[FieldError] = []
    for field, prefixes, where in (
        ("specReplicasPath", (".spec.",), ".spec"),
        ("statusReplicasPath", (".status.",), ".status"),
        ("labelSelectorPath", (".spec.", ".status."), "either .spec or .status"),
    ):
        json_path, place = scale.get(field) or "", f"{path}.scale.{field}"
        if field == "labelSelectorPath" and not json_path:
            continue
        found = _path_errors(json_path, place)
        if not found and not json_path.startswith(prefixes):
            found = [FieldError.invalid(place, json_path, f"should be a json path under {where}")]
        errors += found
    return errors


def selectable_errors(fields: list[Any], raw: Raw, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, ...]] = set()
    for index, field in enumerate(fields):
        json_path, place = field.get("jsonPath") or "", f"{path}[{index}].jsonPath"
        if not json_path:
            errors.append(FieldError.required(place))
            continue
        try:
            steps, schema = follow(json_path, raw, brackets=False)
        except ValueError as problem:
            errors.append(FieldError.invalid(place, json_path, f"is an invalid path: {problem}"))
            continue
        if steps[:1] == ["metadata"]:
            errors.append(FieldError.invalid(place, json_path, "must not point to fields in metadata"))
        if schema is None or schema.get("type") not in ("string", "boolean", "integer"):
            why = (
                "must point to a field of type string, boolean or integer. "
                "Enum string fields and strings with formats are allowed."
            )
            errors.append(FieldError.invalid(place, json_path, why))
        if tuple(steps) in seen:
            errors.append(FieldError.duplicate(place, json_path))
        seen.add(tuple(steps))
    if len(seen) > _MAX_SELECTABLE:
        errors.append(FieldError.too_many(path, len(seen), _MAX_SELECTABLE))
    return errors


# Conversion


def conversion_errors(conversion: Raw | None, path: str) -> list[FieldError]:
    if conversion is None:
        return []
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook")
    errors: list[FieldError] = []
    if not strategy:
        errors.append(FieldError.required(f"{path}.strategy"))
    elif strategy not in _STRATEGIES:
        errors.append(FieldError.unsupported(f"{path}.strategy", strategy, _STRATEGIES))
    client, versions = (webhook or {}).get("clientConfig"), (webhook or {}).get("conversionReviewVersions") or []
    client_path, versions_path = f"{path}.webhookClientConfig", f"{path}.conversionReviewVersions"
    if strategy != "Webhook":
        why = "should not be set when strategy is not set to Webhook"
        if client is not None:
            errors.append(FieldError.forbidden(client_path, why))
        if versions:
            errors.append(FieldError.forbidden(versions_path, why))
        return errors
    if client is None:
        errors.append(FieldError.required(client_path, "required when strategy is set to Webhook"))
    else:
        errors += _client_errors(client, client_path)
    return errors + _review_version_errors(versions, versions_path)


def _client_errors(client: Raw, path: str) -> list[FieldError]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [FieldError.required(path, "exactly one of url or service is required")]
    return _url_errors(url, f"{path}.url") if url is not None else _service_errors(service or {}, f"{path}.service")


def _url_errors(url: str, path: str) -> list[FieldError]:
    parts = urlsplit(url)
    errors: list[FieldError] = []
    if parts.scheme != "https":
        why = f"'https' is the only allowed URL scheme{_URL_FORM}"
        errors.append(FieldError.invalid(path, parts.scheme, why))
    if not parts.netloc:
        errors.append(FieldError.invalid(path, "", f"host must be specified{_URL_FORM}"))
    if "@" in parts.netloc:
        user = parts.netloc.rpartition("@")[0]
        errors.append(FieldError.invalid(path, user, "user information is not permitted in the URL"))
    if parts.fragment:
        errors.append(FieldError.invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        errors.append(FieldError.invalid(path, parts.query, "query parameters are not permitted in the URL"))
    return errors


def _service_errors(service: Raw, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    # Kubernetes mixes the two up in its messages.
    if not service.get("namespace"):
        errors.append(FieldError.required(f"{path}.name"))
    if not service.get("name"):
        errors.append(FieldError.required(f"{path}.namespace"))
    port = service.get("port", 443)
    if problems := naming.is_port_number(port):
        errors.append(FieldError.invalid(f"{path}.port", port, f"port is not valid: {', '.join(problems)}"))
    where = service.get("path") or "/"
    if where == "//":
        errors.append(FieldError.invalid(f"{path}.path", where, "segment[0] may not be empty"))
    elif where != "/":
        errors += _url_path_errors(where, f"{path}.path")
    return errors


def _url_path_errors(where: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not where.startswith("/"):
        errors.append(FieldError.invalid(path, where, "must start with a '/'"))
    for index, step in enumerate(where[1:].removesuffix("/").split("/")):
        if not step:
            errors.append(FieldError.invalid(path, where, f"segment[{index}] may not be empty"))
            continue
        problems = naming.is_dns1123_subdomain(step)
        errors += [FieldError.invalid(path, where, f"segment[{index}]: {problem}") for problem in problems]
    return errors


def _review_version_errors(versions: list[str], path: str) -> list[FieldError]:
    if not versions:
        return [FieldError.required(path)]
    errors: list[FieldError] = []
    for index, version in enumerate(versions):
        if version in versions[:index]:
            errors.append(FieldError.invalid(f"{path}[{index}]", version, "duplicate version"))
            continue
        problems = naming.is_dns1035_label(version)
        errors += [FieldError.invalid(f"{path}[{index}]", version, problem) for problem in problems]
    if not set(versions) & set(_REVIEW_VERSIONS):
        why = f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"
        errors.append(FieldError.invalid(path, versions, why))
    return errors
