"""Merge patches, as the API server applies them: JSON merge patch (RFC 7386) and strategic merge patch.

A patch is an object that looks like the changed parts of the target: its values replace those of the target, null takes
a field away, objects merge. Objects that the target did not have come in without their nulls, those inside lists too.
What the patch does not touch is shared with the target, and a patch that changes nothing gives the target itself.

A *strategic* one knows the types: lists whose type says so merge too, item by item. *Directives* in the patch say more:
`$patch` (replace or delete the object or list it stands in, or the item), `$retainKeys` (drop all fields not listed),
`$deleteFromPrimitiveList/<field>` (take these scalars out), and `$setElementOrder/<field>` (put the items in this
order). Items are told apart by their *merge key*, or by themselves if they are scalars. Items named by the patch stand
as the patch has them, items that only the server has as the server had them; the two rows are then interleaved, a
server's item going before the first item of the patch that followed it on the server.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.core.errors import ApiError, bad_request
from ghostfleet.core.patch.gotext import cannot_decode, go_quote, go_type, go_value
from ghostfleet.core.schema import ANY, Type

__all__ = ["apply_merge_patch", "apply_strategic_merge"]
_PATCH = "$patch"
_RETAIN = "$retainKeys"
_DELETE_PREFIX = "$deleteFromPrimitiveList"
_ORDER_PREFIX = "$setElementOrder"
_ABSENT: Any = object()


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
                new = _without_nulls(value)
        elif current is None:
            new = _without_nulls(value)
        elif current == value and current.__class__ is value.__class__:
            continue
        else:
            new = value if current.__class__ is dict else _without_nulls(value)
        if result is target:
            result = target.copy()
        result[key] = new
    return result


def _without_nulls(value: Any) -> Any:
    """The value without fields that are null; null items of lists stay, as they are no fields."""
    if value.__class__ is dict:
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if value.__class__ is list:
        return [_without_nulls(item) for item in value]
    return value


def apply_strategic_merge(obj: dict[str, Any], patch: dict[str, Any], type: Type) -> dict[str, Any]:
    """The object after the patch, by the rules of its type."""
    if patch.__class__ is not dict:
        raise bad_request(cannot_decode(patch, "map[string]interface {}"))
    return _merge_object(obj, patch, type)


def _failure(message: str) -> ApiError:
    """An error that Kubernetes does not sort into any class."""
    return ApiError(500, "", message)


def _merge_object(original: dict[str, Any], patch: dict[str, Any], type: Type) -> dict[str, Any]:
    if _PATCH in patch:
        return _directed(patch)
    result, rest = original, patch
    if _RETAIN in patch:
        rest = {key: value for key, value in patch.items() if key != _RETAIN}
        result = _retained(result, rest, patch[_RETAIN])
    for key in rest:
        if key.startswith(_ORDER_PREFIX):
            result, rest = _reordered(result, rest, type)
            break
    for key, value in rest.items():
        result = _merge_field(result, original, key, value, type)
    return result


def _directed(patch: dict[str, Any]) -> dict[str, Any]:
    directive = patch[_PATCH]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _PATCH}
    if directive == "delete":
        return {}
    raise _bad_directive(directive, patch)


def _bad_directive(directive: Any, patch: dict[str, Any]) -> ApiError:
    return _failure(f"unknown patch type: {go_value(directive)} in map: {go_value(patch)}")


def _retained(original: dict[str, Any], patch: dict[str, Any], keys: Any) -> dict[str, Any]:
    """The original without the fields that are not to be retained; the patch may not bring others."""
    if not isinstance(keys, list):
        raise bad_request("invalid patch format of retainKeys")
    for key, value in patch.items():
        if value is not None and key not in keys and not key.startswith((_DELETE_PREFIX, _ORDER_PREFIX)):
            raise bad_request("invalid patch format of retainKeys")
    if all(key in keys for key in original):
        return original
    return {key: value for key, value in original.items() if key in keys}


def _merge_field(result: dict[str, Any], original: dict[str, Any], key: str, value: Any, type: Type) -> dict[str, Any]:
    """The result with one field of the patch merged; copied first if it still is the original."""
    deletes = key.startswith(_DELETE_PREFIX)
    if deletes:
        key = _field_of(key, "invalid patch format of primitive list")
    current = result.get(key, _ABSENT)
    if value is None:
        new = _ABSENT
    elif current.__class__ is not value.__class__:
        new = current if deletes else _cleaned(_without_nulls(value))
    elif key in type.replaces:
        new = value
    elif current.__class__ is dict:
        new = _merge_object(current, value, _child(type, key))
    elif current.__class__ is list:
        new = _merge_list(current, value, _child(type, key), deletes)
    else:
        new = current if current == value else value
    return _with(result, original, key, new)


def _with(result: dict[str, Any], original: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    current = result.get(key, _ABSENT)
    if current is value or (current.__class__ is list and current == value):
        return result
    if result is original:
        result = original.copy()
    if value is _ABSENT:
        del result[key]
    else:
        result[key] = value
    return result


def _field_of(key: str, complaint: str) -> str:
    _, slash, field = key.partition("/")
    if not slash:
        raise bad_request(complaint)
    return field


def _child(type: Type, key: str) -> Type:
    if type.sort != "object":
        raise _failure("merging an object in json but data type is not struct, instead is: map")
    child = type.fields.get(key)
    if child is None:
        name = type.name.rpartition(".")[2]
        raise _failure(f"unable to find api field in struct {name} for the json field {go_quote(key)}")
    return child


def _cleaned(value: Any) -> Any:
    """A new value without the objects in it that are directives; absent if it is one itself."""
    if value.__class__ is dict:
        if _PATCH in value:
            return _ABSENT
        pairs = ((key, _cleaned(item)) for key, item in value.items())
        return {key: item for key, item in pairs if item is not _ABSENT}
    if value.__class__ is list:
        return [item for item in map(_cleaned, value) if item is not _ABSENT]
    return value


# -- lists -------------------------------------------------------------------------------------------------------------


def _merge_list(original: list[Any], patch: list[Any], type: Type, deletes: bool = False) -> list[Any]:
    if not deletes and not type.merges:
        return patch
    if not original and not patch:
        return original
    key = type.merge_key
    if not _holds_objects(original, patch):
        if deletes:
            return [item for item in original if item not in patch]
        both = list(dict.fromkeys([*original, *patch]))
        return _combined_order(both, patch, original, None)
    if not key:
        item = type.items or ANY
        raise _failure(f"cannot merge lists without merge key for {'struct' if item.sort == 'object' else item.sort}")
    original, patch = _without_special_items(original, patch, key)
    return _combined_order(_merge_items(original, patch, key, type.items or ANY), patch, original, key)


def _holds_objects(*lists: list[Any]) -> bool:
    """Whether these lists are of objects; items of several types are an error, and so are lists in lists."""
    kinds = list(dict.fromkeys(type(item) for items in lists for item in items))
    if not kinds:
        raise _failure("no elements in any of the given slices")
    if kinds[0] is list:
        message = "the server rejected our request due to an error in our request"
        raise ApiError(422, "Invalid", message, {})
    if len(kinds) > 1:
        raise _failure(f"list element types are not identical: {go_value(list(lists))}")
    return kinds[0] is dict


def _without_special_items(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Obey the items of the patch that are directives; what is left of both lists."""
    plain = []
    replaces = False
    for item in patch:
        directive = item.get(_PATCH, _ABSENT)
        if directive is _ABSENT:
            plain.append(item)
        elif directive == "delete":
            if key not in item:
                raise _failure(_no_merge_key(item, key))
            original = [other for other in original if other.get(key, _ABSENT) != item[key]]
        elif directive == "replace":
            replaces = True
        elif directive == "merge":
            raise _failure("merging lists cannot yet be specified in the patch")
        else:
            raise _bad_directive(directive, item)
    return (plain, []) if replaces else (original, plain)


