"""Workers: who works on a controller's keys, and how fast they may ask the API.

A controller's work on one key is a *sync*, a generator that yields each *request* it makes (`controllers/requests.py`),
or a list of those that it makes at the same time. Where the client has a rate limit, the worker waits for the request's
token first, then for as long as the request takes, and meanwhile others work; where there is no client to wait for, a
sync runs through at once. Each of several requests has its own token, and all are made, also when one fails. A key is
never worked on twice at a time: one that is added meanwhile is worked on again afterwards. A sync that ends in an API
error is tried again, later each time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from ghostfleet.controllers.queue import tell_of_queue
from ghostfleet.controllers.requests import Request, Step, Steps
from ghostfleet.core.clock import Handle
from ghostfleet.core.errors import ApiError
from ghostfleet.core.latency import Client
from ghostfleet.core.ratelimit import ItemLimiter, controller_limiter
from ghostfleet.core.store import Store

__all__ = ["Workers"]

Key = TypeVar("Key", bound=Hashable)


class _Sync:
    """A sync in progress: the requests that it makes now, and how those ended that were made."""

    __slots__ = ("_answers", "_client", "_failure", "_requests", "_single", "_steps", "_turns")

    def __init__(self, steps: Steps | None, client: Client | None) -> None:
        self._steps = steps
        self._client = client
        self._single = True
        self._requests: list[Request] = []
        #: When each request is made; unused when nothing waits.
        self._turns: list[int] = []
        self._answers: list[Any] = [None]
        self._failure: ApiError | None = None

    def go_on(self, store: Store, now: int) -> int:
        """Go on until the sync ends, or has to wait; until when, or 0."""
        try:
            while self._steps is not None:
                turn = self._perform(store, now)
                if turn:
                    return turn
                self._take(self._next(self._steps), now)
        except StopIteration:
            pass
        return 0

    def _perform(self, store: Store, now: int) -> int:
        """Make the requests whose turn it is; when the next one's is, or 0 when all were made."""
        answers = self._answers
        for at in range(len(answers), len(self._requests)):
            if self._client is not None and self._turns[at] > now:
                return self._turns[at]
            try:
                answers.append(self._requests[at].perform(store))
            except ApiError as error:
                self._failure = error
                answers.append(None)
        return 0

    def _next(self, steps: Steps) -> Step:
        """What the sync asks for, once it has its answers."""
        failure = self._failure
        if failure is not None:
            self._failure = None
            return steps.throw(failure)
        return steps.send(self._answers[0] if self._single else self._answers)

    def _take(self, step: Step, now: int) -> None:
        self._single = isinstance(step, Request)
        self._requests = [step] if isinstance(step, Request) else step
        self._answers = []
        client = self._client
        if client is not None:
            self._turns = [
                now + client.reserve(now) + client.latency(each.verb, each.resource) for each in self._requests
            ]


class Workers(Generic[Key]):
    """Up to `count` workers (0: any number) on keys in the order in which they came."""

    def __init__(
        self,
        store: Store,
        sync: Callable[[Key], Steps | None],
        *,
        count: int = 0,
        client: Client | None = None,
        retry: ItemLimiter | None = None,
    ) -> None:
        self._store = store
        self._clock = clock = store.clock
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

    def add(self, key: Key, *, told: bool = False) -> None:
        """Work on `key` as soon as whatever runs now has ended; what happens now has to be told first."""
        if self._client is not None and not told:
            delay = self._client.informer_delay()
            if delay:
                self._clock.call_later(delay, self._told, key)
                return
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

    def _told(self, key: Key) -> None:
        self.add(key, told=True)

    def _due(self, key: Key) -> None:
        del self._later[key]
        self.add(key, told=True)

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
                    self._drive(key, _Sync(self._sync(key), self._client))
        finally:
            # A sync that failed unexpectedly must not take along what waits behind it.
            if queue:
                self._wake()

    def _run_through(self, key: Key) -> None:
        """Run a sync that never waits."""
        try:
            steps = self._sync(key)
            if steps is not None:
                _Sync(steps, None).go_on(self._store, 0)
        except ApiError:
            self._try_again(key)
        else:
            if self._failed:
                self._succeed(key)

    def _drive(self, key: Key, sync: _Sync) -> None:
        """Go on with a sync until it ends or has to wait for its client."""
        try:
            turn = sync.go_on(self._store, self._clock.now())
        except ApiError:
            self._end(key)
            self._try_again(key)
        except Exception:
            # Nobody foresaw it; the key is free to be added again.
            self._end(key)
            raise
        else:
            if turn:
                self._clock.call_at(turn, self._drive, key, sync)
                return
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
            self.add(key, told=True)
        elif self._queue:
            self._wake()
