"""Bodies: what a request brings, checked against the endpoint it came to.

An object must be of the endpoint's kind and version, in its namespace and under its name; what the body leaves unsaid
is filled in from the endpoint. Fields that the kind does not have are refused, reported or passed over, as the client
asked.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.api.kinds import Resource, Version
from ghostfleet.api.lifecycle import NEEDS_RESOURCE_VERSION
from ghostfleet.api.options import WriteOptions
from ghostfleet.api.validation import strict_error, unknown_field_warnings
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import FieldError, bad_request, invalid

__all__ = ["check_applied", "check_name", "check_resource_version", "checked", "json_type", "judge_unknown"]


def checked(resource: Resource, version: Version, namespace: str, body: Any) -> Object:
    """The body as an object that this endpoint takes, with apiVersion, kind and namespace filled in."""
    if not isinstance(body, dict):
        raise bad_request(
            f"the object provided is unrecognized (must be of type {resource.kind}): "
            f"expected an object, found {json_type(body)}"
        )
    expected = resource.api_version(version.name)
    kind, api_version = body.get("kind") or resource.kind, body.get("apiVersion") or expected
    if not isinstance(kind, str) or not isinstance(api_version, str):
        raise bad_request("the object provided is unrecognized: apiVersion and kind must be strings")
    if kind != resource.kind:
        short = api_version.rpartition("/")[2]
        raise bad_request(
            f'{kind} in version "{short}" cannot be handled as a {resource.kind}: '
            f"expected kind {resource.kind} of {expected}"
        )
    if api_version != expected:
        raise bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version ({expected})"
        )
    metadata = body.get("metadata")
    if metadata is None:
        metadata = {}
    if not isinstance(metadata, dict):
        raise bad_request(
            f'{resource.kind} in version "{version.name}" cannot be handled as a {resource.kind}: '
            f"metadata must be an object, found {json_type(metadata)}"
        )
    metadata = _placed(resource, namespace, metadata)
    if kind is body.get("kind") and api_version is body.get("apiVersion") and metadata is body.get("metadata"):
        return body
    return {**body, "kind": kind, "apiVersion": api_version, "metadata": metadata}


def _placed(resource: Resource, namespace: str, metadata: Object) -> Object:
    """Metadata in the namespace of the request."""
    stated = metadata.get("namespace") or ""
    if stated == (namespace if resource.namespaced else ""):
        return metadata
    if not resource.namespaced:
        return {key: value for key, value in metadata.items() if key != "namespace"}
    if stated:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    return {**metadata, "namespace": namespace}


def check_name(obj: Object, name: str) -> None:
    stated = obj["metadata"].get("name")
    if not stated:
        raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if stated != name:
        raise bad_request(f"the name of the object ({stated}) does not match the name on the URL ({name})")


def check_resource_version(resource: Resource, obj: Object) -> None:
    if obj["metadata"].get("resourceVersion"):
        return
    if resource.custom or resource.key in NEEDS_RESOURCE_VERSION:
        error = FieldError.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid(resource.kind, resource.group, obj["metadata"].get("name", ""), [error])


def check_applied(resource: Resource, version: Version, patch: Any) -> None:
    """An applied configuration says what it is, and owns nothing yet."""
    if not isinstance(patch, dict):
        raise bad_request(f"error decoding YAML: expected an object, found {json_type(patch)}")
    expected = resource.api_version(version.name)
    if patch.get("apiVersion") and patch["apiVersion"] != expected and patch.get("kind") == resource.kind:
        raise bad_request(
            f"Incorrect version specified in apply patch. Specified patch version: {patch['apiVersion']}, "
            f"expected: {expected}"
        )
    for field in ("apiVersion", "kind"):
        if not patch.get(field):
            raise bad_request(f"the applied object must have {field}, here {expected}, Kind={resource.kind}")
    metadata = patch.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")


def judge_unknown(resource: Resource, version: Version, unknown: list[str], options: WriteOptions) -> None:
    """Refuse, report or pass over fields that the kind does not have, and keys that stood twice."""
    if not unknown and not options.duplicates:
        return
    options.unknown += unknown
    if options.validation == "Strict":
        raise strict_error(resource.kind, version.name, unknown, options.duplicates)
    if options.validation == "Warn":
        options.warnings += unknown_field_warnings(unknown)
        options.warnings += [f'duplicate field "{path}"' for path in options.duplicates]


def json_type(value: Any) -> str:
    """What JSON calls the type of a value."""
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "an array"}
    return names.get(type(value), "an object")
