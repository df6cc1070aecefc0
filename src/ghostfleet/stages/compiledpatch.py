"""Compiled patches: how a status patch of a KWOK stage, once it was seen on one object, is done on others.

The outcome of a patch on a status is *compiled* from one example: the status before it, the patch, and the status that
the API made of both. In the example stand *marks*, texts for all that differs from object to object (the time,
addresses, the object's own name); the compiled patch puts the real values in their places. A mark is of the same make
as what it stands for, so that whoever checks the outcome takes it for the real thing; `Marker` puts marks into values
that were found in an object, and remembers what they stand for. What the patch does not touch is taken over from the
old status, and equal parts of new ones are shared: those without marks by all objects, those with the second in them by
all objects of that second, and lists that nothing else is merged into by all objects that shared the old list.

A compiled patch holds for old statuses of one *form*: the same fields, the same keys in the lists that are merged by
key, and the same content of the objects that are merged. Whatever is not as simple as that is not compiled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.schema import Type
from ghostfleet.core.timestamps import rfc3339

__all__ = [
    "HOST_MARKS",
    "NAME_MARK",
    "POD_MARKS",
    "SECOND_MARK",
    "TIME_MARK",
    "CompiledPatch",
    "Marker",
    "Merger",
    "StatusForm",
    "compile_patch",
    "form_of",
    "mergers_of",
]

#: Stands for the present time, and for what the API makes of it in a field that holds whole seconds.
TIME_MARK, SECOND_MARK = "1987-06-05T04:03:02.198765Z", "1987-06-05T04:03:02Z"
NAME_MARK = "zq-own-name-qz"
_NODE_MARK = "zq-own-node-qz"
_UID_MARK = "c0ffee00-1987-4065-8432-0123456789ab"
#: For addresses of nodes and of pods, of the older and the newer family.
HOST_MARKS = ("192.0.2.171", "2001:db8:6767::171")
POD_MARKS = ("198.51.100.172", "2001:db8:6767::172")
#: Marks of what no two objects have in common.
_UNIQUE_MARKS = frozenset((TIME_MARK, NAME_MARK, _UID_MARK, *POD_MARKS))

_OWN_MARKS = frozenset((NAME_MARK, _NODE_MARK, _UID_MARK))
#: So many marks has each part of an object.
_MARKS = 1000

#: Seconds; marks for times that were found count from here.
_LATER = 560_000_000
_NAME = re.compile(r"[a-z][a-z0-9.-]*")
_NOT_TEXTS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
_ADDRESS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}")
_REMEMBERED = 256
StatusForm = tuple[Any, ...]
#: Real values by mark.
Values = Mapping[str, str]
#: Makes a value from the real values by mark; None stands for a value without marks.
Maker = Callable[[Values], Any] | None


class Marker:
    """Puts marks into the parts of one object."""

    __slots__ = ("_count", "_own", "values")

    def __init__(self, obj: Object) -> None:
        self._count = 0
        metadata = obj["metadata"]
        self._own = {metadata.get("uid", ""): _UID_MARK}
        for name, mark in ((metadata["name"], NAME_MARK), ((obj.get("spec") or {}).get("nodeName"), _NODE_MARK)):
            # In a template that does not quote it, a name such as `yes` or `1e3` comes out as no text at all.
            if name and _NAME.fullmatch(name) and name not in _NOT_TEXTS:
                self._own.setdefault(name, mark)
        #: real values by mark
        self.values: dict[str, str] = {}

    def begin(self, part: int) -> None:
        """Turn to another part of the object; each part has marks of its own."""
        self._count = part * _MARKS
        self.values = {}

    @property
    def own(self) -> bool:
        """Whether there are marks among the last part's that stand for what only this object has."""
        return not _OWN_MARKS.isdisjoint(self.values)

    def marked(self, value: Any) -> Any:
        """The value with marks in it; two objects that differ in marked texts only give the same."""
        kind = type(value)
        if kind is str:
            return self._text(value)
        if kind is list:
            return [self.marked(part) for part in value]
        if kind is dict:
            return {key: self.marked(part) for key, part in value.items()}
        return value

    def _text(self, text: str) -> str:
        own = self._own.get(text)
        if own is not None and text:
            self.values[own] = text
            return own
        if len(text) == 20 and text[10] == "T" and text[19] == "Z":
            mark = rfc3339((_LATER + self._count) * SECOND)
        elif ("." in text or ":" in text) and _ADDRESS.fullmatch(text):
            number = self._count
            mark = f"2001:db8:6768::{number:x}" if ":" in text else f"198.18.{number >> 8 & 255}.{number & 255}"
        else:
            return text
        self._count += 1
        self.values[mark] = text
        return mark


