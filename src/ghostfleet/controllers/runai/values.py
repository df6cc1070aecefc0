"""Values: the fields of a workload's spec, each wrapped as `{value: ...}`, or `{items: {name: {value: ...}}}` for many.

Whoever writes a workload by hand writes numbers as texts and texts as numbers; both are taken for what they say.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.core.changes import Object

__all__ = ["FieldProblem", "flag", "items", "number", "text", "value"]


class FieldProblem(ValueError):
    """A field of a workload that cannot be used: which, and what was expected."""

    def __init__(self, field: str, found: Any, expected: str) -> None:
        super().__init__(f"spec.{field}: found {found!r}, expected {expected}")


def value(spec: Object, field: str) -> Any:
    """What a field holds; None when it is not there."""
    wrapped = spec.get(field)
    return wrapped.get("value") if isinstance(wrapped, dict) else None


def text(spec: Object, field: str) -> str:
    """What a field says; empty when it is not there."""
    found = value(spec, field)
    if isinstance(found, dict | list):
        raise FieldProblem(f"{field}.value", found, "a text")
    return _written(found)


def flag(spec: Object, field: str, *, default: bool = False) -> bool:
    found = value(spec, field)
    if found is None:
        return default
    return _written(found).lower() == "true"


def number(spec: Object, field: str, default: int) -> int:
    """A whole number, 0 or more."""
    found = _written(value(spec, field))
    if not found:
        return default
    if not (found.isascii() and found.isdigit()):
        raise FieldProblem(f"{field}.value", found, "a whole number")
    return int(found)


def items(spec: Object, field: str) -> dict[str, Any]:
    """The values of a field that holds many, by name."""
    wrapped = spec.get(field)
    found = wrapped.get("items") if isinstance(wrapped, dict) else None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise FieldProblem(f"{field}.items", found, "an object")
    return {name: each.get("value") if isinstance(each, dict) else each for name, each in found.items()}


def _written(found: Any) -> str:
    if found is None:
        return ""
    return str(found).lower() if isinstance(found, bool) else str(found)