def _merge_items(original: list[Any], patch: list[Any], key: str, type: Type) -> list[Any]:
    result = original.copy()
    for item in patch:
        if key not in item:
            raise _failure(_no_merge_key(item, key))
        at = _index_in(result, item, key)
        if at < 0:
            result.append(item)
        else:
            result[at] = _merge_object(result[at], item, type)
    return result


def _reordered(original: dict[str, Any], patch: dict[str, Any], type: Type) -> tuple[dict[str, Any], dict[str, Any]]:
    """Merge the lists whose order the patch sets; the object after that, and the rest of the patch."""
    result, rest = original, dict(patch)
    for directive in patch:
        if not directive.startswith(_ORDER_PREFIX):
            continue
        order = rest.pop(directive)
        if not isinstance(order, list):
            raise _failure(f"expected a []interface {{}}, but received a {go_type(order)}")
        field = _field_of(directive, "invalid patch format of setElementOrder list")
        live, change = result.get(field, _ABSENT), rest.get(field, _ABSENT)
        for value in (live, change):
            if value is not _ABSENT and not isinstance(value, list):
                raise _failure(f"expected a []interface {{}}, but received a {go_type(value)}")
        list_type = _child(type, field)
        _check_order([] if change is _ABSENT else change, order, list_type.merge_key)
        if live is _ABSENT and change is _ABSENT:
            continue
        if change is _ABSENT:
            merged = live
        else:
            merged = _cleaned(change) if live is _ABSENT else _merge_list(live, change, list_type)
        server_order = [] if live is _ABSENT else live
        _holds_objects(server_order, [] if change is _ABSENT else change)
        result = _with(result, original, field, _combined_order(merged, order, server_order, list_type.merge_key))
        rest.pop(field, None)
    return result, rest


