"""Marks: texts that stand for what differs from object to object.

To learn what a template makes of objects it is rendered with marks in the place of the time, of addresses, and of the
object's own name and the like; where a mark comes out, the real value of another object can be put in. A mark is of the
same make as what it stands for (a time for a time, an address for an address), so that whoever checks the outcome takes
it for the real thing. `Marker` puts marks into values that were found in an object, and remembers what they stand for.
"""

from __future__ import annotations

import re
from typing import Any

from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.timestamps import rfc3339

__all__ = ["HOST_MARKS", "NAME_MARK", "POD_MARKS", "SECOND_MARK", "TIME_MARK", "UNIQUE_MARKS", "Marker"]

#: Stands for the present time, and for what the API makes of it in a field that holds whole seconds.
TIME_MARK, SECOND_MARK = "1987-06-05T04:03:02.198765Z", "1987-06-05T04:03:02Z"
NAME_MARK = "zq-own-name-qz"
_NODE_MARK = "zq-own-node-qz"
_UID_MARK = "c0ffee00-1987-4065-8432-0123456789ab"
#: For addresses of nodes and of pods, of the older and the newer family.
HOST_MARKS = ("192.0.2.171", "2001:db8:6767::171")
POD_MARKS = ("198.51.100.172", "2001:db8:6767::172")
#: Marks of what no two objects have in common.
UNIQUE_MARKS = frozenset((TIME_MARK, NAME_MARK, _UID_MARK, *POD_MARKS))

_OWN_MARKS = frozenset((NAME_MARK, _NODE_MARK, _UID_MARK))
#: So many marks has each part of an object.
_MARKS = 1000

#: Seconds; marks for times that were found count from here.
_LATER = 560_000_000
_NAME = re.compile(r"[a-z][a-z0-9.-]*")
_NOT_TEXTS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
_ADDRESS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}")


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
