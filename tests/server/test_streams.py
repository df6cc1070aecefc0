"""Streams: watches as clients see them, without a socket."""

from __future__ import annotations

import asyncio
import contextlib
from unittest.mock import patch

import orjson
import pytest

from ghostfleet.api.builtin import load_registry
from ghostfleet.core.clock import VirtualClock
from ghostfleet.core.store import Store
from ghostfleet.core.watch import Watch
from ghostfleet.server import streams
from ghostfleet.server.negotiation import PLAIN, PROTOBUF, MediaType
from ghostfleet.server.protoanswers import Messages
from ghostfleet.server.streams import WatchStreams
from ghostfleet.server.watching import EventLines, WatchStream

TABLE = MediaType(conversion="Table", version="v1")
BINARY = MediaType(PROTOBUF)
PARTIAL = MediaType(conversion="PartialObjectMetadata", version="v1")


class Connection:
    """The other side of a stream: keeps what is sent, and can go away."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.status = 0
        self.ended = False
        self.left = asyncio.Event()
        self.clear_to_send = asyncio.Event()
        self.clear_to_send.set()
        self._asked = False

    async def send(self, message) -> None:
        await self.clear_to_send.wait()
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            if message["body"]:
                self.bodies.append(message["body"])
            self.ended = not message.get("more_body", False)

    async def receive(self):
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.left.wait()
        return {"type": "http.disconnect"}

    def events(self) -> list[dict]:
        return [orjson.loads(line) for line in b"".join(self.bodies).splitlines()]

    def summary(self) -> list[tuple[str, str]]:
        return [(event["type"], event["object"]["metadata"].get("name", "")) for event in self.events()]


class Server:
    """A store with streams on its config maps."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.store = Store(self.clock)
        self.streams = WatchStreams()
        found = load_registry().at("", "v1", "configmaps")
        assert found is not None
        self.resource, self.version = found
        self.tasks: list[asyncio.Task] = []

    def make(self, name: str, **metadata) -> None:
        metadata = {"name": name, "namespace": "default", **metadata}
        self.store.create("configmaps", {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata})

    def get(self, name: str) -> dict:
        return self.store.get("configmaps", "default", name)

    def open(self, form: MediaType = PLAIN, *, bookmarks=False, timeout=60.0, messages=None, **watch) -> Connection:
        lines = EventLines(self.resource, self.version, form, "Metadata", self.clock, messages or Messages())
        stream = WatchStream(
            self.streams,
            Watch(self.store, "configmaps", **watch),
            timeout,
            lines,
            lambda: self.store.revision,
            bookmarks=bookmarks,
        )
        connection = Connection()
        self.tasks.append(asyncio.create_task(stream.run(connection.send, connection.receive)))
        return connection

    async def settle(self) -> None:
        """Let everything run until no round is due and nothing is left to do."""
        for _ in range(20):
            await asyncio.sleep(0)
            while self.streams._round_due:
                await asyncio.sleep(0)


def scenario(play):
    """Run a scenario that is a coroutine function of a server; its streams must end when they are told to."""

    def test() -> None:
        async def run() -> None:
            server = Server()
            await play(server)
            server.streams.close()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.gather(*server.tasks), 5)
            assert all(task.done() for task in server.tasks)
            assert len(server.streams) == 0

        asyncio.run(run())

    test.__doc__ = play.__doc__
    return test


@scenario
async def test_a_watch_shows_what_is_there_and_then_what_comes(server):
    server.make("a")
    connection = server.open()
    await server.settle()
    assert connection.status == 200
    assert connection.summary() == [("ADDED", "a")]
    server.make("b")
    server.store.delete("configmaps", "default", "a")
    await server.settle()
    assert connection.summary() == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]
    assert not connection.ended


@scenario
async def test_everything_that_is_pending_goes_out_in_one_piece(server):
    connection = server.open()
    await server.settle()
    for number in range(50):
        server.make(f"c{number}")
    await server.settle()
    assert len(connection.bodies) == 1
    assert len(connection.events()) == 50


@scenario
async def test_an_event_is_encoded_once_for_all_watchers(server):
    connections = [server.open() for _ in range(3)]
    await server.settle()
    server.make("a")
    await server.settle()
    # The very same bytes, not only equal ones.
    assert len({id(connection.bodies[0]) for connection in connections}) == 1


@scenario
async def test_a_client_that_leaves_ends_its_watch_at_once(server):
    connection = server.open()
    await server.settle()
    assert len(server.streams) == 1
    connection.left.set()
    await server.settle()
    assert len(server.streams) == 0
    assert server.store.bucket("configmaps").listeners == ()


@scenario
async def test_a_watch_ends_when_its_time_is_over(server):
    connection = server.open(timeout=0.0, bookmarks=True, since=server.store.revision)
    server.make("a")
    await server.settle()
    assert connection.ended
    assert connection.summary()[-1] == ("BOOKMARK", "")


@scenario
async def test_a_stopping_server_ends_all_watches_properly(server):
    connections = [server.open() for _ in range(100)]
    await server.settle()
    server.streams.close()
    await server.settle()
    assert all(connection.ended for connection in connections)
    late = server.open()
    await server.settle()
    assert late.ended


@scenario
async def test_the_end_of_the_initial_events_is_marked(server):
    server.make("a")
    connection = server.open(bookmarks=True, initial_events=True)
    server.make("b")
    await server.settle()
    events = connection.events()
    assert [event["type"] for event in events] == ["ADDED", "BOOKMARK", "ADDED"]
    assert events[1]["object"] == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}},
    }