class Merger(NamedTuple):
    """A field of the status that is merged with what was there; lists by a key of their items."""

    field: str
    key: str | None


def mergers_of(patch: Object, type_: Type, *, strategic: bool) -> tuple[Merger, ...]:
    """Which fields of a status a patch merges rather than replaces."""
    found = []
    for field, value in patch.items():
        if isinstance(value, dict):
            found.append(Merger(field, None))
        elif isinstance(value, list) and strategic:
            child = type_.child(field)
            if child is not None and child.merges:
                found.append(Merger(field, child.merge_key or ""))
    return tuple(found)


def form_of(status: Object, mergers: tuple[Merger, ...]) -> StatusForm:
    """What a compiled patch must know of an old status."""
    form: list[Any] = [frozenset(status)]
    for field, key in mergers:
        old = status.get(field)
        if old is None:
            form.append(None)
        elif key is None or type(old) is not list:
            form.append(orjson.dumps(old))
        else:
            form.append(tuple([(item.get(key), len(item)) if type(item) is dict else item for item in old]))
    return tuple(form)


class _Part:
    """Something with marks in it; equal ones are shared, where two objects can have equal ones at all."""

    __slots__ = ("_maker", "_memo", "_unique", "marks")

    def __init__(self, value: Any, marks: Values) -> None:
        self._maker = maker_of(value, marks)
        self.marks = _marks_in(value, marks)
        self._unique = not _UNIQUE_MARKS.isdisjoint(self.marks)
        self._memo: dict[Any, Any] = {}

    @property
    def timed(self) -> bool:
        """Whether nothing but the second differs."""
        return self.marks == (SECOND_MARK,)

    def make(self, values: Values) -> Any:
        assert self._maker is not None
        if self._unique:
            return self._maker(values)
        marks = self.marks
        key = values[marks[0]] if len(marks) == 1 else tuple([values[mark] for mark in marks])
        made = self._memo.get(key)
        if made is None:
            if len(self._memo) >= _REMEMBERED:
                self._memo.clear()
            made = self._memo[key] = self._maker(values)
        return made


def _marks_in(value: Any, marks: Values) -> tuple[str, ...]:
    text = orjson.dumps(value).decode()
    return tuple(mark for mark in marks if mark in text)


class _Item(NamedTuple):
    """One item of a merged list: an old one, a new one (fixed, or with marks in it), or a new one over an old one."""

    old: int
    fixed: Object | None = None
    part: _Part | None = None
    drops: tuple[str, ...] = ()


class _List(NamedTuple):
    field: str
    items: tuple[_Item, ...]

    @property
    def common(self) -> bool:
        """Whether equal old lists become equal new ones."""
        return all(item.part is None for item in self.items)


class CompiledPatch:
    """Makes the new status from an old one of its form, and from the real values by mark."""

    __slots__ = (
        "_common_lists",
        "_drops",
        "_lists",
        "_made",
        "_own",
        "_own_lists",
        "_second",
        "_shared",
        "_timed",
        "exact",
    )

    def __init__(
        self, drops: tuple[str, ...], fixed: Object, marked: Object, lists: list[_List], marks: Values
    ) -> None:
        self._drops = drops
        # Fields with the same marks in them are made together.
        groups: dict[tuple[str, ...], Object] = {}
        for field, value in marked.items():
            groups.setdefault(_marks_in(value, marks), {})[field] = value
        parts = [_Part(fields, marks) for fields in groups.values()]
        inner = [item.part for each in lists for item in each.items if item.part is not None]
        #: the time matters to less than a second
        self.exact = any(TIME_MARK in part.marks for part in (*parts, *inner))
        self._own = [part for part in parts if not part.timed]
        self._lists = lists
        #: what all objects of one second share
        self._timed = [part for part in parts if part.timed]
        self._second = ""
        self._shared = fixed
        self._own_lists: list[_List] = []
        self._common_lists: list[_List] = []
        #: the common lists made last, by field, with the old ones they were made of
        self._made: dict[str, tuple[list[Any], list[Any]]] = {}

    def apply(self, old: Object, values: Values) -> Object:
        """The new status."""
        if values[SECOND_MARK] != self._second:
            self._renew(values)
        new = {**old, **self._shared}
        for part in self._own:
            new.update(part.make(values))
        for field, items in self._own_lists:
            new[field] = _merged(old[field], items, values)
        for field, items in self._common_lists:
            made = self._made.get(field)
            if made is None or made[0] is not old[field]:
                made = self._made[field] = (old[field], _merged(old[field], items, values))
            new[field] = made[1]
        for field in self._drops:
            new.pop(field, None)
        return new

    def _renew(self, values: Values) -> None:
        self._second = values[SECOND_MARK]
        self._shared = dict(self._shared)
        for part in self._timed:
            self._shared.update(part.make(values))
        lists = [_List(each.field, tuple(_renewed(item, values) for item in each.items)) for each in self._lists]
        self._own_lists = [each for each in lists if not each.common]
        self._common_lists = [each for each in lists if each.common]
        self._made.clear()


