"""Errors as the Kubernetes API tells them.

Every failure that a client can cause is an `ApiError`; it renders to the `metav1.Status` object that kubectl and
client-go understand. A *field error* is one finding of validation: a path, what is wrong there, the bad value; several
of them together make one `Invalid` error with causes.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

__all__ = [
    "ApiError",
    "FieldError",
    "already_exists",
    "bad_request",
    "conflict",
    "expired",
    "forbidden",
    "gone",
    "internal_error",
    "invalid",
    "method_not_allowed",
    "not_acceptable",
    "not_found",
    "object_too_large",
    "precondition_failed",
    "request_too_large",
    "shortened",
    "shown",
    "too_many_requests",
    "unauthorized",
    "unsupported_media_type",
]


#: Characters of a user's text that a message quotes, those of a value of a field (a patched object may be quoted whole,
#: as in a real API server), those of a whole message, and findings that are listed.
_QUOTED = 1_024
_VALUE = 16_384
_MESSAGE = 32_768
_CAUSES = 1_000


def shortened(text: str, most: int = _QUOTED) -> str:
    """A text for a message: its beginning, if it is long, and how long it is."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"


def shown(value: Any) -> str:
    """A value for a message, as Python writes it; of a large one only some parts, however many it comes to."""
    return _REPR.repr(value)


_REPR = reprlib.Repr()
_REPR.maxlevel = 3
_REPR.maxdict = _REPR.maxlist = 8
_REPR.maxstring = _REPR.maxlong = _REPR.maxother = _QUOTED


class ApiError(Exception):
    """A failed API call: HTTP code, Kubernetes reason, message and details."""

    def __init__(self, code: int, reason: str, message: str, details: dict[str, Any] | None = None) -> None:
        message = shortened(message, _MESSAGE)
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def status(self) -> dict[str, Any]:
        """The `metav1.Status` object of this error."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


_REASONS = {
    "Required value": "FieldValueRequired",
    "Invalid value": "FieldValueInvalid",
    "Unsupported value": "FieldValueNotSupported",
    "Forbidden": "FieldValueForbidden",
    "Duplicate value": "FieldValueDuplicate",
    "Not found": "FieldValueNotFound",
    "Too long": "FieldValueTooLong",
    "Too many": "FieldValueTooMany",
    "Internal error": "InternalError",
    "Type invalid": "FieldValueTypeInvalid",
}
_WITHOUT_VALUE = {"Required value", "Forbidden", "Too long", "Internal error"}


@dataclass(frozen=True, slots=True)
class FieldError:
    """One finding of validation. Build it with the class methods, which carry Kubernetes' words for each sort."""

    sort: str
    field: str
    value: Any = None
    detail: str = ""

    @classmethod
    def required(cls, field: str, detail: str = "") -> FieldError:
        return cls("Required value", field, None, detail)

    @classmethod
    def invalid(cls, field: str, value: Any, detail: str) -> FieldError:
        return cls("Invalid value", field, value, detail)

    @classmethod
    def unsupported(cls, field: str, value: Any, supported: Iterable[str]) -> FieldError:
        listed = ", ".join(_quote(word) for word in supported)
        return cls("Unsupported value", field, value, f"supported values: {listed}" if listed else "")

    @classmethod
    def forbidden(cls, field: str, detail: str) -> FieldError:
        return cls("Forbidden", field, None, detail)

    @classmethod
    def duplicate(cls, field: str, value: Any) -> FieldError:
        return cls("Duplicate value", field, value)

    @classmethod
    def not_found(cls, field: str, value: Any) -> FieldError:
        return cls("Not found", field, value)

    @classmethod
    def too_long(cls, field: str, limit: int) -> FieldError:
        return cls("Too long", field, None, f"may not be more than {limit} bytes")

    @classmethod
    def too_many(cls, field: str, actual: int, limit: int) -> FieldError:
        return cls("Too many", field, actual, f"must have at most {limit} items")

    @property
    def body(self) -> str:
        """The message without the field's path, as it stands in a cause."""
        text = self.sort
        if self.sort not in _WITHOUT_VALUE:
            text += f": {_render(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"

    def cause(self) -> dict[str, str]:
        return {"reason": _REASONS[self.sort], "message": self.body, "field": self.field}


