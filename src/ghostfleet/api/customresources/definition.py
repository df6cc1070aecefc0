"""Definition: whether a CustomResourceDefinition may be stored.

Kubernetes looks at a definition in an older form of it, in which whatever all versions have in common (schema,
subresources, columns, selectable fields) stands once, beside the versions; its messages name the places of that form:
`spec.validation.openAPIV3Schema`. Such a part is *shared* here. After it is established, a definition keeps its scope
and kind; its group and plural are in its name and never change.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from ghostfleet.api.customresources.dialect import dialect_errors
from ghostfleet.api.customresources.formats import string_format
from ghostfleet.api.customresources.internal import QuotedValue, internal_schema, internal_version
from ghostfleet.api.customresources.metadata import metadata_errors, metadata_update_errors
from ghostfleet.api.customresources.nodes import Raw
from ghostfleet.api.customresources.statedefaults import default_errors
from ghostfleet.api.customresources.structure import structure_errors
from ghostfleet.api.customresources.values import types_of
from ghostfleet.api.customresources.versionparts import (
    column_errors,
    conversion_errors,
    deprecation_errors,
    name_errors,
    selectable_errors,
    subresource_errors,
)
from ghostfleet.core import names as naming
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import FieldError

__all__ = ["definition_errors", "definition_warnings", "status_errors", "validate_definition"]

_PARTS = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
_SCOPES = ("Cluster", "Namespaced")
_APPROVAL = "api-approved.kubernetes.io"
_ALLOWED_AT_ROOT = (
    "Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum", "MaxLength",
    "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items", "Properties",
    "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations",
)  # fmt: skip


def validate_definition(definition: Object, old: Object | None) -> list[FieldError]:
    """All that is wrong with a definition, new or about to replace `old`."""
    metadata = definition["metadata"]
    if old is None:
        errors = metadata_errors(metadata, namespaced=False)
    else:
        errors = metadata_update_errors(metadata, old["metadata"])
    return errors + definition_errors(definition, old)


def definition_errors(definition: Object, old: Object | None) -> list[FieldError]:
    """All that is wrong with a definition apart from what is wrong with any object's metadata."""
    spec, status = definition.get("spec") or {}, definition.get("status") or {}
    errors = _own_name_errors(definition["metadata"].get("name") or "", spec) if old is None else []
    errors += _spec_errors(spec)
    if old is not None:
        errors += _change_errors(spec, old)
    errors += status_errors(definition)
    errors += _stored_errors(status.get("storedVersions") or [], spec.get("versions") or [])
    errors += _approval_errors(definition, old)
    if spec.get("preserveUnknownFields") and not (old or {}).get("spec", {}).get("preserveUnknownFields"):
        why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        errors.append(FieldError.invalid("spec.preserveUnknownFields", True, why))
    return errors


