"""Bodies: what a request brings, checked against the endpoint it came to.

An object must be of the endpoint's kind and version, in its namespace and under its name; what the body leaves unsaid
is filled in from the endpoint. Fields that the kind does not have are refused, reported or passed over, as the client
asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from ghostfleet.api.builtin import kind_type
from ghostfleet.api.kinds import Resource, Version
from ghostfleet.api.lifecycle import NEEDS_RESOURCE_VERSION
from ghostfleet.api.options import WriteOptions
from ghostfleet.api.validation import strict_error, unknown_field_warnings
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import ApiError, FieldError, bad_request, conflict, invalid, object_too_large

__all__ = [
    "check_applied",
    "check_identity",
    "check_name",
    "check_resource_version",
    "check_size",
    "checked",
    "judge_unknown",
    "not_a_map",
    "patch_to_blame",
]

#: What etcd takes by default, 1.5 MiB. It counts the bytes that it stores, which for built-in kinds are protobuf.
_MOST_BYTES = 1_572_864
_GO_TYPES = {bool: "bool", int: "number", float: "number", str: "string", list: "array"}


def check_size(obj: Object) -> None:
    """Refuse an object that could not be stored, however it came to be so large."""
    if len(orjson.dumps(obj)) > _MOST_BYTES:
        raise object_too_large()


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
    if kind != resource.kind or api_version != expected:
        raise _another_type(resource, kind, api_version, expected, body)
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


def _another_type(resource: Resource, kind: str, api_version: str, expected: str, body: Object) -> ApiError:
    """The refusal of an object that is of another type than the endpoint."""
    group, _, short = api_version.rpartition("/")
    if resource.custom and api_version == expected:
        metadata = body.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else ""
        error = FieldError.invalid("kind", kind, f"must be {resource.kind}")
        return invalid(kind, group, name if isinstance(name, str) else "", [error])
    known = kind_type(group, short, kind) is not None
    if resource.custom or (known and kind == resource.kind):
        why = f"the API version in the data ({api_version}) does not match the expected API version ({expected})"
        return bad_request(why)
    if known:
        package = resource.group.partition(".")[0] or "core"
        why = f"converting ({short}.{kind}) to ({package}.{resource.kind}): unknown conversion"
    else:
        why = f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'
    return bad_request(f'{kind} in version "{short}" cannot be handled as a {resource.kind}: {why}')


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
        raise invalid(resource.plural, resource.group, obj["metadata"].get("name", ""), [error])


def check_identity(resource: Resource, old: Object, new: Object) -> None:
    """An update that names a uid means that very object, not one of the same name."""
    metadata, stated = old["metadata"], new["metadata"].get("uid")
    if stated and stated != metadata["uid"]:
        where = "/".join(part for part in (metadata.get("namespace"), metadata["name"]) if part)
        why = f"Precondition failed: UID in precondition: {stated}, UID in object meta: {metadata['uid']}"
        code = f"StorageError: invalid object, Code: 4, Key: /registry/{resource.plural}/{where}, ResourceVersion: 0"
        raise conflict(resource.key, metadata["name"], f"{code}, AdditionalErrorMsg: {why}")


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
            group, _, short = str(patch.get("apiVersion") or "").rpartition("/")
            raise bad_request(f"invalid object type: {group}/{short}, Kind={patch.get('kind') or ''}")
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


def not_a_map(patch: Any) -> ApiError:
    """The refusal of a patch that is no JSON object."""
    found = _GO_TYPES.get(type(patch), "null")
    return bad_request(
        f"error decoding patch: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
    )


@contextmanager
def patch_to_blame(patched: Any, patch_type: str) -> Iterator[None]:
    """Refuse what a patch made of a good object as the fault of the patch."""
    try:
        yield
    except ApiError as error:
        _, handled, why = error.message.partition(" cannot be handled as a ")
        if error.code != 400 or not handled or patch_type == "strategic":
            raise
        text = orjson.dumps(patched).decode()
        raise invalid("", "", "", [FieldError.invalid("patch", text, why.partition(": ")[2])]) from None


def json_type(value: Any) -> str:
    """What JSON calls the type of a value."""
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "an array"}
    return names.get(type(value), "an object")