def _quote(text: str) -> str:
    return orjson.dumps(text).decode()


def _render(value: Any) -> str:
    """A value as Go prints it in a field error: quoted strings, bare numbers, JSON for the rest, null for nothing."""
    if isinstance(value, str):
        return _quote(shortened(value, _VALUE))
    if (isinstance(value, float) and not math.isfinite(value)) or (isinstance(value, int) and abs(value) >= 2**63):
        return str(value)
    return shortened(orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode(), _VALUE)


def _details(resource: str, name: str = "", **more: Any) -> dict[str, Any]:
    """Details of a Status for a resource key such as `pods` or `jobs.batch`."""
    plural, _, group = resource.partition(".")
    details: dict[str, Any] = {}
    if name:
        details["name"] = shortened(name)
    if group:
        details["group"] = group
    if plural:
        details["kind"] = plural
    return details | more


def not_found(resource: str, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{resource} "{name}" not found', _details(resource, name))


def already_exists(resource: str, name: str) -> ApiError:
    return ApiError(409, "AlreadyExists", f'{resource} "{name}" already exists', _details(resource, name))


def conflict(resource: str, name: str, why: str = "") -> ApiError:
    why = why or "the object has been modified; please apply your changes to the latest version and try again"
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return ApiError(409, "Conflict", message, _details(resource, name))


def precondition_failed(resource: str, name: str, what: str, wanted: str, found: str) -> ApiError:
    """A delete or update whose stated uid or resourceVersion is not the stored one."""
    why = f"the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). "
    return conflict(
        resource,
        name,
        why + "The object might have been deleted and then recreated"
        if what == "UID"
        else why + "The object might have been modified",
    )


def invalid(kind: str, group: str, name: str, errors: Sequence[FieldError]) -> ApiError:
    """All findings of validation on one object; `kind` is the Kind, as in `Pod "x" is invalid: ...`."""
    errors = errors[:_CAUSES]
    # The same text twice tells a user nothing more; Kubernetes' aggregates drop repeats too.
    texts = list(dict.fromkeys(str(error) for error in errors))
    listed = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    qualified = f"{kind}.{group}" if group else kind
    details: dict[str, Any] = {"name": shortened(name)} if name else {}
    if group:
        details["group"] = group
    if kind:
        details["kind"] = kind
    details["causes"] = [error.cause() for error in errors]
    return ApiError(422, "Invalid", f"{qualified} {_quote(name)} is invalid: {listed}", details)


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(resource: str, name: str, why: str) -> ApiError:
    return ApiError(403, "Forbidden", f'{resource} "{name}" is forbidden: {why}', _details(resource, name))


def method_not_allowed(resource: str = "", verb: str = "") -> ApiError:
    if not resource:
        message = "the server does not allow this method on the requested resource"
        return ApiError(405, "MethodNotAllowed", message, {})
    return ApiError(
        405, "MethodNotAllowed", f'{verb} is not supported on resources of kind "{resource}"', _details(resource)
    )


def not_acceptable(offered: Sequence[str]) -> ApiError:
    listed = ", ".join(offered)
    return ApiError(406, "NotAcceptable", f"only the following media types are accepted: {listed}")


def unsupported_media_type(message: str) -> ApiError:
    return ApiError(415, "UnsupportedMediaType", message)


def request_too_large(why: str) -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: {why}")


def object_too_large() -> ApiError:
    """An object that etcd would not store; its error has no reason."""
    return ApiError(500, "", "etcdserver: request is too large")


def expired(message: str) -> ApiError:
    """The asked-for revision is older than the history that is kept (410)."""
    return ApiError(410, "Expired", message)


def gone(message: str) -> ApiError:
    return ApiError(410, "Gone", message)


def too_many_requests(message: str, retry_after: int, causes: Sequence[dict[str, str]] = ()) -> ApiError:
    details: dict[str, Any] = {"retryAfterSeconds": retry_after} if retry_after else {}
    if causes:
        details["causes"] = list(causes)
    return ApiError(429, "TooManyRequests", message, details)


def internal_error(message: str) -> ApiError:
    return ApiError(500, "InternalError", f"Internal error occurred: {message}", {"causes": [{"message": message}]})
