"""Progress: how a tool tells how far it is, without knowing whether anyone watches.

A tool *begins* a piece of work with a name and a total, *advances* to a count, with a few words beside it, and *says*
lines that are worth keeping. What becomes of that, a bar, lines in a log or nothing, is up to the caller.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["Progress", "Silent"]


class Progress(Protocol):
    """Is told how far a piece of work has come."""

    def begin(self, what: str, total: int) -> None: ...

    def advance(self, done: int, note: str = "") -> None: ...

    def say(self, line: str) -> None: ...


class Silent:
    """Nobody watches."""

    def begin(self, what: str, total: int) -> None:
        """Nothing to do."""

    def advance(self, done: int, note: str = "") -> None:
        """Nothing to do."""

    def say(self, line: str) -> None:
        """Nothing to do."""
