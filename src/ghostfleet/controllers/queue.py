"""Work queues: what a controller still has to look at.

A controller listens to the store and only takes note, by adding a *key* to its queue; the queue calls it back, on the
clock, once per key however often the key was added meanwhile. So every controller acts after the write that woke it,
never inside it, and always on the newest state.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from ghostfleet.core.clock import Clock, Handle

__all__ = ["WorkQueue"]

Key = TypeVar("Key", bound=Hashable)


class WorkQueue(Generic[Key]):
    """Keys to work on, each once, in the order in which they came."""

    def __init__(self, clock: Clock, work: Callable[[Key], None]) -> None:
        self._clock = clock
        #: Whose work it is, for the watchdog.
        self.acts_for = self._work = work
        self._pending: dict[Key, None] = {}
        self._later: dict[Key, Handle] = {}
        self._handle: Handle | None = None

    def __len__(self) -> int:
        return len(self._pending) + len(self._later)

    def add(self, key: Key) -> None:
        """Work on `key` as soon as whatever runs now has ended."""
        self._pending[key] = None
        if self._handle is None:
            self._handle = self._clock.call_soon(self._run)

    def add_after(self, key: Key, delay: int) -> None:
        """Work on `key` after `delay` microseconds; a later request for the same key replaces an earlier one."""
        waiting = self._later.pop(key, None)
        if waiting is not None:
            waiting.cancel()
        self._later[key] = self._clock.call_later(delay, self._due, key)

    def _due(self, key: Key) -> None:
        del self._later[key]
        self.add(key)

    def _run(self) -> None:
        self._handle = None
        pending, self._pending = self._pending, {}
        try:
            while pending:
                key = next(iter(pending))
                del pending[key]
                self._work(key)
        finally:
            # Work that failed must not take along what waits behind it.
            for key in pending:
                self.add(key)
