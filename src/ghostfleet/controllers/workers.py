"""Workers: who works on a controller's keys, and how fast they may ask the API.

A controller's work on one key is a *sync*, a generator that yields before each *request* it makes: 1, or the number of
requests that are made at the same time and then 0 for each of the others. Where the client has a rate limit, the
worker waits there for its token, and meanwhile others work; where it has none, a sync runs through at once. A key is
never worked on twice at a time: one that is added meanwhile is worked on again afterwards. A sync that ends in an API
error is tried again, later each time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

from ghostfleet.controllers.queue import tell_of_queue
from ghostfleet.core.clock import Clock, Handle
from ghostfleet.core.errors import ApiError
from ghostfleet.core.ratelimit import ItemLimiter, TokenBucket, controller_limiter

__all__ = ["Steps", "Workers", "together"]

Key = TypeVar("Key", bound=Hashable)
#: A sync in progress: one step to each request.
Steps = Iterator[int]


def together(count: int) -> Iterator[int]:
    """What to yield before each of `count` requests that are made at the same time."""
    if count:
        yield count
        for _ in range(count - 1):
            yield 0


class Workers(Generic[Key]):
    """Up to `count` workers (0: any number) on keys in the order in which they came."""

    def __init__(
        self,
        clock: Clock,
        sync: Callable[[Key], Steps],
        *,
        count: int = 0,
        client: TokenBucket | None = None,
        retry: ItemLimiter | None = None,
    ) -> None:
        self._clock = clock
        #: Whose work it is, for the watchdog.
        self.acts_for = self._sync = sync
        self._count = count
        self._client = client
        self._retry = retry or controller_limiter()
        self._queue: deque[Key] = deque()
        self._queued: set[Key] = set()
        self._busy: set[Key] = set()
        self._again: set[Key] = set()
        self._later: dict[Key, Handle] = {}
        self._failed: set[Key] = set()
        self._handle: Handle | None = None
        self._adds = self._retries = 0
        tell_of_queue(clock.metrics, sync, lambda: (self._adds, len(self._queue), self._retries))

    def __len__(self) -> int:
        return len(self._queued) + len(self._later) + len(self._busy)

    def add(self, key: Key) -> None:
        """Work on `key` as soon as whatever runs now has ended."""
        if key in self._busy:
            self._again.add(key)
        elif key not in self._queued:
            self._adds += 1
            self._queued.add(key)
            self._queue.append(key)
            self._wake()

    def add_after(self, key: Key, delay: int) -> None:
        """Work on `key` after `delay` microseconds; of several requests for a key the earliest counts."""
        if delay <= 0:
            self.add(key)
            return
        when = self._clock.now() + delay
        waiting = self._later.get(key)
        if waiting is not None:
            if waiting.time <= when:
                return
            waiting.cancel()
        self._later[key] = self._clock.call_at(when, self._due, key)

    def _due(self, key: Key) -> None:
        del self._later[key]
        self.add(key)

    def _wake(self) -> None:
        if self._handle is None and (not self._count or len(self._busy) < self._count):
            self._handle = self._clock.call_soon(self._run)

    def _run(self) -> None:
        self._handle = None
        queue, busy = self._queue, self._busy
        try:
            # What is added from here on waits for the next turn, so that nobody is kept waiting by one busy controller.
            for _ in range(len(queue)):
                if self._count and len(busy) >= self._count:
                    return
                key = queue.popleft()
                self._queued.discard(key)
                if self._client is None:
                    self._run_through(key)
                else:
                    busy.add(key)
                    self._drive(key, self._sync(key), deque())
        finally:
            # A sync that failed unexpectedly must not take along what waits behind it.
            if queue:
                self._wake()

    def _run_through(self, key: Key) -> None:
        """Run a sync that never waits."""
        try:
            for _ in self._sync(key):
                pass
        except ApiError:
            self._try_again(key)
        else:
            if self._failed:
                self._succeed(key)

    def _drive(self, key: Key, steps: Steps, turns: deque[int]) -> None:
        """Go on with a sync until it ends or has to wait for its client. `turns` are times at which it may ask."""
        assert self._client is not None
        now = self._clock.now()
        try:
            for count in steps:
                turns.extend(now + self._client.reserve(now) for _ in range(count))
                turn = turns.popleft()
                if turn > now:
                    self._clock.call_at(turn, self._drive, key, steps, turns)
                    return
        except ApiError:
            self._end(key)
            self._try_again(key)
        except Exception:
            # Nobody foresaw it; the key is free to be added again.
            self._end(key)
            raise
        else:
            self._end(key)
            self._succeed(key)

    def _try_again(self, key: Key) -> None:
        self._failed.add(key)
        self._retries += 1
        self.add_after(key, self._retry.when(key, self._clock.now()))

    def _succeed(self, key: Key) -> None:
        if key in self._failed:
            self._failed.discard(key)
            self._retry.forget(key)

    def _end(self, key: Key) -> None:
        self._busy.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)
        elif self._queue:
            self._wake()