def _renewed(item: _Item, values: Values) -> _Item:
    if item.part is None or not item.part.timed:
        return item
    return item._replace(fixed=item.part.make(values), part=None)


def maker_of(value: Any, marks: Values) -> Maker:
    """How to make a value with real values in the place of its marks; what has none in it is shared."""
    kind = type(value)
    if kind is str:
        if value in marks:
            return itemgetter(value)
        found = [mark for mark in marks if mark in value]
        return _replacing(value, found) if found else None
    if kind is dict:
        made = [(key, part, maker_of(part, marks)) for key, part in value.items()]
        if all(maker is None for _, _, maker in made):
            return None
        return lambda values: {key: part if maker is None else maker(values) for key, part, maker in made}
    if kind is list:
        items = [(part, maker_of(part, marks)) for part in value]
        if all(maker is None for _, maker in items):
            return None
        return lambda values: [part if maker is None else maker(values) for part, maker in items]
    return None


def _replacing(text: str, marks: list[str]) -> Maker:
    def make(values: Values) -> str:
        made = text
        for mark in marks:
            made = made.replace(mark, values[mark])
        return made

    return make


def _merged(old: list[Any], items: tuple[_Item, ...], values: Values) -> list[Any]:
    merged = []
    for place, fixed, part, drops in items:
        new = part.make(values) if part is not None else fixed
        if new is None:
            merged.append(old[place])
        elif place < 0:
            merged.append(new)
        else:
            both = {**old[place], **new}
            for field in drops:
                both.pop(field, None)
            merged.append(both)
    return merged


def compile_patch(
    old: Object, patch: Object, new: Object, mergers: tuple[Merger, ...], marks: Values
) -> CompiledPatch | None:
    """From a patch with marks in it and the status that it made of an old one; None if it is not simple."""
    drops = tuple(field for field in old if field not in new)
    if any(patch.get(field, "") is not None for field in drops):
        return None
    keys = {merger.field: merger.key for merger in mergers}
    fixed: Object = {}
    marked: Object = {}
    lists: list[_List] = []
    for field, value in new.items():
        if field in old and patch.get(field) is None:
            if value != old[field]:
                return None
        elif keys.get(field) is not None and field in old:
            items = _compile_items(str(keys[field]), old[field], patch[field], value, marks)
            if items is None:
                return None
            lists.append(_List(field, items))
        elif maker_of(value, marks) is None:
            fixed[field] = value
        else:
            marked[field] = value
    return CompiledPatch(drops, fixed, marked, lists, marks)


def _compile_items(key: str, old: Any, patch: list[Any], new: list[Any], marks: Values) -> tuple[_Item, ...] | None:
    """How the items of a merged list come about; None if a key is missing, comes twice or is a mark."""
    if not key or type(old) is not list or not all(type(item) is dict and key in item for item in (*old, *patch, *new)):
        return None
    places = {item[key]: place for place, item in enumerate(old)}
    changes = {item[key]: item for item in patch}
    if len(places) != len(old) or len(changes) != len(patch) or maker_of(list(changes), marks) is not None:
        return None
    items = []
    for item in new:
        place, change = places.get(item[key], -1), changes.get(item[key])
        if change is None:
            if place < 0 or old[place] != item:
                return None
            items.append(_Item(place))
        elif place < 0:
            items.append(_new_item(-1, item, marks, ()))
        else:
            set_ = {name: value for name, value in item.items() if name in change or name not in old[place]}
            items.append(_new_item(place, set_, marks, tuple(name for name in old[place] if name not in item)))
    return tuple(items)


def _new_item(place: int, item: Object, marks: Values, drops: tuple[str, ...]) -> _Item:
    if maker_of(item, marks) is None:
        return _Item(place, item, None, drops)
    return _Item(place, None, _Part(item, marks), drops)
