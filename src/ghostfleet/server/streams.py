"""Streams: answers that go on, such as a watch or a log that is followed.

A *stream* feeds on a `Watch`: whenever that has something pending, the stream sends all of it in one piece, until the
client leaves, the stream's time is over or the server stops. `Streams` knows all that are open and wakes them in
*rounds*: a write only notes which streams it concerns, and a round serves them together. After a round the next one
waits as long as the last one took, so that writes get half of the loop, and what they bring in the meantime goes out
in one piece: the more watchers there are, the more each send carries.

What a client that does not read can hold is bounded: one *batch* of bytes that wait to be sent, and the objects that
its watch began with, of which all streams together hold so many and no more. Over that the oldest are ended with 410.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from ghostfleet.core.changes import Event, Object
from ghostfleet.core.errors import expired
from ghostfleet.core.watch import Watch
from ghostfleet.server.requests import Message, Receive, Send

__all__ = ["Stream", "WatchStreams"]

_BOOKMARK_SECONDS = 60.0
#: Bytes that are sent at a time: more would keep the loop from others, and fill the memory if many clients do not read.
#: Most clients that never read do not take their initial events, of which less is sent at a time.
_BATCH = 128 * 1024
_INITIAL_BATCH = 32 * 1024
#: So many events are rendered before their bytes are counted; these are shared with other streams.
_FEW = 128
#: Objects that all streams together have still to tell of as initial events; each costs the eight bytes of a reference.
_PRESENT_LIMIT = 16_000_000
#: The longest pause between two rounds; a watcher waits no longer than this for an event.
_LONGEST_PAUSE = 0.05


class WatchStreams:
    """All open streams of a server."""

    def __init__(self) -> None:
        #: oldest first
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
        if stream.present:
            self._relieve()
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        if self._ticker is None and not self.closing:
            self._ticker = self._loop.call_later(_BOOKMARK_SECONDS, self._tick)

    def remove(self, stream: Stream) -> None:
        self._open.pop(stream, None)

    def _relieve(self) -> None:
        """End the oldest streams that hold objects, until all together hold no more than they may."""
        held = sum(stream.present for stream in self._open)
        for stream in list(self._open):
            if held <= _PRESENT_LIMIT:
                return
            held -= stream.present
            stream.drop()

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
        self._present = watch.present()
        #: How many events went out.
        self.sent = 0
        self._waiter: asyncio.Future[None] | None = None
        self._over = streams.closing
        self._gone = False
        self._tick_due = False

    # -- what subclasses say -----------------------------------------------------------------------------------------

    def first(self) -> bytes:
        """What follows the initial events."""
        return b""

    @abstractmethod
    def render(self, event: Event) -> bytes:
        """What to send for an event."""

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

    @property
    def present(self) -> int:
        """How many objects it holds, to be told of as initial events."""
        return len(self._present)

    def drop(self) -> None:
        """Give up what is held: its client is too slow, and is told so if it ever reads on."""
        self._present = []
        revision = self.watch.revision
        self.watch.end(expired(f"too old resource version: {revision} ({revision + 1})"))
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
            await self._push_all(send, _batches(map(self.render, self._initial_events()), _INITIAL_BATCH))
            if self.watch.error is None:
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
                self.sent += len(events)
            elif self._over or watch.closed:
                return
            elif self._tick_due:
                self._tick_due = False
                await self._push(send, self.ticked())
            else:
                self._waiter = loop.create_future()
                await self._waiter
                self._waiter = None

    def _initial_events(self) -> Iterator[Event]:
        """The present state as events, made one by one, so that none outlives its bytes; `drop` cuts it short."""
        position = 0
        while position < len(self._present):
            obj: Object = self._present[position]
            yield Event(int(obj["metadata"]["resourceVersion"]), "ADDED", obj)
            position += 1
        self.sent += position
        self._present = []

    async def _deliver(self, send: Send, events: list[Event]) -> None:
        if len(events) <= _FEW:
            # The usual case, so without counting line by line.
            lines = [self.render(event) for event in events]
            if sum(map(len, lines)) <= _BATCH:
                await self._push(send, b"".join(lines))
            else:
                await self._push_all(send, _batches(lines, _BATCH))
        else:
            await self._push_all(send, _batches(map(self.render, events), _BATCH))

    async def _push_all(self, send: Send, batches: Iterator[bytes]) -> None:
        for batch in batches:
            await self._push(send, batch)
            if self._gone:
                return
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


def _batches(lines: Iterable[bytes], wanted: int) -> Iterator[bytes]:
    """Lines together, so many as make a batch of the wanted size."""
    some: list[bytes] = []
    size = 0
    for line in lines:
        some.append(line)
        size += len(line)
        if size >= wanted:
            batch = b"".join(some)
            some.clear()
            size = 0
            yield batch
    if some:
        yield b"".join(some)
