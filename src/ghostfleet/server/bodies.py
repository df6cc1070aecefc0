"""Bodies: what a client sends, read into the JSON form that the API works with.

Objects come as JSON, YAML or protobuf, patches as JSON or, for server-side apply, as YAML, which JSON is too. A JSON
text that states a key twice is taken, and the last one counts, but the API must know of it to warn or refuse.
"""

from __future__ import annotations

from typing import Any

import orjson

from ghostfleet.api.builtin import kind_type
from ghostfleet.core.errors import ApiError, bad_request, unsupported_media_type
from ghostfleet.core.manifests import ManifestError, duplicate_keys, load_documents, load_json
from ghostfleet.core.schema import Type
from ghostfleet.server.negotiation import JSON, YAML, body_media
from ghostfleet.server.protobuf import decode

__all__ = ["read_delete_options", "read_object", "read_patch"]

#: How much of a body that cannot be read is shown.
_SHOWN = 30
#: Values in a body of YAML, which is slow to read: more than any object has that can be stored.
_MOST_VALUES = 200_000


def read_object(content_type: str, body: bytes, kind: str, *, custom: bool, check: bool) -> tuple[Any, list[str]]:
    """An object that should be of `kind`, and, if `check` is asked for, the paths that it states twice."""
    media = body_media(content_type)
    if media == "protobuf" and custom:
        accepted = f"accepted media types include: {JSON}, {YAML}"
        raise unsupported_media_type(f"the body of the request was in an unknown format - {accepted}")
    try:
        if media == "protobuf":
            return decode(body, _type_of), []
        obj = load_json(body) if media == "json" else _load_yaml(body)
    except ManifestError as error:
        prefix = "couldn't get version/kind; json parse error: " if media == "json" else ""
        raise _unrecognized(kind, prefix + _cause(error), body) from None
    except ApiError as error:
        raise _unrecognized(kind, error.message, body) if error.code == 400 else error from None
    repeated = duplicate_keys(body) if check and media == "json" and _may_repeat(body, obj) else []
    return {} if obj is None else obj, repeated


def read_patch(body: bytes, sort: str) -> Any:
    """A patch of one of our sorts."""
    try:
        return _load_yaml(body) if sort == "apply" else load_json(body)
    except ManifestError as error:
        raise bad_request(f"error decoding {'YAML' if sort == 'apply' else 'patch'}: {_cause(error)}") from None


def read_delete_options(content_type: str, body: bytes) -> dict[str, Any] | None:
    """The options in a delete's body; None when it has none."""
    if not body:
        return None
    media = body_media(content_type)
    if media == "protobuf":
        options = decode(body, _type_of)
    else:
        try:
            options = load_json(body) if media == "json" else _load_yaml(body)
        except ManifestError as error:
            raise bad_request(f"couldn't get version/kind; json parse error: {_cause(error)}") from None
    if options is None:
        return None
    if not isinstance(options, dict):
        raise bad_request("couldn't get version/kind; json parse error: the options of a delete are an object")
    kind = options.get("kind") or "DeleteOptions"
    if kind != "DeleteOptions":
        raise bad_request(f'no kind "{kind}" is registered for version "{options.get("apiVersion", "v1")}"')
    return options


def _load_yaml(body: bytes) -> Any:
    if body.startswith(b"{"):
        # kubectl sends JSON here, which need not be read with the slow reader.
        try:
            return load_json(body)
        except ManifestError:
            pass
    documents = load_documents(body, "request body", most=_MOST_VALUES)
    return documents[0].object if documents else None


def _may_repeat(body: bytes, obj: Any) -> bool:
    """Whether a key may come twice: what is dropped in reading has at least one colon."""
    return body.count(b":") != orjson.dumps(obj).count(b":")


def _type_of(api_version: str, kind: str) -> Type | None:
    group, _, version = api_version.rpartition("/")
    return kind_type(group, version, kind)


def _cause(error: ManifestError) -> str:
    if error.problem.startswith("unexpected end of data") or error.problem.startswith("Input is a zero-length"):
        return "unexpected end of JSON input"
    return f"line {error.line}, column {error.column}: {error.problem}"


def _unrecognized(kind: str, cause: str, body: bytes) -> ApiError:
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {cause} ({_summary(body)})")


def _summary(body: bytes) -> str:
    """The beginning of a body that could not be read: as text if it looks like JSON, else in hexadecimal."""
    if not body:
        return "<empty>"
    shown = body[:_SHOWN]
    text = shown.decode(errors="replace") if body.startswith(b"{") else shown.hex()
    return f"{text} ..." if len(body) > _SHOWN else text
