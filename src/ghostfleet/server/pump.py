"""The pump: drives a cluster's wall clock from asyncio's loop.

The clock has a heap of callbacks with their times; the pump keeps one timer of the loop set to the earliest, and runs
what is due in small helpings, so that requests are served in between however much is due.
"""

from __future__ import annotations

import asyncio
import logging

from ghostfleet.core.clock import WallClock

__all__ = ["Pump"]

_log = logging.getLogger(__name__)
#: Callbacks to run before looking at the time again, and how long to go on.
_HELPING = 16
_LONGEST_TURN = 0.005


class Pump:
    """Runs a clock's callbacks on a loop, from `start` to `stop`."""

    def __init__(self, clock: WallClock, loop: asyncio.AbstractEventLoop) -> None:
        self._clock = clock
        self._loop = loop
        self._timer: asyncio.Handle | None = None
        self._running = False

    def start(self) -> None:
        self._clock.on_change = self._arm
        self._arm()

    def stop(self) -> None:
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
            # One bad callback must not stop the clock for all others.
            _log.exception("a callback of the clock failed")
        finally:
            self._running = False
            if self._clock.on_change is not None:
                self._arm()
