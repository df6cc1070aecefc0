"""Watches: a client's running view of one resource, filtered by namespace and selector.

A watch begins at a revision: what changed since then comes first, then every later change. Without a revision, or when
initial events are asked for, the *present* state comes first, as ADDED events. An object that comes to match the
selector is ADDED for this watch, one that stops matching is DELETED, whatever the change was. Pending events wait in a
small buffer that its reader drains. A reader too slow for its buffer falls *behind*: the watch keeps no more than the
revision that it has come to, and reads on in the resource's history. Where that does not reach back any more, the watch
ends with 410, so that a slow reader can never hold up a write or fill the memory.
"""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.core.changes import Change, Event, Object
from ghostfleet.core.errors import ApiError
from ghostfleet.core.store import Store

__all__ = ["Watch"]

_BUFFER = 1024


class Watch:
    """One watcher. `wake` is called, from inside a write, when something becomes pending and when the watch ends."""

    __slots__ = (
        "_behind",
        "_buffer",
        "_capacity",
        "_history",
        "_matches",
        "_namespace",
        "_present",
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
        self._present: list[Object] = []
        #: The revision after which events are in the history only; None when all that is pending is in the buffer.
        self._behind: int | None = None
        if since is None or initial_events:
            self._present = [obj for obj in store.bucket(resource).walk(namespace) if matches is None or matches(obj)]
        else:
            self._history.check(since)
            self._behind = since
        self._stop = store.listen(resource, self._take)

    def present(self) -> list[Object]:
        """The objects that the watch begins with, given once; who does not ask drains them as events."""
        present, self._present = self._present, []
        return present

    def drain(self) -> list[Event]:
        """What is pending, oldest first; after nothing at all there is nothing more."""
        pending, self._buffer = self._buffer, []
        if self._present:
            return [Event(int(obj["metadata"]["resourceVersion"]), "ADDED", obj) for obj in self.present()] + pending
        return self._catch_up() if self._behind is not None and not pending else pending

    def end(self, error: ApiError) -> None:
        """End the watch against its reader's will; what is pending is lost."""
        if not self.closed:
            self.error = error
            self._present, self._buffer, self._behind = [], [], None
            self.close()

    def close(self) -> None:
        """End the watch; its reader is woken."""
        if not self.closed:
            self.closed = True
            self._stop()
            if self.wake is not None:
                self.wake()

    def _take(self, change: Change) -> None:
        before, self.revision = self.revision, change.revision
        if self._behind is not None or (self._namespace is not None and change.namespace != self._namespace):
            return
        event = self._view(change)
        if event is None:
            return
        buffer = self._buffer
        if len(buffer) >= self._capacity:
            self._behind = before
            return
        buffer.append(event)
        if len(buffer) == 1 and self.wake is not None:
            self.wake()

    def _catch_up(self) -> list[Event]:
        """The next events out of the history."""
        while self._behind is not None:
            try:
                changes = self._history.since(self._behind, self._capacity)
            except ApiError as error:
                self.end(error)
                break
            self._behind = changes[-1].revision if len(changes) == self._capacity else None
            found = [
                event
                for change in changes
                if (self._namespace is None or change.namespace == self._namespace)
                and (event := self._view(change)) is not None
            ]
            if found:
                return found
        return []

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
