"""Listening by need: most of those who listen to a store have a reason to do so only now and then.

Whoever looks after the budgets of pods has nothing to hear of pods while there is no budget. An *subscription* is opened when
there is a reason and shut when there is none any more; while it is shut, changes cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Subscription"]


class Subscription:
    """Listens while it is open; `listen` begins to, and answers how to stop."""

    __slots__ = ("_listen", "_stop")

    def __init__(self, listen: Callable[[], Callable[[], None]]) -> None:
        self._listen = listen
        self._stop: Callable[[], None] | None = None

    def subscribe_if(self, reason: object) -> None:
        """Be open while there is a reason; harmless when nothing changes."""
        if reason and self._stop is None:
            self._stop = self._listen()
        elif not reason and self._stop is not None:
            self._stop()
            self._stop = None
