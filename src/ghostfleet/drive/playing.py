"""Playing coroutines on a virtual clock: the small loop that asyncio is for real time.

A *task* is a coroutine that is being played. It runs until it waits for something, either a span of cluster time or the
end of other tasks; the clock calls it back then. Between two waits nothing else runs, so tasks need no locks, and the
order in which they go on is the clock's order, the same in every run.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from ghostfleet.core.clock import Clock, VirtualClock
from ghostfleet.core.collector import sparing_collector

__all__ = ["Joined", "Sleep", "Task", "play"]

T = TypeVar("T")


class Sleep:
    """Waits for a span of cluster time."""

    def __init__(self, clock: Clock, microseconds: int) -> None:
        self._clock = clock
        self._microseconds = microseconds

    def __await__(self) -> Generator[Sleep, None, None]:
        yield self

    def begin(self, go_on: Callable[[], None]) -> None:
        self._clock.call_later(max(0, self._microseconds), go_on)


class Task(Generic[T]):
    """A coroutine that is being played."""

    def __init__(self, work: Coroutine[Any, Any, T], ended: Callable[[], None]) -> None:
        self._work = work
        self._ended = ended
        self.done = False
        self._result: T | None = None
        self._error: BaseException | None = None

    def step(self) -> None:
        """Play on until the next wait or the end."""
        if self.done:
            return
        try:
            wait = self._work.send(None)
        except StopIteration as end:
            self._end(end.value, None)
        except Exception as error:
            self._end(None, error)
        else:
            wait.begin(self.step)

    def cancel(self) -> None:
        """Let the coroutine see CancelledError where it waits, so that it can save what it has."""
        if self.done:
            return
        try:
            self._work.throw(asyncio.CancelledError())
        except (asyncio.CancelledError, StopIteration):
            pass
        finally:
            self.done = True
            self._work.close()

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]  # a task that is done has its coroutine's result

    def _end(self, result: T | None, error: BaseException | None) -> None:
        self.done, self._result, self._error = True, result, error
        self._ended()


class Joined(Generic[T]):
    """Waits for the end of several coroutines that are played at once."""

    def __init__(self, clock: Clock, work: Iterable[Coroutine[Any, Any, T]]) -> None:
        self._clock = clock
        self._tasks = [Task(each, self._one_ended) for each in work]
        self._left = len(self._tasks)
        self._go_on: Callable[[], None] | None = None

    def __await__(self) -> Generator[Joined[T], None, list[T]]:
        for task in self._tasks:
            task.step()
        try:
            if self._left:
                yield self
        finally:
            for task in self._tasks:
                task.cancel()
        return [task.result() for task in self._tasks]

    def begin(self, go_on: Callable[[], None]) -> None:
        self._go_on = go_on

    def _one_ended(self) -> None:
        self._left -= 1
        if not self._left and self._go_on is not None:
            self._clock.call_soon(self._go_on)


def play(clock: VirtualClock, work: Coroutine[Any, Any, T]) -> T:
    """Play a coroutine to its end, letting virtual time pass as it waits."""
    task = Task(work, lambda: None)
    with _interrupts_noted() as interrupted, sparing_collector():
        task.step()
        if not task.done:
            # The clock looks whether to stop after each callback, so that it would run one even for nothing.
            clock.run(stop=lambda: task.done or bool(interrupted))
    if interrupted:
        task.cancel()
        raise KeyboardInterrupt
    if not task.done:
        task.cancel()
        raise RuntimeError("a tool waits for something that will never come")
    return task.result()


@contextmanager
def _interrupts_noted() -> Iterator[list[int]]:
    """Ctrl-C is noted and acted upon between two callbacks, never in the midst of a write to the store."""
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    before = signal.signal(signal.SIGINT, lambda number, _: noted.append(number))
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)
