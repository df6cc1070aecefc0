"""Time is a parameter: one heap of callbacks, and three modes to walk it.

A *virtual* clock jumps from one callback to the next, so hours pass in seconds; a *wall* clock waits for real time; a
*scaled* one is a wall clock that runs N times as fast. All times are integers, microseconds since the Unix epoch, in
cluster time. Callbacks due at the same time run in the order in which they were asked for. Who asks for a time that has
passed comes after all that is due already, so nobody can keep others from their turn. When a callback fails, a virtual
clock fails with it, for a run that goes on is worth nothing; a wall clock goes on without it, and its *watchdog* keeps
who it was. This is the only module that reads the system's time.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from typing import Any, Final

from ghostfleet.core.metrics import Metrics
from ghostfleet.core.watchdog import Watchdog, component_of

__all__ = ["EPOCH", "SECOND", "Clock", "Handle", "VirtualClock", "WallClock", "parse_clock", "pause", "real_seconds"]

SECOND = 1_000_000
#: Where a virtual clock starts: 2026-01-01T00:00:00Z, always, so that runs compare byte for byte.
EPOCH = 1_767_225_600 * SECOND
#: So many callbacks at one moment of virtual time are a circle. Estimated: several for each of a million pods are
#: fewer.
_CIRCLE: Final = 10_000_000
#: Callbacks that take longer than this, in nanoseconds, or run later, are told to the watchdog.
_LONG: Final = 1_000_000
_LATE_SECONDS: Final = 0.1


class Handle:
    """A callback that waits for its time; it can be cancelled."""

    __slots__ = ("_args", "function", "time")

    def __init__(self, time: int, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.time = time
        #: What is called; None when it has been, or never will be.
        self.function: Callable[..., Any] | None = function
        self._args = args

    def cancel(self) -> None:
        """Forget the callback; harmless when it has run already."""
        self.function = None
        self._args = ()

    @property
    def cancelled(self) -> bool:
        return self.function is None

    def run(self) -> None:
        function, args = self.function, self._args
        if function is not None:
            self.cancel()
            function(*args)


class Clock:
    """The heap of callbacks; subclasses say what time it is."""

    def __init__(self, now: int) -> None:
        self._heap: list[tuple[int, int, Handle]] = []
        self._sequence = 0
        #: Nothing can be asked for before this time: callbacks up to it have run, or run at the moment.
        self._now = now
        #: What the components that it calls have to tell about themselves.
        self.metrics = Metrics()
        #: Called when a deadline earlier than all others was added: whoever drives the clock must look again.
        self.on_change: Callable[[], None] | None = None

    def now(self) -> int:
        """Cluster time in microseconds since the epoch."""
        raise TypeError("a bare Clock has no mode: use VirtualClock or WallClock")

    def call_at(self, when: int, function: Callable[..., Any], *args: Any) -> Handle:
        """Run `function(*args)` at `when`, or after all that is due already if that has passed."""
        if when < self._now:
            when = self._now
        handle = Handle(when, function, args)
        self._sequence = sequence = self._sequence + 1
        heap = self._heap
        heapq.heappush(heap, (when, sequence, handle))
        if self.on_change is not None and heap[0][2] is handle:
            self.on_change()
        return handle

    def call_later(self, delay: int, function: Callable[..., Any], *args: Any) -> Handle:
        """Run `function(*args)` after `delay` microseconds."""
        return self.call_at(self.now() + max(delay, 0), function, *args)

    def call_soon(self, function: Callable[..., Any], *args: Any) -> Handle:
        """Run `function(*args)` now, but after whatever runs at the moment and everything already due."""
        return self.call_at(self.now(), function, *args)

    def next_deadline(self) -> int | None:
        """When the next callback is due; None when none waits."""
        heap = self._heap
        while heap and heap[0][2].cancelled:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    @property
    def armed(self) -> int:
        """How many callbacks have been asked for so far."""
        return self._sequence

    @property
    def pending(self) -> int:
        """How many callbacks wait."""
        return sum(not handle.cancelled for _, _, handle in self._heap)

    def failed(self, callback: Callable[..., Any], error: Exception) -> None:
        """A callback failed, or somebody who is told of changes."""
        error.add_note(f"in component {component_of(callback)}")
        raise error


class VirtualClock(Clock):
    """Jumps to the next callback."""

    def __init__(self, start: int = EPOCH, *, circle: int = _CIRCLE) -> None:
        """So many callbacks as `circle` at one moment are taken for a circle, in which time would never go on."""
        super().__init__(start)
        self._circle = circle

    def now(self) -> int:
        return self._now

    def run(self, until: int | None = None, *, stop: Callable[[], bool] | None = None) -> None:
        """Run callbacks in order until none is left, `until` is reached or `stop()` says so.

        With `until`, the clock stands at `until` afterwards (callbacks due exactly then have run).
        """
        heap = self._heap
        pop = heapq.heappop
        count = 0
        while heap:
            when, _, handle = heap[0]
            if until is not None and when > until:
                break
            pop(heap)
            function = handle.function
            if function is None:
                continue
            if when > self._now:
                self._now = when
                count = 0
            count += 1
            try:
                handle.run()
                if count == self._circle:
                    raise RuntimeError(
                        f"time stands still: {count:,} callbacks ran at one moment, this one was the last"
                    )
            except Exception as error:
                self.failed(function, error)
            if stop is not None and stop():
                return
        if until is not None and until > self._now:
            self._now = until

    def advance(self, delay: int) -> None:
        """Let `delay` microseconds pass."""
        self.run(self._now + delay)

    def settle(self) -> None:
        """Run everything that is due now, without letting time pass."""
        self.run(self._now)


class WallClock(Clock):
    """Follows real time from `start` on, `scale` times as fast."""

    def __init__(self, scale: float = 1.0, start: int | None = None) -> None:
        if not 0 < scale < float("inf"):
            raise ValueError(f"a clock cannot run {scale} times as fast as real time; give a number above 0")
        self.scale = scale
        self._origin = time.monotonic_ns()
        self._start = time.time_ns() // 1000 if start is None else start
        super().__init__(self._start)
        self.watchdog = Watchdog()
        self._late_after = int(_LATE_SECONDS * SECOND * scale)
        #: The callback that runs at the moment.
        self._running: Callable[..., Any] | None = None

    def now(self) -> int:
        elapsed = (time.monotonic_ns() - self._origin) // 1000
        return self._start + (elapsed if self.scale == 1.0 else int(elapsed * self.scale))

    def wall_delay(self, deadline: int) -> float:
        """Real seconds from now until `deadline`; 0 when it has passed."""
        return max(0.0, (deadline - self.now()) / SECOND / self.scale)

    def lag(self) -> tuple[float, str]:
        """Real seconds by which the earliest callback is late, and the component that the time went to; any thread
        may ask."""
        running, waiting = self._running, self._heap[:1]
        behind = max(0.0, (self.now() - waiting[0][0]) / SECOND / self.scale) if waiting else 0.0
        return behind, self.watchdog.culprit(behind, running)

    def failed(self, callback: Callable[..., Any], error: Exception) -> None:
        self.watchdog.failed(callback, error)

    def run_due(self, limit: int = 1000) -> bool:
        """Run up to `limit` callbacks whose time has come; true when more are due."""
        heap = self._heap
        now = self.now()
        # What is asked for from here on waits for the next helping, even for a time that has passed.
        self._now = now + 1
        if not heap or now - heap[0][0] <= self._late_after:
            self.watchdog.on_time()
        for _ in range(limit):
            if not heap or heap[0][0] > now:
                return False
            when, _, handle = heapq.heappop(heap)
            function = handle.function
            if function is not None:
                began = time.monotonic_ns()
                self._running = function
                try:
                    handle.run()
                except Exception as error:
                    self.failed(function, error)
                self._running = None
                took = time.monotonic_ns() - began
                if took > _LONG or now - when > self._late_after:
                    self.watchdog.took(function, took / 1e9)
        return bool(heap) and heap[0][0] <= now

    def run(self, until: int | None = None) -> None:
        """Run callbacks as their times come, sleeping in between, until none is left or `until` is reached."""
        while (deadline := self.next_deadline()) is not None:
            if until is not None and deadline > until:
                break
            time.sleep(self.wall_delay(deadline))
            self.run_due()
        if until is not None:
            time.sleep(self.wall_delay(until))


def parse_clock(text: str) -> Clock:
    """A clock from what users write: `virtual`, `wall` or `scaled:N`."""
    mode, _, factor = text.partition(":")
    if mode == "virtual" and not factor:
        return VirtualClock()
    if mode == "wall" and not factor:
        return WallClock()
    if mode == "scaled":
        try:
            return WallClock(scale=float(factor))
        except ValueError:
            raise ValueError(f"clock {text!r}: after 'scaled:' comes a number above 0, as in scaled:10") from None
    raise ValueError(f"unknown clock {text!r}; known are wall, scaled:N and virtual")


def pause(seconds: float) -> None:
    """Let real time pass, for clients of clusters outside this process."""
    time.sleep(seconds)


def real_seconds() -> float:
    """Real time, from any beginning: for figures of our own speed, never for what happens in a cluster."""
    return time.perf_counter()
