"""Subscriptions: watches of the store that are open only while there is a reason, as an informer that stops.

The disruption controller has nothing to hear of pods while there is no budget. A *subscription* begins when there is a
reason and ends when there is none any more; in between, changes cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Subscription"]


class Subscription:
    """Listens while there is a reason; `listen` begins to, and answers how to stop."""

    __slots__ = ("_listen", "_stop")

    def __init__(self, listen: Callable[[], Callable[[], None]]) -> None:
        self._listen = listen
        self._stop: Callable[[], None] | None = None

    def subscribe_if(self, reason: object) -> None:
        """Be subscribed while there is a reason; harmless when nothing changes."""
        if reason and self._stop is None:
            self._stop = self._listen()
        elif not reason and self._stop is not None:
            self._stop()
            self._stop = None
