"""Functions on lists, sets and maps: Kubernetes' own and cel-go's extensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from ghostfleet.languages.cel.checked.declarations import Cost, Function, Overload, function, overload
from ghostfleet.languages.cel.checked.values import equal, size_of, type_name
from ghostfleet.languages.cel.operators import ARITHMETIC
from ghostfleet.languages.cel.values import CelError, Duration, Uint

__all__ = ["LISTS"]

_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_ZEROS: dict[str, Any] = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}
#: what calling a function and making a list costs (cel-go, ext/lists.go)
_LIST_COST = 11
#: a range this long would only be a cost
_MOST_ELEMENTS = 1_000_000


def _size(values: Sequence[Any]) -> int:
    return size_of(values[0])


def _each(template: str, call: Callable[..., Any], cost: Cost = _size) -> list[Overload]:
    return [overload(template.replace("T", each), call, cost) for each in _COMPARABLE]


def _is_sorted(values: list[Any]) -> bool:
    return all(not second < first for first, second in pairwise(values))


def _sum(zero: Any) -> Callable[[list[Any]], Any]:
    def total(values: list[Any]) -> Any:
        result = zero
        for each in values:
            result = ARITHMETIC["+"][type(result), type(each)](result, each)
        return result

    return total


def _extreme(name: str, choose: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    def extreme(values: list[Any]) -> Any:
        if not values:
            raise CelError(f"{name} called on empty list")
        return choose(values)

    return extreme


def _index_of(values: list[Any], wanted: Any) -> int:
    return next((place for place, each in enumerate(values) if equal(each, wanted)), -1)


def _last_index_of(values: list[Any], wanted: Any) -> int:
    return max((place for place, each in enumerate(values) if equal(each, wanted)), default=-1)


def _slice(values: list[Any], start: int, end: int) -> list[Any]:
    where = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        raise CelError(f"{where}, negative indexes not supported")
    if start > end:
        raise CelError(f"{where}, start index must be less than or equal to end index")
    if end > len(values):
        raise CelError(f"{where}, list is length {len(values)}")
    return values[start:end]


def _flatten(values: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise CelError("level must be non-negative")
    flat: list[Any] = []
    for each in values:
        flat += _flatten(each, depth - 1) if type(each) is list and depth > 0 else [each]
    return flat


def _sorted_by(values: list[Any], keys: list[Any]) -> list[Any]:
    if not keys:
        return values
    names = {type_name(key) for key in keys}
    if len(names) > 1:
        raise CelError("list elements must have the same type")
    if names & {"list", "map", "null_type", "type"}:
        raise CelError("list elements must be comparable")
    return [values[place] for place in sorted(range(len(values)), key=lambda place: keys[place])]


def _range(count: int) -> list[int]:
    if count > _MOST_ELEMENTS:
        raise CelError(f"lists.range({count}): too many elements")
    return list(range(count))


def _distinct(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for each in values:
        if not any(equal(each, other) for other in found):
            found.append(each)
    return found


def _contains(values: list[Any], others: list[Any]) -> bool:
    return all(any(equal(each, other) for each in values) for other in others)


def _map_insert(whole: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    if key in whole:
        raise CelError(f"insert failed: key {key} already exists")
    return {**whole, key: value}


def _map_merge(whole: dict[Any, Any], more: dict[Any, Any]) -> dict[Any, Any]:
    for key, value in more.items():
        whole = _map_insert(whole, key, value)
    return whole


def _pairs(factor: int) -> Cost:
    return lambda values: size_of(values[0]) * size_of(values[1]) * factor + 1


def _made(values: Sequence[Any]) -> int:
    """Making a list as long as another."""
    return _LIST_COST + size_of(values[0])


def _made_flat(values: Sequence[Any]) -> int:
    return _LIST_COST + sum(len(each) if type(each) is list else 1 for each in values[0])


def _made_slice(values: Sequence[Any]) -> int:
    return _LIST_COST + max(0, min(int(values[2]), size_of(values[0])) - max(int(values[1]), 0))


def _made_range(values: Sequence[Any]) -> int:
    return _LIST_COST + max(0, int(values[0]))


def _made_by_pairs(values: Sequence[Any]) -> int:
    size = size_of(values[0])
    return _LIST_COST + 2 * size * size


LISTS: list[Function] = [
    function("isSorted", *_each("list(T).() -> bool", _is_sorted)),
    function("sum", *(overload(f"list({name}).() -> {name}", _sum(zero), _size) for name, zero in _ZEROS.items())),
    function("max", *_each("list(T).() -> T", _extreme("max", max))),
    function("min", *_each("list(T).() -> T", _extreme("min", min))),
    function("indexOf", overload("list(A).(A) -> int", _index_of, _size)),
    function("lastIndexOf", overload("list(A).(A) -> int", _last_index_of, _size)),
    function("slice", overload("list(A).(int, int) -> list(A)", _slice, _made_slice)),
    function(
        "flatten",
        overload("list(list(A)).() -> list(A)", _flatten, _made_flat),
        overload("list(dyn).(int) -> list(dyn)", _flatten, _made_flat),
    ),
    function("sort", *_each("list(T).() -> list(T)", lambda values: _sorted_by(values, values), _made_by_pairs)),
    function("@sortByAssociatedKeys", *_each("list(A).(list(T)) -> list(A)", _sorted_by, _made_by_pairs)),
    function("lists.range", overload("(int) -> list(int)", _range, _made_range)),
    function("reverse", overload("list(A).() -> list(A)", lambda values: values[::-1], _made)),
    function("distinct", overload("list(A).() -> list(A)", _distinct, _made_by_pairs)),
    function("sets.contains", overload("(list(A), list(A)) -> bool", _contains, _pairs(1))),
    function(
        "sets.equivalent",
        overload(
            "(list(A), list(A)) -> bool",
            lambda values, others: _contains(values, others) and _contains(others, values),
            _pairs(2),
        ),
    ),
    function(
        "sets.intersects",
        overload(
            "(list(A), list(A)) -> bool",
            lambda values, others: any(equal(each, other) for each in values for other in others),
            _pairs(1),
        ),
    ),
    function(
        "cel.@mapInsert",
        overload("(map(A, B), map(A, B)) -> map(A, B)", _map_merge),
        overload("(map(A, B), A, B) -> map(A, B)", _map_insert),
    ),
]
