"""The expiry of events: they go an hour after they were written last, as etcd's leases have it in a real cluster.

Besides there is a bound to how many are kept, which a real cluster lacks: past it the oldest go early, so that a
cluster in which thousands of pods come and go does not grow. Events wait in the order in which they were last written,
each once, so that the next to go is always the first.
"""

from __future__ import annotations

from ghostfleet.core.changes import Change
from ghostfleet.core.clock import Handle
from ghostfleet.core.profile import Profile
from ghostfleet.core.store import Store

__all__ = ["EventExpiry"]


class EventExpiry:
    """Removes events from one store when their time is over; a write starts it anew."""

    def __init__(self, store: Store, profile: Profile) -> None:
        self._store = store
        self._life = profile.duration("events.time-to-live")
        self._most = profile.number("events.kept")
        #: When each event goes, by namespace and name, in that order.
        self._waiting: dict[tuple[str, str], int] = {}
        self._handle: Handle | None = None
        self._crowded = False
        store.listen("events", self._notice)

    def _notice(self, change: Change) -> None:
        waiting, place = self._waiting, (change.namespace, change.name)
        waiting.pop(place, None)
        if change.new is None:
            return
        clock = self._store.clock
        waiting[place] = clock.now() + self._life
        if self._handle is None:
            self._handle = clock.call_later(self._life, self._sweep)
        if len(waiting) > self._most and not self._crowded:
            self._crowded = True
            clock.call_soon(self._thin_out)

    def _thin_out(self) -> None:
        self._crowded = False
        for _ in range(len(self._waiting) - self._most):
            self._remove_first()

    def _sweep(self) -> None:
        now, waiting = self._store.clock.now(), self._waiting
        while waiting and next(iter(waiting.values())) <= now:
            self._remove_first()
        self._handle = None
        if waiting:
            self._handle = self._store.clock.call_at(next(iter(waiting.values())), self._sweep)

    def _remove_first(self) -> None:
        """Remove the event whose turn it is; one that somebody holds by a finalizer is only marked."""
        place = next(iter(self._waiting))
        del self._waiting[place]
        self._store.delete("events", *place)
