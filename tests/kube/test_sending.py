"""What is sent to a foreign cluster: merge patches, their order, and what happens when the cluster says no."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghostfleet.core.patch import apply_merge_patch
from ghostfleet.drive.access import Access
from ghostfleet.kube.client import Client
from ghostfleet.kube.mirror import difference
from ghostfleet.kube.sender import Sender, Write
from ghostfleet.server import kubeconfig

_scalars = st.booleans() | st.integers(-9, 9) | st.text(max_size=3)
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=12,
)
_objects = st.dictionaries(st.text(max_size=2), _values, max_size=4)


@given(_objects, _objects)
def test_a_difference_makes_the_new_object_of_the_old_one(old, new):
    assert apply_merge_patch(old, difference(old, new)) == new


@given(_objects)
def test_there_is_no_difference_between_equals(obj):
    assert difference(obj, orjson.loads(orjson.dumps(obj))) == {}


class Script:
    """A server that answers as it is told, and remembers what it was asked."""

    def __init__(self, answers: Callable[[str, bytes, int], tuple[int, dict] | None]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, bytes]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                length = next((int(line.split(":")[1]) for line in head if line.startswith("Content-Length")), 0)
                body = await reader.readexactly(length)
                first = head[0].removesuffix(" HTTP/1.1")
                self.asked.append((first, body))
                answer = self.answers(first, body, len(self.asked))
                if answer is None:
                    return
                status, content = answer
                text = orjson.dumps(content)
                writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


def carried(script: Script, writes: list[Write], tmp_path, warn: Callable[[str], None] = lambda _: None) -> list[str]:
    """Send writes until all are done; answers what the server was asked."""

    async def run() -> None:
        server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        path = tmp_path / "kubeconfig"
        kubeconfig.write(path, kubeconfig.render("lab", f"http://127.0.0.1:{port}", "t", None))
        client = Client(Access(path))
        sender = Sender(client, warn)
        for write in writes:
            sender.send(write)
        task = asyncio.create_task(sender.run())
        while sender.pending:
            await asyncio.sleep(0.005)
        task.cancel()
        await asyncio.wait([task])
        client.close()
        server.close()

    asyncio.run(run())
    return [f"{first} {body.decode()}" for first, body in script.asked]


def write(name: str, body, path: str = "/x", method: str = "PATCH", **more) -> Write:
    return Write(("things", "", name), method, path, body, **more)


def test_writes_about_one_object_are_sent_in_their_order(tmp_path):
    script = Script(lambda *_: (200, {}))
    asked = carried(script, [write("a", number) for number in range(20)], tmp_path)
    assert asked == [f"PATCH /x {number}" for number in range(20)]


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_write_that_is_turned_away_for_now_is_sent_again(tmp_path, code):
    script = Script(lambda _first, _body, count: (code, {}) if count < 3 else (200, {}))
    assert carried(script, [write("a", 1), write("a", 2)], tmp_path) == ["PATCH /x 1"] * 3 + ["PATCH /x 2"]


def test_a_connection_that_was_closed_is_opened_again(tmp_path):
    script = Script(lambda _first, _body, count: None if count == 2 else (200, {}))
    assert carried(script, [write("a", 1), write("a", 2)], tmp_path)[-1] == "PATCH /x 2"


@pytest.mark.parametrize("code", [404, 409])
def test_a_write_that_comes_too_late_is_dropped_in_silence(tmp_path, code):
    warnings: list[str] = []
    assert len(carried(Script(lambda *_: (code, {})), [write("a", 1)], tmp_path, warnings.append)) == 1
    assert not warnings


def test_another_refusal_is_told(tmp_path):
    warnings: list[str] = []
    carried(Script(lambda *_: (422, {"message": "not like this"})), [write("a", 1)], tmp_path, warnings.append)
    assert warnings == ["PATCH /x was refused: not like this"]


def test_what_is_there_already_is_changed_instead(tmp_path):
    instead = {409: write("a", "patch", "/x/a")}
    script = Script(lambda first, *_: (409, {}) if first.startswith("POST") else (200, {}))
    asked = carried(script, [write("a", "new", method="POST", instead=instead)], tmp_path)
    assert asked == ['POST /x "new"', 'PATCH /x/a "patch"']


def test_of_writes_that_replace_each_other_only_the_newest_waits(tmp_path):
    script = Script(lambda *_: (200, {}))
    asked = carried(script, [write("a", number, replaces=True) for number in range(5)], tmp_path)
    assert asked == ["PATCH /x 0", "PATCH /x 4"]
