"""Watches: a client's running view of one resource, filtered by namespace and selector.

A watch begins at a revision: what changed since then comes first, then every later change. Without a revision, or when
initial events are asked for, the present state comes first, as ADDED events. An object that comes to match the selector
is ADDED for this watch, one that stops matching is DELETED, whatever the change was. Pending events wait in a buffer
that its reader drains; a reader too slow for its buffer is cut off, so that it can never hold up a write or fill the
memory.
"""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.core.changes import Change, Event, Object
from ghostfleet.core.errors import ApiError, expired
from ghostfleet.core.store import Store

__all__ = ["Watch"]

_BUFFER = 65_536


class Watch:
    """One watcher. `wake` is called, from inside a write, when something becomes pending and when the watch ends."""

    __slots__ = (
        "_buffer",
        "_capacity",
        "_history",
        "_matches",
        "_namespace",
        "_stop",
        "closed",
        "error",
        "initial_done",
        "revision",
        "wake",
    )

    def __init__(
        self,
        store: Store,
        resource: str,
        namespace: str | None = None,
        *,
        matches: Callable[[Object], bool] | None = None,
        since: int | None = None,
        initial_events: bool = False,
        capacity: int = _BUFFER,
    ) -> None:
        """Start after revision `since`, or with the present state when it is None or `initial_events` is set."""
        self._namespace = namespace
        self._matches = matches
        self._buffer: list[Event] = []
        self._capacity = capacity
        self._history = store.bucket(resource).history
        self.closed = False
        #: Why the watch was ended, if not by its reader.
        self.error: ApiError | None = None
        self.wake: Callable[[], None] | None = None
        #: With `initial_events`: the revision of the present state, for the bookmark that ends it.
        self.initial_done = store.revision if initial_events else None
        #: Everything up to this revision has been seen.
        self.revision = store.revision
        if since is None or initial_events:
            self._buffer = self._present(store, resource)
        else:
            self._buffer = self._missed(since)
        self._stop = store.listen(resource, self._take)

    def drain(self) -> list[Event]:
        """All that is pending, oldest first."""
        pending, self._buffer = self._buffer, []
        return pending

    def close(self) -> None:
        """End the watch; its reader is woken."""
        if not self.closed:
            self.closed = True
            self._stop()
            if self.wake is not None:
                self.wake()

    def _present(self, store: Store, resource: str) -> list[Event]:
        matches = self._matches
        return [
            Event(int(obj["metadata"]["resourceVersion"]), "ADDED", obj)
            for obj in store.bucket(resource).walk(self._namespace)
            if matches is None or matches(obj)
        ]

    def _missed(self, since: int) -> list[Event]:
        views = (
            self._view(change)
            for change in self._history.since(since)
            if self._namespace is None or change.namespace == self._namespace
        )
        return [view for view in views if view is not None]

    def _take(self, change: Change) -> None:
        self.revision = change.revision
        if self._namespace is not None and change.namespace != self._namespace:
            return
        event = self._view(change)
        if event is None:
            return
        buffer = self._buffer
        if len(buffer) >= self._capacity:
            self._cut_off()
            return
        buffer.append(event)
        if len(buffer) == 1 and self.wake is not None:
            self.wake()

    def _view(self, change: Change) -> Event | None:
        """The change as this watch sees it; None when it concerns nothing that matches, before or after."""
        matches = self._matches
        if matches is None:
            self._history.shown(change)
            return change.event()
        before = change.old is not None and matches(change.old)
        after = change.new is not None and matches(change.new)
        if not before and not after:
            return None
        self._history.shown(change)
        return change.view(("MODIFIED" if before else "ADDED") if after else "DELETED")

    def _cut_off(self) -> None:
        self._buffer = []
        self.error = expired(
            f"the watch fell more than {self._capacity} events behind; list again and watch from there"
        )
        self.close()