def status_errors(definition: Object) -> list[FieldError]:
    """What is wrong with a definition's status."""
    return name_errors((definition.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames")


def _own_name_errors(name: str, spec: Raw) -> list[FieldError]:
    if not name or name == f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group', '')}":
        return []
    return [FieldError.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]


def _spec_errors(spec: Raw) -> list[FieldError]:
    versions: list[Any] = spec.get("versions") or []
    shared = frozenset(part for part in _PARTS if _is_shared(versions, part))
    first = versions[0] if versions else {}
    errors = _group_errors(spec.get("group") or "") + _scope_errors(spec.get("scope") or "")
    for index, version in enumerate(versions):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            errors.append(FieldError.required(f"spec.versions[{index}].schema.openAPIV3Schema"))
    for index, version in enumerate(versions):
        own = {key: value for key, value in version.items() if key not in shared}
        subresources = version.get("subresources")
        errors += _version_errors(own, f"spec.versions[{index}]", has_status=_has_status(subresources))
    errors += _version_list_errors(spec.get("versions"), shared)
    errors += _required_names(spec.get("names") or {})
    errors += name_errors(spec.get("names") or {}, "spec.names")
    common = {key: first[key] for key in shared if key in first}
    if "schema" in common:
        has_status = any(_has_status(each.get("subresources")) for each in versions)
        errors += _schema_errors(common["schema"], "spec.validation", has_status=has_status)
    errors += _part_errors(common, "spec", first.get("schema"))
    if spec.get("preserveUnknownFields"):
        errors += _preserve_errors(spec, versions)
    return errors + conversion_errors(spec.get("conversion"), "spec.conversion")


def _preserve_errors(spec: Raw, versions: list[Any]) -> list[FieldError]:
    """Keeping unknown fields everywhere is a thing of the past, and goes with nothing newer."""
    errors: list[FieldError] = []
    schemas = [(each.get("schema") or {}).get("openAPIV3Schema") for each in versions]
    if any(node.get("default") is not None for raw in schemas if raw for node in _nodes(raw)):
        why = "must be false in order to use defaults in the schema"
        errors.append(FieldError.invalid("spec.preserveUnknownFields", True, why))
    strategy = (spec.get("conversion") or {}).get("strategy", "None")
    if strategy != "None":
        why = "must be None if spec.preserveUnknownFields is true"
        errors.append(FieldError.invalid("spec.conversion.strategy", strategy, why))
    return errors


def _is_shared(versions: list[Any], part: str) -> bool:
    return bool(versions) and all((each.get(part) or None) == (versions[0].get(part) or None) for each in versions)


def _has_status(subresources: Raw | None) -> bool:
    return subresources is not None and subresources.get("status") is not None


def _group_errors(group: str) -> list[FieldError]:
    if not group:
        return [FieldError.required("spec.group")]
    if problems := naming.is_dns1123_subdomain(group):
        return [FieldError.invalid("spec.group", group, ",".join(problems))]
    if "." not in group:
        return [FieldError.invalid("spec.group", group, "should be a domain with at least one dot")]
    return []


def _scope_errors(scope: str) -> list[FieldError]:
    if not scope:
        return [FieldError.required("spec.scope")]
    return [] if scope in _SCOPES else [FieldError.unsupported("spec.scope", scope, _SCOPES)]


def _version_errors(version: Raw, path: str, *, has_status: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    name = version.get("name") or ""
    if problems := naming.is_dns1035_label(name):
        errors.append(FieldError.invalid(f"{path}.name", name, ",".join(problems)))
    errors += deprecation_errors(version, path)
    if "schema" in version:
        errors += _schema_errors(version["schema"], f"{path}.schema", has_status=has_status)
    return errors + _part_errors(version, path, version.get("schema"))


def _part_errors(source: Raw, path: str, schema: Raw | None) -> list[FieldError]:
    errors = subresource_errors(source.get("subresources"), f"{path}.subresources")
    for index, column in enumerate(source.get("additionalPrinterColumns") or ()):
        errors += column_errors(column, f"{path}.additionalPrinterColumns[{index}]")
    fields = source.get("selectableFields")
    if fields and schema is not None:
        errors += selectable_errors(fields, schema.get("openAPIV3Schema") or {}, f"{path}.selectableFields")
    return errors


def _schema_errors(validation: Raw | None, path: str, *, has_status: bool) -> list[FieldError]:
    raw = (validation or {}).get("openAPIV3Schema")
    if raw is None:
        return []
    path = f"{path}.openAPIV3Schema"
    errors = _root_errors(raw, path) if has_status else []
    if raw.get("nullable"):
        errors.append(FieldError.forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    disallowed = dialect_errors(raw, path)
    unreadable = _unreadable(raw)
    if not unreadable:
        errors += structure_errors(raw, path) or ([] if disallowed else default_errors(raw, path))
    errors += disallowed
    if not errors and unreadable:
        errors.append(FieldError.invalid(path, "", unreadable))
    return errors


def _unreadable(raw: Any) -> str:
    """Why a schema cannot even be read as a structural one."""
    for node in _nodes(raw):
        for word in ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions"):
            if node.get(word):
                return f"OpenAPIV3Schema '{'schema' if word == '$schema' else word}' is not supported"
        if isinstance(node.get("items"), list):
            return "OpenAPIV3Schema 'items' must be a schema, but is an array"
        if node.get("x-kubernetes-preserve-unknown-fields") is False:
            return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    return ""


def _nodes(raw: Any) -> list[Any]:
    """A schema and all schemas in it."""
    found: list[Any] = [raw]
    for node in found:
        found += (node.get("properties") or {}).values()
        for word in ("items", "additionalProperties", "not"):
            if isinstance(node.get(word), dict):
                found.append(node[word])
        for word in ("allOf", "anyOf", "oneOf"):
            found += node.get(word) or ()
    return found


def _root_errors(raw: Raw, path: str) -> list[FieldError]:
    """With a status subresource the status is judged alone, so the root may say nothing that spans both halves."""
    for (name, value), zero in zip(internal_schema(raw).items(), internal_schema({}).values(), strict=True):
        if value == zero:
            continue
        if name == "Type" and value != "object":
            why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
            return [FieldError.invalid(f"{path}.type", value, why)]
        if name not in _ALLOWED_AT_ROOT:
            why = (
                f"only [{' '.join(_ALLOWED_AT_ROOT)}] fields are allowed at the root of the schema "
                "if the status subresource is enabled"
            )
            return [QuotedValue.invalid(path, internal_schema(raw), why)]
    return []


def _version_list_errors(versions: list[Any] | None, shared: frozenset[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    names = [each.get("name") for each in versions or ()]
    storages = sum(1 for each in versions or () if each.get("storage"))
    for is_wrong, why in (
        (len(set(names)) < len(names), "must contain unique version names"),
        (storages != 1, "must have exactly one version marked as storage version"),
    ):
        if is_wrong:
            shown = None if versions is None else [internal_version(each, shared) for each in versions]
            errors.append(QuotedValue.invalid("spec.versions", shown, why))
    if names and (problems := naming.is_dns1035_label(names[0] or "")) and names[0]:
        errors.append(FieldError.invalid("spec.version", names[0], ",".join(problems)))
    return errors


def _required_names(names: Raw) -> list[FieldError]:
    needed = ("plural", "singular", "kind", "listKind")
    return [FieldError.required(f"spec.names.{field}") for field in needed if not names.get(field)]


def _change_errors(spec: Raw, old: Object) -> list[FieldError]:
    before, errors = old["spec"], []
    names, old_names = spec.get("names") or {}, before["names"]
    conditions = (old.get("status") or {}).get("conditions") or []
    if any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions):
        if spec.get("scope") != before["scope"]:
            errors.append(FieldError.invalid("spec.scope", spec.get("scope", ""), "field is immutable"))
        if names.get("kind") != old_names["kind"]:
            errors.append(FieldError.invalid("spec.names.kind", names.get("kind", ""), "field is immutable"))
    if spec.get("group") != before["group"]:
        errors.append(FieldError.invalid("spec.group", spec.get("group", ""), "field is immutable"))
    if names.get("plural") != old_names["plural"]:
        errors.append(FieldError.invalid("spec.names.plural", names.get("plural", ""), "field is immutable"))
    return errors


def _stored_errors(stored: list[str], versions: list[Any]) -> list[FieldError]:
    """Versions in which objects may still be stored must stay; the first storage version always counts as stored."""
    path = "status.storedVersions"
    storages = [each.get("name") for each in versions if each.get("storage")]
    stored = stored if not storages or storages[0] in stored else [*stored, storages[0]]
    if not stored:
        return [FieldError.invalid(path, None, "must have at least one stored version")]
    errors = [
        FieldError.invalid(path, stored, f"must have the storage version {name}")
        for name in storages
        if name not in stored
    ]
    known = {each.get("name") for each in versions}
    for index, name in enumerate(stored):
        if name not in known:
            why = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} "
                f"and removes {name} from {path}"
            )
            errors.append(FieldError.invalid(f"{path}[{index}]", name, why))
    return errors


# Groups of Kubernetes' own community


def _approval_errors(definition: Object, old: Object | None) -> list[FieldError]:
    group = (definition.get("spec") or {}).get("group") or ""
    if group not in ("k8s.io", "kubernetes.io") and not group.endswith((".k8s.io", ".kubernetes.io")):
        return []
    approval = (definition["metadata"].get("annotations") or {}).get(_APPROVAL) or ""
    state = _approval_state(approval)
    if state == "approved" or (
        old is not None and state == _approval_state((old["metadata"].get("annotations") or {}).get(_APPROVAL) or "")
    ):
        return []
    path, why = f"metadata.annotations[{_APPROVAL}]", f'protected groups must have approval annotation "{_APPROVAL}"'
    link = "see https://github.com/kubernetes/enhancements/pull/1111"
    if state == "missing":
        return [FieldError.required(path, f"{why}, {link}")]
    why += ' with either a URL or a reason starting with "unapproved"'
    return [FieldError.invalid(path, approval, f"{why}, {link}")]


def _approval_state(approval: str) -> str:
    if not approval:
        return "missing"
    parts = urlsplit(approval)
    return "approved" if approval.startswith("unapproved") or (parts.scheme and parts.netloc) else "invalid"


# Warnings


def definition_warnings(definition: Object, old: Object | None) -> list[str]:
    """What a client is told about new formats that nobody checks."""
    before = set() if old is None else set(_unknown_formats(old))
    return [f'unrecognized format "{form}"' for form in _unknown_formats(definition) if form not in before]


def _unknown_formats(definition: Object) -> list[str]:
    schemas = [(each.get("schema") or {}).get("openAPIV3Schema") for each in definition["spec"].get("versions") or ()]
    if schemas and all(each == schemas[0] for each in schemas):
        schemas = schemas[:1]
    return [node["format"] for raw in schemas if raw for node in _nodes(raw) if not _knows_format(node)]


def _knows_format(node: Raw) -> bool:
    form, type_ = node.get("format"), "".join(types_of({"type": node.get("type")}))
    if not form:
        return True
    known = {"integer": ("int32", "int64"), "number": ("float", "double")}.get(type_)
    if known is not None:
        return form in known
    return type_ in ("", "string") and bool(string_format(form))
