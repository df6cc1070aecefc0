"""Threads: who does one thing after the other, and takes time for it.

A piece of work is a generator that yields *when it goes on*: the time at which what it waits for is there, or `HELD`
until somebody lets it go on. A thread takes a new piece only when it is done with the last. A *ticker* calls at fixed
times since it was started, as long as somebody has a use for it; so a cluster where nothing happens has nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ghostfleet.core.clock import Clock, Handle

__all__ = ["HELD", "Steps", "Thread", "Ticker"]

#: Work in progress: times at which it goes on.
Steps = Iterator[int]
#: In place of a time: until `Thread.let_go`.
HELD = -1


class Thread:
    """Does what `take` answers, until it answers None; then it sleeps until it is woken."""

    def __init__(self, clock: Clock, take: Callable[[], Steps | None]) -> None:
        self._clock = clock
        #: Whose work it is, for the watchdog.
        self.acts_for = self._take = take
        self._steps: Steps | None = None
        self._handle: Handle | None = None
        #: Whether it must not be woken: it runs right now, or is held.
        self._awake = self._held = False

    def wake(self) -> None:
        """Look whether there is work, unless it is at work."""
        if self._handle is None and not self._awake and not self._held:
            self._handle = self._clock.call_soon(self._run)

    def let_go(self) -> None:
        """Go on with what is held."""
        self._held = False
        self.wake()

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._steps = None
        self._held = False

    def _run(self) -> None:
        self._handle = None
        self._awake = True
        try:
            when = self._go_on()
        finally:
            self._awake = False
        if when == HELD:
            self._held = True
        elif when is not None:
            self._handle = self._clock.call_at(when, self._run)

    def _go_on(self) -> int | None:
        """Work until there is something to wait for; answers for what, None when there is nothing to do."""
        steps = self._steps if self._steps is not None else self._take()
        self._steps = None
        if steps is None:
            return None
        for when in steps:
            if when == HELD or when > self._clock.now():
                self._steps = steps
                return when
        # One piece at a time, so that others act in between.
        return self._clock.now()


class Ticker:
    """Calls `tick` every `period`, counted from `start`, while it is `needed`."""

    def __init__(self, clock: Clock, period: int, tick: Callable[[], None], needed: Callable[[], bool]) -> None:
        self._clock = clock
        self._period = period
        self._start = clock.now()
        self.acts_for = self._tick = tick
        self._needed = needed
        self._handle: Handle | None = None

    def wake(self) -> None:
        """Go on ticking if it is needed."""
        if self._handle is None and self._needed():
            past = (self._clock.now() - self._start) // self._period
            self._handle = self._clock.call_at(self._start + (past + 1) * self._period, self._run)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _run(self) -> None:
        self._handle = None
        try:
            self._tick()
        finally:
            self.wake()
