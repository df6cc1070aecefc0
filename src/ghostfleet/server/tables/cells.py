"""Cells: the pieces of text that columns of many kinds share.

Absent, null and empty are the same here, as they are for Kubernetes' own printers, which read Go structs: `part` and
`items` answer with an empty dict or list for what is not there. Times are microseconds since the epoch; an *age* is the
time since a stamp, in Kubernetes' short form (`5m10s`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ghostfleet.core import quantity
from ghostfleet.core.changes import Object
from ghostfleet.core.timestamps import age, parse_rfc3339

__all__ = [
    "age_of",
    "condition",
    "container_images",
    "container_names",
    "created",
    "first_few",
    "is_true",
    "items",
    "label_text",
    "moment",
    "name_of",
    "part",
    "quantity_text",
    "selector_query",
    "selector_text",
]


def part(obj: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """The object at this path; an empty one when nothing is there."""
    for key in path:
        obj = obj.get(key) or {}
    return obj


def items(obj: Mapping[str, Any], key: str) -> Sequence[Any]:
    return obj.get(key) or ()


def name_of(obj: Object) -> str:
    return str(part(obj, "metadata").get("name") or "")


def moment(stamp: str | None) -> int | None:
    """The time a stamp says, None for no stamp."""
    return parse_rfc3339(stamp) if stamp else None


def age_of(stamp: str | None, now: int) -> str:
    return age(now - parse_rfc3339(stamp)) if stamp else "<unknown>"


def created(obj: Object, now: int) -> str:
    """Age of the object."""
    return age_of(part(obj, "metadata").get("creationTimestamp"), now)


def first_few(texts: Sequence[str], limit: int = 3, separator: str = ",") -> str:
    """The first of them, and how many more there are."""
    shown = separator.join(texts[:limit])
    return f"{shown} + {len(texts) - limit} more..." if len(texts) > limit else shown


def condition(obj: Object, sort: str) -> Mapping[str, Any]:
    """The status condition of this type; an empty one when there is none."""
    found: Mapping[str, Any]
    for found in items(part(obj, "status"), "conditions"):
        if found.get("type") == sort:
            return found
    return {}


def is_true(obj: Object, sort: str) -> bool:
    return bool(condition(obj, sort).get("status") == "True")


def quantity_text(value: str | int | float | None, missing: str = "0") -> str:
    """A quantity in canonical form."""
    return missing if value is None else quantity.canonical(value)


def label_text(labels: Mapping[str, str] | None) -> str:
    return ",".join(sorted(f"{key}={value}" for key, value in (labels or {}).items())) or "<none>"


_OPERATORS = {"In": "in", "NotIn": "notin"}


def _requirement_text(requirement: Mapping[str, Any]) -> str:
    key, operator = requirement.get("key") or "", requirement.get("operator") or ""
    if operator in _OPERATORS:
        return f"{key} {_OPERATORS[operator]} ({','.join(sorted(items(requirement, 'values')))})"
    return f"!{key}" if operator == "DoesNotExist" else str(key)


def selector_query(selector: Mapping[str, Any] | None) -> str:
    """A label selector as it is written in a query; empty when it selects everything or is not there."""
    selector = selector or {}
    requirements = [(key, f"{key}={value}") for key, value in part(selector, "matchLabels").items()]
    requirements += [
        (entry.get("key") or "", _requirement_text(entry)) for entry in items(selector, "matchExpressions")
    ]
    return ",".join(query for _, query in sorted(requirements, key=lambda requirement: requirement[0]))


def selector_text(selector: Mapping[str, Any] | None) -> str:
    return selector_query(selector) or "<none>"


def container_names(template: Mapping[str, Any]) -> str:
    return ",".join(container.get("name") or "" for container in items(part(template, "spec"), "containers"))


def container_images(template: Mapping[str, Any]) -> str:
    return ",".join(container.get("image") or "" for container in items(part(template, "spec"), "containers"))
