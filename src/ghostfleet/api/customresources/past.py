"""The past of a value: what stood in the same place before an update.

Fields are found by name, items only in lists that are maps, by their keys; a place that the schema does not name has
no past. Equality is JSON's: 1 is neither true nor 1.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ghostfleet.api.customresources.nodes import Raw

__all__ = ["Past", "same_json"]


class Past:
    """The old value of one place, and the schema there."""

    __slots__ = ("raw", "value")

    def __init__(self, value: Any, raw: Raw) -> None:
        self.value = value
        self.raw = raw

    def field(self, key: str) -> Past | None:
        if not isinstance(self.value, dict) or key not in self.value:
            return None
        schema = (self.raw.get("properties") or {}).get(key, self.raw.get("additionalProperties"))
        return Past(self.value[key], schema) if isinstance(schema, Mapping) else None

    def item(self, new: Any) -> Past | None:
        """The item of the old list that has the keys of this one."""
        items, keys = self.raw.get("items"), self.raw.get("x-kubernetes-list-map-keys")
        if self.raw.get("x-kubernetes-list-type") != "map" or not isinstance(items, Mapping) or not keys:
            return None
        if not isinstance(self.value, list) or not isinstance(new, dict):
            return None
        wanted = _keys_of(new, keys, items)
        for old in self.value:
            if isinstance(old, dict) and same_json(_keys_of(old, keys, items), wanted):
                return Past(old, items)
        return None

    def is_unchanged(self, new: Any) -> bool:
        if self.raw.get("x-kubernetes-list-type") == "map" and isinstance(new, list) and isinstance(self.value, list):
            pasts = [self.item(item) for item in new]
            return len(new) == len(self.value) and all(
                past is not None and past.is_unchanged(item) for past, item in zip(pasts, new, strict=True)
            )
        if isinstance(new, dict) and isinstance(self.value, dict):
            return new.keys() == self.value.keys() and all(
                same_json(self.value[key], item) if (past := self.field(key)) is None else past.is_unchanged(item)
                for key, item in new.items()
            )
        return same_json(self.value, new)


def _keys_of(item: Mapping[str, Any], keys: list[str], schema: Raw) -> list[Any]:
    fields = schema.get("properties") or {}
    return [item.get(key, (fields.get(key) or {}).get("default")) for key in keys]


def same_json(left: Any, right: Any) -> bool:
    """Whether two JSON values are the same, types of numbers included."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same_json(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same_json, left, right))
    return bool(left == right)
