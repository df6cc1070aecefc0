"""The order of items in a merged list.

Items named by the patch stand as the patch has them, items that only the server has as the server had them; the two
rows are then interleaved, a server's item going before the first item of the patch that followed it on the server.
Items are told apart by their *merge key*, or by themselves if they are scalars.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.core.errors import ApiError
from ghostfleet.core.patch.gotext import go_type, go_value

__all__ = ["combined_order", "index_in", "no_merge_key", "ordered"]


def no_merge_key(item: dict[str, Any], key: str) -> str:
    return f"map: {go_value(item)} does not contain declared merge key: {key}"


def combined_order(items: list[Any], patch_order: list[Any], server_order: list[Any], key: str | None) -> list[Any]:
    """The items, in the order of patch and server together."""
    if key is not None:
        for at, item in enumerate(patch_order):
            if not isinstance(item, dict):
                raise ApiError(500, "", f"value for key {at} is not a map")
        for item in (*items, *patch_order, *server_order):
            _key_of(item, key)
    named = [item for item in items if index_in(patch_order, item, key) >= 0]
    own = [item for item in items if index_in(patch_order, item, key) < 0]
    return _interleaved(_sorted(own, server_order, key), _sorted(named, patch_order, key), server_order, key)


def index_in(items: list[Any], wanted: Any, key: str | None) -> int:
    """Where an item with the same key stands, -1 if none does."""
    if key is None:
        return items.index(wanted) if wanted in items else -1
    value = wanted.get(key)
    return next((at for at, item in enumerate(items) if key in item and item[key] == value), -1)


def ordered(item: Any, other: Any, key: str | None) -> bool:
    """Whether an item of a patch is the one that an order names."""
    if key is None:
        return bool(item == other)
    return bool(_key_of(item, key) == _key_of(other, key))


def _key_of(item: Any, key: str) -> Any:
    if not isinstance(item, dict):
        raise ApiError(500, "", f"expected a map[string]interface {{}}, but received a {go_type(item)}")
    if key not in item:
        raise ApiError(500, "", no_merge_key(item, key))
    return item[key]


def _sorted(items: list[Any], order: list[Any], key: str | None) -> list[Any]:
    """Sort by place in the order; an item without one goes before those that stood in front of it."""
    result: list[Any] = []
    for item in items:
        place = index_in(order, item, key)
        at = len(result)
        while at > 0:
            before = index_in(order, result[at - 1], key)
            if place >= 0 and before >= 0 and place >= before:
                break
            at -= 1
        result.insert(at, item)
    return result


def _interleaved(own: list[Any], named: list[Any], order: list[Any], key: str | None) -> list[Any]:
    result: list[Any] = []
    rest = list(own)
    for item in named:
        place = index_in(order, item, key)
        while rest and 0 <= index_in(order, rest[0], key) < place:
            result.append(rest.pop(0))
        result.append(item)
    return result + rest
