"""Progress as people see it: a bar on a terminal, a line now and then elsewhere, nothing when it is to be quiet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from ghostfleet.lab.progress import Progress

__all__ = ["shown"]

_PAUSE_SECONDS = 5.0


@contextmanager
def shown(quiet: bool) -> Iterator[Progress]:
    """How far a tool is, on standard error."""
    from ghostfleet.lab.progress import Silent

    if quiet:
        yield Silent()
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        lines = _Lines()
        yield lines
        lines.end()
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console) as bar:
        yield _Bar(bar)


class _Bar:
    """A bar for each piece of work."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._task: Any = None
        self._what = ""

    def begin(self, what: str, total: int) -> None:
        if what != self._what:
            self._what = what
            self._task = self._bar.add_task(what, total=total, rate="", note="")

    def advance(self, done: int, note: str = "") -> None:
        speed = self._bar._tasks[self._task].speed
        self._bar.update(self._task, completed=done, note=note, rate=f"{speed:,.0f}/s" if speed else "")

    def say(self, line: str) -> None:
        self._bar.console.print(line, highlight=False, markup=False)


class _Lines:
    """A line every few seconds, and one at the end of each piece of work."""

    def __init__(self) -> None:
        from ghostfleet.core.clock import WallClock

        self._clock = WallClock(start=0)
        self._what, self._total, self._done, self._note = "", 0, 0, ""
        self._began = self._said = 0.0

    def begin(self, what: str, total: int) -> None:
        if what != self._what:
            self.end()
            self._what, self._total, self._done, self._note = what, total, 0, ""
            self._began = self._said = self._now()

    def advance(self, done: int, note: str = "") -> None:
        self._done, self._note = done, note
        now = self._now()
        if now - self._said >= _PAUSE_SECONDS:
            self._said = now
            self._tell(now)

    def say(self, line: str) -> None:
        typer.echo(line, err=True)

    def end(self) -> None:
        if self._what:
            self._tell(self._now())
            self._what = ""

    def _now(self) -> float:
        return self._clock.now() / 1_000_000

    def _tell(self, now: float) -> None:
        rate = self._done / max(now - self._began, 0.001)
        left = (self._total - self._done) / rate if rate and self._done < self._total else 0.0
        words = [f"{self._what}: {self._done:,} of {self._total:,}", f"{rate:,.0f}/s"]
        if left:
            words.append(f"about {left:,.0f} s left")
        if self._note:
            words.append(self._note)
        typer.echo(", ".join(words), err=True)
