"""Queries: what a request's parameters ask for, checked by the rules of the real API server.

Booleans follow Go's reading of a query, where only `false` and `0` are false and even an empty value is true. The
options of a delete may come as a body instead; then the query does not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, cast

import orjson

from ghostfleet.api.options import DeleteOptions, ListOptions, WriteOptions
from ghostfleet.core.durations import parse_duration
from ghostfleet.core.errors import ApiError, FieldError, bad_request, invalid
from ghostfleet.server.requests import Query

__all__ = [
    "Deletion",
    "Listing",
    "LogOptions",
    "check_timeout",
    "delete_options",
    "listing",
    "log_options",
    "manager",
    "write_options",
]

Validation = Literal["Strict", "Warn", "Ignore"]

_LONGEST_MANAGER = 128
_INT64 = 1 << 63
_NANOSECONDS = 1_000_000_000
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_POLICIES = ("Foreground", "Background", "Orphan")


def _first(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def _flag(query: Query, name: str) -> bool | None:
    """A boolean parameter; None when it is absent."""
    values = query.get(name)
    return None if values is None else values[0].lower() not in ("false", "0")


def _integer(query: Query, name: str) -> int | None:
    """An integer parameter; None when it is absent."""
    values = query.get(name)
    if values is None:
        return None
    text = values[0]
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise bad_request(f"strconv.ParseInt: parsing {_quoted(text)}: invalid syntax")
    # Longer ones are out of range whatever they say; Python refuses to read thousands of digits.
    number = int(text) if len(digits.lstrip("0")) < 20 else _INT64
    if not -_INT64 <= number < _INT64:
        raise bad_request(f"strconv.ParseInt: parsing {_quoted(text)}: value out of range")
    return number


def _go_seconds(number: int) -> float:
    """So many seconds as the real server counts them: in nanoseconds of 64 bits, which overflow."""
    return ((number * _NANOSECONDS + _INT64) % (2 * _INT64) - _INT64) / _NANOSECONDS


def check_timeout(query: Query) -> None:
    """Refuse a `timeout` that is no duration. One that is makes no difference: all answers come at once."""
    text = _first(query, "timeout")
    if text:
        try:
            parse_duration(text)
        except ValueError as error:
            raise bad_request(f"invalid timeout specified in the request URL - {error}") from None


def _quoted(text: str) -> str:
    return orjson.dumps(text).decode()


@lru_cache(maxsize=256)
def manager(user_agent: str) -> str:
    """Whom a write belongs to when the client does not say: the first word of its User-Agent."""
    word = user_agent.partition("/")[0]
    if not word.isprintable():
        word = "".join(letter for letter in word if letter.isprintable())
    return word.encode()[:_LONGEST_MANAGER].decode(errors="ignore")


def write_options(
    query: Query,
    user_agent: str,
    kind: Literal["CreateOptions", "UpdateOptions", "PatchOptions"],
    *,
    apply: bool = False,
) -> WriteOptions:
    """Options of a create, an update or a patch; `apply` is server-side apply."""
    if not query:
        if apply:
            raise invalid(kind, "meta.k8s.io", "", [_MISSING_MANAGER])
        return WriteOptions(manager(user_agent))
    errors: list[FieldError] = []
    named = _first(query, "fieldManager")
    force = _flag(query, "force") if kind == "PatchOptions" else None
    if apply and not named:
        errors.append(_MISSING_MANAGER)
    if force is not None and not apply:
        errors.append(FieldError.forbidden("force", "may not be specified for non-apply patch"))
    errors.extend(_manager_errors(named))
    dry_run = query.get("dryRun", [])
    errors.extend(_dry_run_errors(dry_run))
    validation = _first(query, "fieldValidation")
    if validation not in _VALIDATIONS:
        errors.append(FieldError.unsupported("fieldValidation", validation, _VALIDATIONS))
    if errors:
        raise invalid(kind, "meta.k8s.io", "", errors)
    return WriteOptions(
        named or manager(user_agent), cast(Validation, validation or "Warn"), bool(dry_run), bool(force)
    )


_MISSING_MANAGER = FieldError.required("fieldManager", "is required for apply patch")


def _manager_errors(named: str) -> list[FieldError]:
    errors = []
    if len(named.encode()) > _LONGEST_MANAGER:
        errors.append(FieldError.too_long("fieldManager", _LONGEST_MANAGER))
    for position, letter in enumerate(named):
        if not letter.isprintable():
            detail = f"invalid character U+{ord(letter):04X} (at position {position})"
            errors.append(FieldError.invalid("fieldManager", named, detail))
    return errors


def _dry_run_errors(values: list[str]) -> list[FieldError]:
    if all(value == "All" for value in values):
        return []
    return [FieldError.unsupported("dryRun", values, ("All",))]


@dataclass(slots=True)
class Listing:
    """What a list, a watch or the deletion of a collection is about."""

    options: ListOptions
    watch: bool = False
    #: seconds; 0 leaves it to the server, and a watch that is to last less than nothing ends at once
    timeout: float = 0
    bookmarks: bool = False
    #: sendInitialEvents; None when the client does not say
    initial_events: bool | None = None


def listing(query: Query, *, watch: bool = False) -> Listing:
    """Options of a list or watch; `watch` when the path says already that it is one."""
    if not query:
        return Listing(ListOptions(), watch)
    found = Listing(
        ListOptions(
            _first(query, "labelSelector"),
            _first(query, "fieldSelector"),
            max(_integer(query, "limit") or 0, 0),
            _first(query, "continue"),
            _first(query, "resourceVersion"),
            _first(query, "resourceVersionMatch"),
        ),
        watch or bool(_flag(query, "watch")),
        _go_seconds(_integer(query, "timeoutSeconds") or 0),
        bool(_flag(query, "allowWatchBookmarks")),
        _flag(query, "sendInitialEvents"),
    )
    errors = _watch_errors(found) if found.watch else _list_errors(found)
    if errors:
        raise invalid("ListOptions", "meta.k8s.io", "", errors)
    return found


def _list_errors(found: Listing) -> list[FieldError]:
    options, field, errors = found.options, "resourceVersionMatch", []
    match = options.resource_version_match
    if match:
        if not options.resource_version:
            errors.append(FieldError.forbidden(field, f"{field} is forbidden unless resourceVersion is provided"))
        if options.continue_:
            errors.append(FieldError.forbidden(field, f"{field} is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            errors.append(FieldError.unsupported(field, match, ("Exact", "NotOlderThan", "")))
        if match == "Exact" and options.resource_version == "0":
            errors.append(FieldError.forbidden(field, f'{field} "exact" is forbidden for resourceVersion "0"'))
    if found.initial_events is not None:
        errors.append(FieldError.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _watch_errors(found: Listing) -> list[FieldError]:
    options, field, errors = found.options, "resourceVersionMatch", []
    match = options.resource_version_match
    if found.initial_events is not None and match != "NotOlderThan":
        errors.append(FieldError.forbidden(field, f"sendInitialEvents requires setting {field} to NotOlderThan"))
    if match:
        if found.initial_events is None:
            detail = f"{field} is forbidden for watch unless sendInitialEvents is provided"
            errors.append(FieldError.forbidden(field, detail))
        if match != "NotOlderThan":
            errors.append(FieldError.unsupported(field, match, ("NotOlderThan",)))
        if options.continue_:
            errors.append(FieldError.forbidden(field, f"{field} is forbidden when continue is provided"))
    return errors


@dataclass(slots=True)
class Deletion:
    """Options of a delete, and whether they were given in the deprecated way that answers 202."""

    options: DeleteOptions
    accepted: bool = False


def delete_options(query: Query, body: dict[str, Any] | None) -> Deletion:
    """Options of a delete, from its body or else from the query."""
    if body is not None:
        return _checked_deletion(
            _typed(body, "gracePeriodSeconds", int, "int64"),
            _typed(body, "orphanDependents", bool, "bool"),
            _typed(body, "propagationPolicy", str, "v1.DeletionPropagation"),
            _strings(body, "dryRun"),
            _typed(body, "preconditions", dict, "v1.Preconditions") or {},
        )
    if not query:
        return Deletion(DeleteOptions())
    policies = query.get("propagationPolicy")
    return _checked_deletion(
        _integer(query, "gracePeriodSeconds"),
        _flag(query, "orphanDependents"),
        policies[0] if policies else None,
        query.get("dryRun", []),
        {},
    )


def _checked_deletion(
    grace: int | None, orphan: bool | None, policy: str | None, dry_run: list[str], conditions: dict[str, Any]
) -> Deletion:
    errors = []
    if orphan is not None and policy is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(FieldError.invalid("propagationPolicy", policy, detail))
    if policy is not None and policy not in _POLICIES:
        errors.append(FieldError.unsupported("propagationPolicy", policy, (*_POLICIES, "nil")))
    errors.extend(_dry_run_errors(dry_run))
    if errors:
        raise invalid("DeleteOptions", "meta.k8s.io", "", errors)
    if orphan is not None:
        policy = "Orphan" if orphan else "Background"
    uid = _typed(conditions, "uid", str, "types.UID")
    revision = _typed(conditions, "resourceVersion", str, "string")
    return Deletion(DeleteOptions(policy, grace, uid, revision, bool(dry_run)), accepted=orphan is False)


def _typed(body: dict[str, Any], field: str, wanted: type, go_type: str) -> Any:
    value = body.get(field)
    if value is None or (isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))):
        return value
    raise _mismatch(value, field, go_type)


def _strings(body: dict[str, Any], field: str) -> list[str]:
    values = body.get(field)
    if values is None:
        return []
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise _mismatch(values, field, "[]string")
    return values


_JSON_NAMES = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}


def _mismatch(value: Any, field: str, go_type: str) -> ApiError:
    found = _JSON_NAMES.get(type(value), "value")
    return bad_request(f"json: cannot unmarshal {found} into Go struct field DeleteOptions.{field} of type {go_type}")


@dataclass(slots=True)
class LogOptions:
    """Which lines of which container to show."""

    container: str = ""
    previous: bool = False
    follow: bool = False
    tail: int | None = None
    limit_bytes: int | None = None


def log_options(query: Query, pod: str) -> LogOptions:
    """Options of a request for logs."""
    if not query:
        return LogOptions()
    tail, size = _integer(query, "tailLines"), _integer(query, "limitBytes")
    errors = []
    if tail is not None and tail < 0:
        errors.append(FieldError.invalid("tailLines", tail, "must be greater than or equal to 0"))
    if size is not None and size < 1:
        errors.append(FieldError.invalid("limitBytes", size, "must be greater than 0"))
    if errors:
        raise invalid("PodLogOptions", "", pod, errors)
    return LogOptions(
        _first(query, "container"), bool(_flag(query, "previous")), bool(_flag(query, "follow")), tail, size
    )