@scenario
async def test_who_allows_no_bookmarks_gets_none(server):
    connection = server.open(initial_events=True, timeout=0.0)
    await server.settle()
    assert connection.ended
    assert connection.events() == []


@scenario
async def test_bookmarks_come_from_time_to_time_and_tell_the_newest_revision(server):
    connection = server.open(bookmarks=True)
    await server.settle()
    server.make("a")
    server.streams._tick()
    await server.settle()
    newest = connection.events()[-1]
    assert newest["type"] == "BOOKMARK"
    assert newest["object"]["metadata"]["resourceVersion"] == "1"


@scenario
async def test_a_watch_of_tables_names_the_columns_once(server):
    server.make("a")
    connection = server.open(TABLE, bookmarks=True, initial_events=True)
    await server.settle()
    server.make("b")
    await server.settle()
    tables = [event["object"] for event in connection.events()]
    assert [table["kind"] for table in tables] == ["Table"] * 3
    assert [bool(table["columnDefinitions"]) for table in tables] == [True, False, False]
    assert tables[0]["rows"][0]["cells"][0] == "a"
    assert tables[1]["rows"][0]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


@scenario
async def test_the_first_table_has_columns_even_if_it_is_a_bookmark(server):
    connection = server.open(TABLE, bookmarks=True, initial_events=True)
    await server.settle()
    assert connection.events()[0]["object"]["columnDefinitions"]


@scenario
async def test_a_partial_watch_shows_metadata_only(server):
    server.make("a", labels={"x": "y"})
    connection = server.open(PARTIAL)
    await server.settle()
    shown = connection.events()[0]["object"]
    assert (shown["kind"], shown["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert shown["metadata"]["labels"] == {"x": "y"}
    assert set(shown) == {"kind", "apiVersion", "metadata"}


@scenario
async def test_what_leaves_one_watcher_in_protobuf_is_new_to_the_others(server):
    server.make("a", labels={"color": "red"})
    messages = Messages()
    red = server.open(BINARY, messages=messages, matches=lambda obj: obj["metadata"]["labels"]["color"] == "red")
    every = server.open(BINARY, messages=messages)
    await server.settle()
    metadata = {**server.get("a")["metadata"], "labels": {"color": "blue"}}
    server.store.update("configmaps", {**server.get("a"), "metadata": metadata})
    await server.settle()
    assert b"DELETED" in red.bodies[-1]
    assert b"red" in red.bodies[-1]
    assert b"MODIFIED" in every.bodies[-1]
    assert b"blue" in every.bodies[-1]


@scenario
async def test_a_reader_that_is_too_slow_is_cut_off_with_an_error(server):
    server.store = Store(server.clock, history=100)
    connection = server.open(capacity=10)
    await server.settle()
    connection.clear_to_send.clear()
    for number in range(200):
        server.make(f"c{number}")
        await server.settle()
    connection.clear_to_send.set()
    await server.settle()
    assert connection.ended
    last = connection.events()[-1]
    assert (last["type"], last["object"]["code"], last["object"]["reason"]) == ("ERROR", 410, "Expired")


@scenario
async def test_a_long_list_of_initial_events_comes_in_several_pieces(server):
    for number in range(1000):
        server.make(f"c{number:04}")
    connection = server.open()
    await server.settle()
    assert len(connection.bodies) > 2
    assert [name for _, name in connection.summary()] == [f"c{number:04}" for number in range(1000)]


@scenario
async def test_large_events_come_in_pieces_of_a_bounded_size(server):
    for number in range(50):
        server.make(f"c{number:04}", annotations={"long": "x" * 10_000})
    connection = server.open()
    await server.settle()
    for number in range(50, 100):
        server.make(f"c{number:04}", annotations={"long": "x" * 10_000})
    await server.settle()
    assert [name for _, name in connection.summary()] == [f"c{number:04}" for number in range(100)]
    assert max(map(len, connection.bodies)) < 150_000


@scenario
async def test_when_slow_readers_hold_too_many_objects_the_oldest_are_told_to_begin_again(server):
    for number in range(2000):
        server.make(f"c{number:04}")
    connections = [server.open() for _ in range(5)]
    for connection in connections:
        connection.clear_to_send.clear()
    with patch.object(streams, "_PRESENT_LIMIT", 6000):
        await server.settle()
    held = [stream.present for stream in server.streams._open]
    assert held == [0, 0, 2000, 2000, 2000]
    for connection in connections:
        connection.clear_to_send.set()
    await server.settle()
    assert [connection.ended for connection in connections] == [True, True, False, False, False]
    last = connections[0].events()[-1]
    assert (last["type"], last["object"]["code"], last["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert len(connections[4].events()) == 2000


@pytest.mark.parametrize("form", [MediaType(), TABLE, PARTIAL])
def test_nothing_is_lost_or_reordered_while_others_write(form):
    async def run() -> None:
        server = Server()
        connections = [server.open(form) for _ in range(5)]
        for number in range(300):
            server.make(f"c{number}")
            if number % 7 == 0:
                await asyncio.sleep(0)
        await server.settle()
        for connection in connections:
            revisions = [int(event["object"]["metadata"]["resourceVersion"]) for event in connection.events()]
            assert revisions == list(range(1, 301))
        server.streams.close()
        await asyncio.gather(*server.tasks)

    asyncio.run(run())
