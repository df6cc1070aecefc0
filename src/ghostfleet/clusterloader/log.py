"""What a test says while it runs: warnings always, steps from verbosity 1, everything else from 2.

On top of that stands its progress, which is whatever is under way now.
"""

from __future__ import annotations

from ghostfleet.lab.progress import Progress

__all__ = ["Log"]


class Log:
    """Says lines of a test, and how far it is."""

    def __init__(self, progress: Progress, verbosity: int = 0) -> None:
        self._progress = progress
        self._verbosity = verbosity
        self._step = ""

    def warn(self, line: str) -> None:
        self._progress.say(f"W {line}")

    def step(self, name: str) -> None:
        """A step begins."""
        self._step = name
        if self._verbosity >= 1:
            self._progress.say(f"I {name}")

    def info(self, line: str) -> None:
        if self._verbosity >= 2:
            self._progress.say(f"I {line}")

    def advance(self, done: int, total: int) -> None:
        """So many actions of a phase are done."""
        self._progress.begin(self._step, total)
        self._progress.advance(done)

    def waiting(self, what: str, done: int, total: int) -> None:
        """So many of what a measurement waits for are there."""
        self._progress.begin(self._step, total)
        self._progress.advance(done, what)
