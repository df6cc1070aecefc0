"""The sender: carries writes to an API server, many at a time, and those about one object in their order.

A *write* is one request about one object. There are two *lanes* with connections of their own, so that a thousand
leases which are due at once do not keep pods waiting. A write that the server turns away for now, or that finds no
server, is sent again, later each time. One that comes too late (the object is gone, or was changed by others) is
dropped: whoever watches the object sees what it is now, and decides again. Other refusals are told.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from ghostfleet.drive.interface import ConnectionFailed
from ghostfleet.kube.client import Answer, Client

__all__ = ["LEASES_LANE", "OBJECTS_LANE", "Sender", "Write"]

OBJECTS_LANE = "objects"
LEASES_LANE = "leases"
_CONNECTIONS = {OBJECTS_LANE: 32, LEASES_LANE: 8}
_FOR_NOW = frozenset((429, 500, 502, 503, 504))
_TOO_LATE = frozenset((404, 409))
_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 30.0
#: How often a server may turn a write away before it is given up.
_TRIES = 12

#: A resource, a namespace and a name.
Key = tuple[str, str, str]


@dataclass(slots=True)
class Write:
    """One request about one object, and how often it was sent."""

    key: Key
    method: str
    path: str
    body: Any
    media: str = "application/json"
    lane: str = OBJECTS_LANE
    #: what to send in its place when it comes too late, by the code of the answer
    instead: dict[int, Write] = field(default_factory=dict)
    #: whether it takes the place of one about the same object that was not sent yet
    replaces: bool = False


class Sender:
    """Carries writes to one API server, those about one object in their order."""

    def __init__(self, client: Client, warn: Callable[[str], None]) -> None:
        self._client = client
        self._warn = warn
        self._waiting: dict[Key, deque[Write]] = {}
        #: objects that wait for a connection
        self._lanes: dict[str, asyncio.Queue[Key]] = {name: asyncio.Queue() for name in _CONNECTIONS}
        #: how many writes were sent, and how many of them again
        self.sent = self.repeated = 0

    def send(self, write: Write) -> None:
        """Send a write soon, after all others about its object."""
        waiting = self._waiting.get(write.key)
        if waiting is None:
            self._waiting[write.key] = deque((write,))
            self._lanes[write.lane].put_nowait(write.key)
        elif write.replaces and len(waiting) > 1:
            # The first is under way.
            waiting[-1] = write
        else:
            waiting.append(write)

    def is_pending(self, key: Key) -> bool:
        """Whether writes about an object wait or are under way."""
        return key in self._waiting

    @property
    def pending(self) -> int:
        return len(self._waiting)

    async def run(self) -> None:
        """Send whatever comes, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for name, count in _CONNECTIONS.items():
                for _ in range(count):
                    group.create_task(self._work(self._lanes[name]))

    async def _work(self, lane: asyncio.Queue[Key]) -> None:
        while True:
            key = await lane.get()
            waiting = self._waiting[key]
            await self._carry(waiting[0])
            waiting.popleft()
            if waiting:
                lane.put_nowait(key)
            else:
                del self._waiting[key]

    async def _carry(self, write: Write) -> None:
        pause = _FIRST_PAUSE_SECONDS
        left = _TRIES
        while True:
            answer = await self._answer(write)
            if answer is not None:
                left -= 1
                if answer.status < 300:
                    return
                if answer.status in write.instead:
                    write = write.instead[answer.status]
                    continue
                if answer.status not in _FOR_NOW or not left:
                    if answer.status not in _TOO_LATE:
                        self._warn(f"{write.method} {write.path} was refused: {answer.message()}")
                    return
            self.repeated += 1
            await asyncio.sleep(max(pause, answer.retry_after if answer is not None else 0.0))
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    async def _answer(self, write: Write) -> Answer | None:
        self.sent += 1
        try:
            return await self._client.ask(write.method, write.path, orjson.dumps(write.body), write.media)
        except ConnectionFailed as error:
            self._warn(str(error))
            return None
