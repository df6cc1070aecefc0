"""The pump: drives a cluster's wall clock from asyncio's loop.

The clock has a heap of callbacks with their times; the pump keeps one timer of the loop set to the earliest, and runs
what is due in small helpings, so that requests are served in between however much is due. A thread of its own looks
every second whether the clock lags, and lets the clock's watchdog tell; so the log also shows what stands still.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback

from ghostfleet.core.clock import WallClock, pause

__all__ = ["Pump"]

_log = logging.getLogger(__name__)
#: Callbacks to run before looking at the time again, and how long to go on.
_HELPING = 16
_LONGEST_TURN = 0.005
_LOOK_SECONDS = 1.0
#: So many of the innermost calls are shown of what is being done.
_FRAMES = 12


class Pump:
    """Runs a clock's callbacks on a loop, from `start` to `stop`."""

    def __init__(self, clock: WallClock, loop: asyncio.AbstractEventLoop) -> None:
        self._clock = clock
        self._loop = loop
        self._timer: asyncio.Handle | None = None
        self._running = False
        self._stopped = False

    def start(self) -> None:
        self._clock.on_change = self._arm
        self._arm()
        watcher = threading.Thread(target=self._watch, args=(threading.get_ident(),), name="watchdog", daemon=True)
        watcher.start()

    def stop(self) -> None:
        self._stopped = True
        self._clock.on_change = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        """Set the timer to the earliest deadline."""
        if self._running:
            # The turn that runs arms it at its end.
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline = self._clock.next_deadline()
        if deadline is not None:
            self._timer = self._loop.call_later(self._clock.wall_delay(deadline), self._turn)

    def _turn(self) -> None:
        self._running = True
        until = self._loop.time() + _LONGEST_TURN
        try:
            while self._clock.run_due(_HELPING) and self._loop.time() < until:
                pass
        except Exception:
            # The clock sees to callbacks that fail; this is for when it cannot, being out of memory perhaps.
            _log.exception("the clock failed")
        finally:
            self._running = False
            if self._clock.on_change is not None:
                self._arm()

    def _watch(self, thread: int) -> None:
        """Look whether the clock lags, while `thread` drives it."""

        def stack() -> str:
            frame = sys._current_frames().get(thread)
            return "".join(traceback.format_stack(frame, _FRAMES)) if frame is not None else ""

        while not self._stopped:
            self._clock.watchdog.look(*self._clock.lag(), stack)
            pause(_LOOK_SECONDS)
