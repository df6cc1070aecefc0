"""Metadata of custom resources and of the objects inside them.

The rules are those of all objects, with one exception: a finalizer may have any name, for which a custom resource's
author gets a warning at most.
"""

from __future__ import annotations

from dataclasses import replace

from ghostfleet.api.customresources.nodes import Raw
from ghostfleet.api.validation import metadata as shared
from ghostfleet.core import names
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import FieldError

__all__ = ["embedded_errors", "metadata_errors", "metadata_update_errors"]

_FOR_BUILT_IN_KINDS_ONLY = "name is neither a standard finalizer name nor is it fully qualified"


def metadata_errors(
    metadata: Raw, *, namespaced: bool, name_rule: shared.NameRule = names.is_dns1123_subdomain
) -> list[FieldError]:
    """What is wrong with the metadata of a new object."""
    errors: list[FieldError] = []
    shared.check(errors, dict(metadata), name_rule, namespaced=namespaced)
    return _without_exception(errors)


def metadata_update_errors(new: Object, old: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    shared.check_update(errors, new, old)
    return _without_exception(errors)


def _without_exception(errors: list[FieldError]) -> list[FieldError]:
    return [error for error in errors if error.detail != _FOR_BUILT_IN_KINDS_ONLY]


def embedded_errors(value: Object, path: str) -> list[FieldError]:
    """What is wrong with apiVersion, kind and metadata of an object inside another one."""
    errors = [FieldError.required(f"{path}.{field}") for field in ("apiVersion", "kind") if field not in value]
    if "apiVersion" in value:
        errors += _api_version_errors(value["apiVersion"], f"{path}.apiVersion")
    if "kind" in value:
        errors += _kind_errors(value["kind"], f"{path}.kind")
    metadata = value.get("metadata")
    if isinstance(metadata, dict):
        # An embedded object may be a template, and templates have no names.
        named = metadata if metadata.get("name") else {**metadata, "name": "unnamed"}
        found = metadata_errors(named, namespaced=bool(metadata.get("namespace")), name_rule=names.is_path_segment_name)
        errors += [replace(error, field=f"{path}.{error.field}") for error in found]
    return errors


def _api_version_errors(value: str, path: str) -> list[FieldError]:
    if not value:
        return [FieldError.invalid(path, value, "must not be empty")]
    if value.count("/") > 1:
        return [FieldError.invalid(path, value, f"unexpected GroupVersion string: {value}")]
    return []


def _kind_errors(value: str, path: str) -> list[FieldError]:
    if not value:
        return [FieldError.invalid(path, value, "must not be empty")]
    problems = names.is_dns1035_label(value.lower())
    if not problems:
        return []
    why = f"may have mixed case, but should otherwise match: {','.join(problems)}"
    return [FieldError.invalid(path, value, why)]
