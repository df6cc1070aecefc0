"""Awaiting: controllers that are made when there is something for them to do.

Most clusters never see most kinds. A part that brings kinds of its own waits for the first object of one of them, and
costs next to nothing until then. A controller looks at what is there when it is made, so nothing is missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ghostfleet.core.changes import Change
from ghostfleet.core.store import Store

__all__ = ["Awaiting"]


class Awaiting:
    """Calls `make` once, when the first object of one of the resources has appeared, and keeps what it makes."""

    def __init__(self, store: Store, resources: Iterable[str], make: Callable[[], object]) -> None:
        self._store = store
        self._make = make
        self._stops = [store.listen(resource, self._notice) for resource in resources]
        #: What was made; None while nothing was.
        self.made: object | None = None

    def _notice(self, _change: Change) -> None:
        for stop in self._stops:
            stop()
        if self._stops:
            self._stops = []
            self._store.clock.call_soon(self._wake)

    def _wake(self) -> None:
        self.made = self._make()
