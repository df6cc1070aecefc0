"""Streams: answers that go on, such as a watch or a log that is followed.

A *stream* feeds on a `Watch`: whenever that has something pending, the stream sends all of it in one piece, until the
client leaves, the stream's time is over or the server stops. `Streams` knows all that are open and wakes them in
*rounds*: a write only notes which streams it concerns, and a round serves them together. After a round the next one
waits as long as the last one took, so that writes get half of the loop, and what they bring in the meantime goes out
in one piece: the more watchers there are, the more each send carries.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from ghostfleet.core.changes import Event
from ghostfleet.core.watch import Watch
from ghostfleet.server.requests import Message, Receive, Send

__all__ = ["Stream", "WatchStreams"]

_BOOKMARK_SECONDS = 60.0
#: Events rendered at a time: more would keep the loop from others.
_SLICE = 256
#: The longest pause between two rounds; a watcher waits no longer than this for an event.
_LONGEST_PAUSE = 0.05


class WatchStreams:
    """All open streams of a server."""

    def __init__(self) -> None:
        self._open: dict[Stream, None] = {}
        self._noted: list[Stream] = []
        self._round_due = False
        self._ticker: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.closing = False

    def __len__(self) -> int:
        return len(self._open)

    def close(self) -> None:
        """End all streams, for the server stops."""
        self.closing = True
        if self._ticker is not None:
            self._ticker.cancel()
            self._ticker = None
        for stream in list(self._open):
            stream.end()

    def add(self, stream: Stream) -> None:
        self._open[stream] = None
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        if self._ticker is None and not self.closing:
            self._ticker = self._loop.call_later(_BOOKMARK_SECONDS, self._tick)

    def remove(self, stream: Stream) -> None:
        self._open.pop(stream, None)

    def note(self, stream: Stream) -> None:
        """Something is pending for this stream: serve it in the next round."""
        self._noted.append(stream)
        if not self._round_due and self._loop is not None:
            self._round_due = True
            self._loop.call_soon(self._begin_round, self._loop)

    def _begin_round(self, loop: asyncio.AbstractEventLoop) -> None:
        noted, self._noted = self._noted, []
        if not noted:
            self._round_due = False
            return
        began = loop.time()
        for stream in noted:
            stream.resume()
        # Their tasks are queued now; this comes after them.
        loop.call_soon(self._end_round, loop, began)

    def _end_round(self, loop: asyncio.AbstractEventLoop, began: float) -> None:
        loop.call_later(min(loop.time() - began, _LONGEST_PAUSE), self._begin_round, loop)

    def _tick(self) -> None:
        for stream in self._open:
            stream.tick()
        if self._loop is not None:
            self._ticker = self._loop.call_later(_BOOKMARK_SECONDS, self._tick) if self._open else None


class Stream(ABC):
    """One answer that goes on; subclasses say what to send."""

    media = "application/json"
    #: sent before the first line, besides those that every answer has
    headers: tuple[tuple[bytes, bytes], ...] = ()

    def __init__(self, streams: WatchStreams, watch: Watch, timeout: float) -> None:
        self.watch = watch
        self._streams = streams
        self._timeout = timeout
        # What is there at the start must be told apart from what comes later, even if that comes before the first send.
        # A copy, because an empty list may be the very buffer that fills up later.
        self._initial = list(watch.drain())
        self._waiter: asyncio.Future[None] | None = None
        self._over = streams.closing
        self._gone = False
        self._tick_due = False

    # -- what subclasses say -----------------------------------------------------------------------------------------

    def first(self) -> bytes:
        """What follows the initial events."""
        return b""

    @abstractmethod
    def render(self, events: Sequence[Event]) -> list[bytes]:
        """Pieces to send for these events."""

    def ticked(self) -> bytes:
        """What to send from time to time."""
        return b""

    def last(self) -> bytes:
        """What to send at the end."""
        return b""

    # -- what wakes it -----------------------------------------------------------------------------------------------

    def end(self) -> None:
        """Send what is pending and finish."""
        self._over = True
        self.resume()

    def tick(self) -> None:
        self._tick_due = True
        self.resume()

    def resume(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _wake(self) -> None:
        self._streams.note(self)

    # -- its life ----------------------------------------------------------------------------------------------------

    async def run(self, send: Send, receive: Receive) -> None:
        """Send everything, from the headers to the end."""
        loop = asyncio.get_running_loop()
        self.watch.wake = self._wake
        self._streams.add(self)
        guard = loop.create_task(self._see_client_off(receive))
        timer = loop.call_later(self._timeout, self.end)
        try:
            headers = [
                (b"content-type", self.media.encode()),
                (b"cache-control", b"no-cache, private"),
                *self.headers,
            ]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._deliver(send, self._initial)
            await self._push(send, self.first())
            await self._follow(loop, send)
            if not self._gone:
                await send({"type": "http.response.body", "body": self.last()})
        finally:
            timer.cancel()
            guard.cancel()
            self._streams.remove(self)
            self.watch.wake = None
            self.watch.close()

    async def _follow(self, loop: asyncio.AbstractEventLoop, send: Send) -> None:
        watch = self.watch
        while not self._gone:
            events = watch.drain()
            if events:
                await self._deliver(send, events)
            elif self._over or watch.closed:
                return
            elif self._tick_due:
                self._tick_due = False
                await self._push(send, self.ticked())
            else:
                self._waiter = loop.create_future()
                await self._waiter
                self._waiter = None

    async def _deliver(self, send: Send, events: list[Event]) -> None:
        if len(events) <= _SLICE:
            await self._push(send, b"".join(self.render(events)))
            return
        for some in _slices(events):
            if self._gone:
                return
            await self._push(send, b"".join(self.render(some)))
            await asyncio.sleep(0)

    async def _push(self, send: Send, body: bytes) -> None:
        if body:
            message: Message = {"type": "http.response.body", "body": body, "more_body": True}
            await send(message)

    async def _see_client_off(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._gone = True
        self.resume()


def _slices(events: list[Event]) -> Iterator[list[Event]]:
    for start in range(0, len(events), _SLICE):
        yield events[start : start + _SLICE]
