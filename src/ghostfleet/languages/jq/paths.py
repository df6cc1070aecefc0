"""Paths in jq: arrays of keys that lead to a part of a value, to read it, replace it or take it away.

A value is never changed; what lies on a path is copied, the rest is shared. Where many paths of one value are followed,
the copies made so far are *owned* and may be changed, or the work would grow with the square of their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.jq.values import (
    JqError,
    bounds,
    described,
    index,
    is_number,
    preview,
    to_int,
    wrong_type,
)

__all__ = ["Owned", "delpaths", "getpath", "setpath"]

#: stands in the place of what is to be deleted, until all paths have been followed
_GONE = object()
#: gojq's own bound
_MOST = 1 << 29


def getpath(value: Any, path: Any) -> Any:
    if type(path) is not list:
        raise wrong_type("getpath", value, path)
    BUDGET.step(len(path) // 4)
    found = value
    for key in path:
        if not (found is None or type(found) in (list, dict)):
            raise wrong_type("getpath", value, path)
        try:
            found = index(found, key)
        except JqError as error:
            raise JqError(f"getpath({preview(path)}) cannot be applied to {preview(value)}: {error}") from None
    return found


class Owned:
    """Containers that were made here, and that nobody else has seen yet."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}

    def copy(self, value: Any) -> Any:
        """The value if it is owned, or a copy that is."""
        if id(value) in self._made:
            return value
        BUDGET.step(1 + len(value) // (8 if type(value) is dict else 64))
        made = value.copy()
        self._made[id(made)] = made
        return made


def setpath(value: Any, path: Any, new: Any, owned: Owned | None = None) -> Any:
    if type(path) is not list:
        raise wrong_type("setpath", value, path)
    try:
        return _updated(value, path, new, owned or Owned())
    except JqError as error:
        what = f"setpath({preview(path)}; {preview(new)})"
        raise JqError(f"{what} cannot be applied to {preview(value)}: {error}") from None


def delpaths(value: Any, paths: Any) -> Any:
    if type(paths) is not list:
        raise wrong_type("delpaths", value, paths)
    marked, owned = value, Owned()
    try:
        for path in paths:
            if type(path) is not list:
                raise JqError(f"expected an array but got: {described(path)}")
            marked = _updated(marked, path, _GONE, owned)
    except JqError as error:
        raise JqError(f"delpaths({preview(paths)}) cannot be applied to {preview(value)}: {error}") from None
    return _swept(marked) if paths else value


def _updated(value: Any, path: Sequence[Any], new: Any, owned: Owned) -> Any:
    if not path:
        return new
    if value is _GONE:
        return value
    key, rest = path[0], path[1:]
    if type(key) is str:
        return _with_key(value, key, rest, new, owned)
    if is_number(key):
        return _with_element(value, to_int(key) or 0, rest, new, owned)
    if type(key) is dict:
        return _with_slice(value, key, rest, new, owned)
    if type(value) is list:
        raise JqError(f"expected a number for indexing an array but got: {described(key)}")
    raise JqError(f"expected a string for object key but got: {described(key)}")


def _with_key(value: Any, key: str, rest: Sequence[Any], new: Any, owned: Owned) -> Any:
    if not (value is None or type(value) is dict):
        raise JqError(f"expected an object but got: {described(value)}")
    if new is _GONE and (value is None or key not in value):
        return value
    made = owned.copy({} if value is None else value)
    made[key] = _updated(made.get(key), rest, new, owned)
    return made


def _with_element(value: Any, place: int, rest: Sequence[Any], new: Any, owned: Owned) -> Any:
    if not (value is None or type(value) is list):
        raise JqError(f"expected an array but got: {described(value)}")
    old = [] if value is None else value
    where = place + len(old) if place < 0 else place
    if not 0 <= where < len(old):
        if new is _GONE:
            return value
        if where < 0:
            raise JqError(f"array index should not be negative: {place}")
        if where >= _MOST:
            raise JqError(f"array index too large: {place}")
        BUDGET.handle(where)
    part = _updated(old[where] if where < len(old) else None, rest, new, owned)
    made = owned.copy(old)
    made += [None] * (where + 1 - len(made))
    made[where] = part
    return made


def _with_slice(value: Any, key: dict[str, Any], rest: Sequence[Any], new: Any, owned: Owned) -> Any:
    if not (value is None or type(value) is list):
        raise JqError(f"expected an array but got: {described(value)}")
    if not {"start", "end"} <= key.keys():
        raise JqError(f'expected "start" and "end" for slicing but got: {described(key)}')
    old = [] if value is None else value
    first, last = bounds(key["start"], key["end"], len(old))
    if new is _GONE and first == last:
        return value
    BUDGET.handle(len(old))
    part = _updated(old[first:last], rest, new, owned)
    if part is not _GONE and type(part) is not list:
        raise JqError(f"expected an array but got: {described(part)}")
    made = owned.copy(old)
    made[first:last] = [_GONE] * (last - first) if part is _GONE else part
    return made


def _swept(value: Any) -> Any:
    if value is _GONE:
        return None
    if type(value) is list or type(value) is dict:
        BUDGET.step(1 + len(value) // 2)
    if type(value) is dict:
        return {key: _swept(part) for key, part in value.items() if part is not _GONE}
    if type(value) is list:
        return [_swept(part) for part in value if part is not _GONE]
    return value
