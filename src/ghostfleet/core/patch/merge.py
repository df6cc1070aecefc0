"""JSON merge patch (RFC 7386), as the API server applies it.

A patch is an object that looks like the changed parts of the target: its values replace those of the target, null takes
a field away, objects merge. Objects that the target did not have come in without their nulls, those inside lists too.
What the patch does not touch is shared with the target, and a patch that changes nothing gives the target itself.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.core.errors import bad_request
from ghostfleet.core.patch.gotext import cannot_decode

__all__ = ["apply_merge_patch", "without_nulls"]


def apply_merge_patch(obj: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """The object after the patch; the object itself if nothing changed."""
    if patch.__class__ is not dict:
        raise bad_request(f"error decoding patch: {cannot_decode(patch, 'map[string]interface {}')}")
    return _merged(obj, patch)


def _merged(target: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    result = target
    for key, value in patch.items():
        if value is None:
            if key not in result:
                continue
            if result is target:
                result = target.copy()
            del result[key]
            continue
        current = result.get(key)
        if value.__class__ is dict:
            if current.__class__ is dict:
                new = _merged(current, value)
                if new is current:
                    continue
            else:
                new = without_nulls(value)
        elif current is None:
            new = without_nulls(value)
        elif current == value and current.__class__ is value.__class__:
            continue
        else:
            new = value if current.__class__ is dict else without_nulls(value)
        if result is target:
            result = target.copy()
        result[key] = new
    return result


def without_nulls(value: Any) -> Any:
    """The value without fields that are null; null items of lists stay, as they are no fields."""
    if value.__class__ is dict:
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if value.__class__ is list:
        return [without_nulls(item) for item in value]
    return value
