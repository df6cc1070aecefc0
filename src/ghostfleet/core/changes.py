"""Changes: what every write to the store leaves behind, and what watchers see of it.

A *change* is one committed write: its revision, the object before and after. An *event* is a watcher's view of a
change, ADDED, MODIFIED or DELETED with one object; the same view is made once and shared by all watchers, and so are
its encoded bytes. A *history* keeps the newest changes of one resource, so that a watch can start in the past; what
is older is gone and answers 410. All histories of a store stand in one *order*, that of their changes, which has a
bound of its own: where many resources change, each keeps less.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any, Literal

from ghostfleet.core.errors import expired

__all__ = ["Change", "Event", "EventType", "History", "Object"]

Object = dict[str, Any]
EventType = Literal["ADDED", "MODIFIED", "DELETED"]
#: So many changes are kept of all resources together; estimated, about 2 kB each.
ALL_HISTORIES = 131_072
#: So many of the changes of a resource that were shown last keep their encoded bytes.
_ENCODED = 1024


class Event:
    """What a watcher is told."""

    __slots__ = ("_lines", "object", "revision", "type")

    def __init__(self, revision: int, type: EventType, object: Object) -> None:
        self.revision = revision
        self.type: EventType = type
        self.object = object
        self._lines: dict[str, bytes] | None = None

    def line(self, form: str, encode: Callable[[Event], bytes]) -> bytes:
        """The event encoded in `form` (an API version, a table ...): encoded once, then shared."""
        lines = self._lines
        if lines is None:
            lines = self._lines = {}
        line = lines.get(form)
        if line is None:
            line = lines[form] = encode(self)
        return line

    def forget_lines(self) -> None:
        """Let go of the encoded bytes, which a watcher that is late might keep alive."""
        self._lines = None


class Change:
    """One committed write. `old` is None for a creation, `new` for a removal."""

    __slots__ = ("_event", "_views", "name", "namespace", "new", "old", "resource", "revision")

    def __init__(
        self, revision: int, resource: str, namespace: str, name: str, old: Object | None, new: Object | None
    ) -> None:
        self.revision = revision
        self.resource = resource
        self.namespace = namespace
        self.name = name
        self.old = old
        self.new = new
        self._event: Event | None = None
        self._views: dict[EventType, Event] | None = None

    @property
    def type(self) -> EventType:
        return "ADDED" if self.old is None else "DELETED" if self.new is None else "MODIFIED"

    def event(self) -> Event:
        """The change as everyone sees it who sees all of it."""
        event = self._event
        if event is None:
            event = self._event = Event(self.revision, self.type, self.shown_as(self.type))
        return event

    def view(self, type: EventType) -> Event:
        """The change as one sees it for whom the object came or went by it, whatever it was."""
        if type == self.type:
            return self.event()
        views = self._views
        if views is None:
            views = self._views = {}
        view = views.get(type)
        if view is None:
            view = views[type] = Event(self.revision, type, self.shown_as(type))
        return view

    def forget_views(self) -> None:
        """Let go of what watchers were shown, and its bytes; it is made again for the rare one that starts here."""
        for view in (self._event, *(self._views or {}).values()):
            if view is not None:
                view.forget_lines()
        self._event = self._views = None

    def shown_as(self, type: EventType) -> Object:
        """The object in an event of this type: the new state, or for an end the last one with the end's revision."""
        if type != "DELETED":
            assert self.new is not None
            return self.new
        assert self.old is not None
        return {**self.old, "metadata": {**self.old["metadata"], "resourceVersion": str(self.revision)}}


def _revision(change: Change) -> int:
    return change.revision


class History:
    """The newest changes of one resource, oldest first."""

    __slots__ = ("_changes", "_limit", "_lost", "_order", "_shown", "newest", "start")

    def __init__(self, limit: int, order: deque[History] | None = None) -> None:
        """`order` has the history of every change that was kept, of all histories that share it, oldest first."""
        self._changes: deque[Change] = deque()
        self._order: deque[History] = deque() if order is None else order
        #: Changes that went before their turn in the order came.
        self._lost = 0
        self._shown: deque[Change] = deque()
        self._limit = limit
        #: Changes after this revision are all here.
        self.start = 0
        #: The revision of the last change.
        self.newest = 0

    def append(self, change: Change) -> None:
        self.newest = change.revision
        changes = self._changes
        changes.append(change)
        if len(changes) > self._limit:
            self.start = changes.popleft().revision
            self._lost += 1
        order = self._order
        order.append(self)
        if len(order) > ALL_HISTORIES:
            order.popleft()._take_turn()

    def _take_turn(self) -> None:
        """The oldest of all changes was of this resource: it goes, if it is still here."""
        if self._lost:
            self._lost -= 1
        else:
            self.start = self._changes.popleft().revision

    def shown(self, change: Change) -> None:
        """A watcher has been shown a change; only the newest of those keep what was made for it."""
        shown = self._shown
        if not shown or shown[-1] is not change:
            shown.append(change)
            if len(shown) > _ENCODED:
                shown.popleft().forget_views()

    def since(self, revision: int, limit: int | None = None) -> list[Change]:
        """Changes after `revision`, oldest first, at most `limit` of them; 410 when some of them are gone."""
        self.check(revision)
        first = bisect_right(self._changes, revision, key=_revision)
        return list(islice(self._changes, first, None if limit is None else first + limit))

    def check(self, revision: int) -> None:
        """Refuse a revision after which changes are gone."""
        if revision < self.start:
            raise expired(f"too old resource version: {revision} ({self.start + 1})")

    def forget(self) -> None:
        """Drop all that is kept, as a compaction would."""
        if self._changes:
            self.start = self._changes[-1].revision
            self._lost += len(self._changes)
            self._changes.clear()
