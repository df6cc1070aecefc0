"""Arrays of jq in order: sorted, grouped, without repeats, and their least and greatest elements.

Each function takes the *keys* to order by, one for each element.
"""

from __future__ import annotations

from typing import Any

from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.jq.values import ORDER, compare, wrong_type

__all__ = ["extreme", "grouped", "sorted_by", "unique_by"]


def _array(name: str, value: Any) -> list[Any]:
    if type(value) is not list:
        raise wrong_type(name, value)
    return value


def extreme(name: str, value: Any, by: list[Any], smallest: bool) -> Any:
    """The element whose key is least or greatest: the first of the least, the last of the greatest."""
    array = _array(name, value)
    if not array:
        return None
    BUDGET.step(len(array) // 4)
    best = 0
    for place in range(1, len(array)):
        if (compare(by[best], by[place]) > 0) == smallest:
            best = place
    return array[best]


def _keyed(value: list[Any], by: list[Any]) -> list[tuple[Any, Any]]:
    BUDGET.step(len(value) * len(value).bit_length() // 4)
    return sorted(zip(by, value, strict=True), key=lambda pair: ORDER(pair[0]))


def sorted_by(name: str, value: Any, by: list[Any]) -> list[Any]:
    return [one for _, one in _keyed(_array(name, value), by)]


def grouped(name: str, value: Any, by: list[Any]) -> list[Any]:
    groups: list[tuple[Any, list[Any]]] = []
    for key, one in _keyed(_array(name, value), by):
        if groups and compare(groups[-1][0], key) == 0:
            groups[-1][1].append(one)
        else:
            groups.append((key, [one]))
    return [group for _, group in groups]


def unique_by(name: str, value: Any, by: list[Any]) -> list[Any]:
    return [group[0] for group in grouped(name, value, by)]
