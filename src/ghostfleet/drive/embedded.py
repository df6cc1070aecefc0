"""A cluster in this process, driven without a socket: tools are played on its virtual clock.

Requests go through the same API as those over HTTP, with defaults, validation and admission. Each of them takes the
*latency* of the cluster's profile in cluster time, as one over a network would.

Coroutines are played by a small loop, which is what asyncio is for real time. A *task* is a coroutine that is being
played. It runs until it waits for something, either a span of cluster time or the end of other tasks; the clock calls
it back then. Between two waits nothing else runs, so tasks need no locks, and the order in which they go on is the
clock's order, the same in every run.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from ghostfleet.api.builtin import VERSION
from ghostfleet.api.kinds import Resource, Version, storage_key
from ghostfleet.api.options import DeleteOptions, ListOptions, WriteOptions
from ghostfleet.cluster.assembly import Cluster as Assembled
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.clock import Clock, VirtualClock
from ghostfleet.core.collector import sparing_collector
from ghostfleet.core.errors import ApiError
from ghostfleet.core.profile import load_profile
from ghostfleet.core.ratelimit import Saturated
from ghostfleet.core.selectors import parse_label_selector
from ghostfleet.drive.interface import ClusterInfo, Kind, Refused, Seen

__all__ = ["Embedded", "Joined", "Sleep", "play"]

T = TypeVar("T")
_DELETION = DeleteOptions(propagation="Background")


class Sleep:
    """Waits for a span of cluster time."""

    def __init__(self, clock: Clock, microseconds: int) -> None:
        self._clock = clock
        self._microseconds = microseconds

    def __await__(self) -> Generator[Sleep, None, None]:
        yield self

    def begin(self, go_on: Callable[[], None]) -> None:
        self._clock.call_later(max(0, self._microseconds), go_on)


class _Task(Generic[T]):
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
        self._tasks = [_Task(each, self._one_ended) for each in work]
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
    task = _Task(work, lambda: None)
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


class Embedded:
    """An embedded cluster as tools see it."""

    def __init__(self, cluster: Assembled) -> None:
        if not isinstance(cluster.clock, VirtualClock):
            raise TypeError("a cluster is driven in process on a virtual clock only; serve it for any other")
        self.cluster = cluster
        self._clock = cluster.clock
        self._latency = load_profile(cluster.config.profile).duration("client.latency")
        self._places: dict[Kind, tuple[Resource, Version]] = {}
        config = cluster.config
        self.info = ClusterInfo(
            "embedded", "virtual", VERSION, True, config.profile, config.dispatcher, made=cluster.made
        )

    def now(self) -> int:
        return self._clock.now()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return play(self._clock, work)

    async def sleep(self, microseconds: int) -> None:
        await Sleep(self._clock, microseconds)

    async def together(self, work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
        return await Joined(self._clock, work)

    async def resolve(self, api_version: str, kind: str) -> Kind | None:
        found = self.cluster.registry.of_kind(api_version, kind)
        if found is None:
            return None
        resource, version = found
        return Kind(resource.group, version.name, resource.plural, resource.namespaced)

    async def create(self, kind: Kind, obj: Object) -> Object:
        return await self._ask(
            lambda place: self.cluster.api.create(*place, obj["metadata"].get("namespace", ""), obj, WriteOptions()),
            kind,
        )

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        return await self._ask(lambda place: self.cluster.api.get(*place, namespace, name), kind)

    async def list(self, kind: Kind, namespace: str = "", labels: str = "") -> list[Object]:
        options = ListOptions(label_selector=labels)
        page = await self._ask(lambda place: self.cluster.api.list(*place, namespace, options), kind)
        return page.items

    async def patch(self, kind: Kind, namespace: str, name: str, patch: Object) -> Object:
        return await self._ask(
            lambda place: self.cluster.api.patch(*place, namespace, name, "merge", patch, WriteOptions())[0], kind
        )

    async def delete(self, kind: Kind, namespace: str, name: str) -> None:
        await self._ask(lambda place: self.cluster.api.delete(*place, namespace, name, _DELETION), kind)

    async def delete_all(self, kind: Kind, namespace: str, labels: str) -> None:
        options = ListOptions(label_selector=labels)
        await self._ask(lambda place: self.cluster.api.delete_collection(*place, namespace, options, _DELETION), kind)

    async def saturation(self) -> Sequence[Saturated]:
        return self.cluster.meters.reading(self._clock.now())

    def watch(self, kind: Kind, namespace: str, labels: str, seen: Seen) -> Callable[[], None]:
        resource, version = self._place(kind)
        matches = parse_label_selector(labels).matches if labels else None

        def on_event(change: Change) -> None:
            obj = change.new or change.old or {}
            if namespace and change.namespace != namespace:
                return
            if matches is None or matches(obj["metadata"].get("labels") or {}):
                seen(self._clock.now(), change.type, obj)

        for obj in self.cluster.api.list(resource, version, namespace, ListOptions(label_selector=labels)).items:
            seen(self._clock.now(), "ADDED", obj)
        return self.cluster.store.listen(storage_key(resource), on_event)

    def close(self) -> None:
        """Nothing is open."""

    async def _ask(self, verb: Callable[[tuple[Resource, Version]], T], kind: Kind) -> T:
        if self._latency:
            await Sleep(self._clock, self._latency)
        try:
            return verb(self._place(kind))
        except ApiError as error:
            raise Refused(error.code, error.reason, error.message) from error

    def _place(self, kind: Kind) -> tuple[Resource, Version]:
        found = self._places.get(kind)
        if found is None:
            place = self.cluster.registry.at(kind.group, kind.version, kind.plural)
            if place is None:
                raise Refused(404, "NotFound", "the server could not find the requested resource")
            found = self._places[kind] = place
        return found