def _check_order(patch: list[Any], order: list[Any], key: str | None) -> None:
    """The items of the patch must be among those to be ordered, in the same order; deletions do not count."""
    if not patch or not order:
        return
    items = [item for item in patch if not (key and isinstance(item, dict) and _PATCH in item)]
    at = 0
    for wanted in order:
        if at < len(items) and _ordered(items[at], wanted, key):
            at += 1
    if at < len(items):
        raise _failure(
            f"The order in patch list:\n{go_value(patch)}\n doesn't match {_ORDER_PREFIX} list:\n{go_value(order)}\n"
        )


def _no_merge_key(item: dict[str, Any], key: str) -> str:
    return f"map: {go_value(item)} does not contain declared merge key: {key}"


def _combined_order(items: list[Any], patch_order: list[Any], server_order: list[Any], key: str | None) -> list[Any]:
    """The items, in the order of patch and server together."""
    if key is not None:
        for at, item in enumerate(patch_order):
            if not isinstance(item, dict):
                raise ApiError(500, "", f"value for key {at} is not a map")
        for item in (*items, *patch_order, *server_order):
            _key_of(item, key)
    named = [item for item in items if _index_in(patch_order, item, key) >= 0]
    own = [item for item in items if _index_in(patch_order, item, key) < 0]
    return _interleaved(_sorted(own, server_order, key), _sorted(named, patch_order, key), server_order, key)


def _index_in(items: list[Any], wanted: Any, key: str | None) -> int:
    """Where an item with the same key stands, -1 if none does."""
    if key is None:
        return items.index(wanted) if wanted in items else -1
    value = wanted.get(key)
    return next((at for at, item in enumerate(items) if key in item and item[key] == value), -1)


def _ordered(item: Any, other: Any, key: str | None) -> bool:
    """Whether an item of a patch is the one that an order names."""
    if key is None:
        return bool(item == other)
    return bool(_key_of(item, key) == _key_of(other, key))


def _key_of(item: Any, key: str) -> Any:
    if not isinstance(item, dict):
        raise ApiError(500, "", f"expected a map[string]interface {{}}, but received a {go_type(item)}")
    if key not in item:
        raise ApiError(500, "", _no_merge_key(item, key))
    return item[key]


def _sorted(items: list[Any], order: list[Any], key: str | None) -> list[Any]:
    """Sort by place in the order; an item without one goes before those that stood in front of it."""
    result: list[Any] = []
    for item in items:
        place = _index_in(order, item, key)
        at = len(result)
        while at > 0:
            before = _index_in(order, result[at - 1], key)
            if place >= 0 and before >= 0 and place >= before:
                break
            at -= 1
        result.insert(at, item)
    return result


def _interleaved(own: list[Any], named: list[Any], order: list[Any], key: str | None) -> list[Any]:
    result: list[Any] = []
    rest = list(own)
    for item in named:
        place = _index_in(order, item, key)
        while rest and 0 <= _index_in(order, rest[0], key) < place:
            result.append(rest.pop(0))
        result.append(item)
    return result + rest
