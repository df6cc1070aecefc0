"""Connections: clients that are slow, or many, cost the server little and nobody else anything."""

from __future__ import annotations

import contextlib
import resource
import socket
import threading
from collections.abc import Iterator

import pytest

from ghostfleet.server import connections, requests
from ghostfleet.server.connections import Guard, open_files
from ghostfleet.server.requests import Intake

MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def wires() -> Iterator[contextlib.ExitStack]:
    """Connections that are closed with the test."""
    with contextlib.ExitStack() as stack:
        yield stack


def connect(live, wires) -> socket.socket:
    return wires.enter_context(socket.create_connection(("127.0.0.1", live.server.port), timeout=20))


def head(live, method: str = "GET", path: str = "/version", **fields: object) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {live.token}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def seconds_pass(live, seconds: float) -> None:
    """Let the guard look now and again so much later; the loop's own time is not waited for."""
    guard, done = live.server.guard, threading.Event()

    def look() -> None:
        now = guard._loop.time()
        guard.look(now)
        guard.look(now + seconds)
        done.set()

    guard._loop.call_soon_threadsafe(look)
    assert done.wait(10)


def is_closed(wire: socket.socket) -> bool:
    """Whether the server has closed the connection; what it sent before is read over."""
    wire.settimeout(0.2)
    try:
        while wire.recv(65_536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


def until(condition) -> None:
    """Wait until the server has seen what was sent to it."""
    pause = threading.Event()
    for _ in range(1000):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("it did not come about")


def busy(live, what: str) -> int:
    return sum(connections._busy_with(each) == what for each in list(live.server.guard._connections))


def test_a_client_that_never_ends_its_head_is_closed(live, wires):
    silent, slow = connect(live, wires), connect(live, wires)
    slow.sendall(b"GET /version HTTP/1.1\r\nHost: x\r\nX-Slow: ")
    until(lambda: busy(live, "head") == 2)
    seconds_pass(live, 31)
    assert not is_closed(slow)
    seconds_pass(live, 33)
    assert is_closed(slow)
    assert is_closed(silent)
    assert live.call("GET", "/readyz").body == b"ok"


def test_a_client_that_never_ends_its_body_is_closed(live, wires):
    wire = connect(live, wires)
    wire.sendall(head(live, "POST", MAPS, Content_Type="application/json", Content_Length=100) + b"{")
    until(lambda: busy(live, "body") == 1)
    seconds_pass(live, 59)
    assert not is_closed(wire)
    seconds_pass(live, 61)
    assert is_closed(wire)


def test_a_head_that_goes_on_for_ever_is_refused(live, wires):
    wire = connect(live, wires)
    with contextlib.suppress(ConnectionError):
        wire.sendall(b"GET /version HTTP/1.1\r\nX-Long: ")
        for _ in range(64):
            wire.sendall(b"x" * 65_536)
    assert wire.recv(12) == b"HTTP/1.1 431"


def test_a_watch_or_a_kept_connection_may_be_silent_for_long(live, wires):
    watch, kept = connect(live, wires), connect(live, wires)
    watch.sendall(head(live, path=f"{MAPS}?watch=true"))
    kept.sendall(head(live))
    assert watch.recv(15) == kept.recv(15) == b"HTTP/1.1 200 OK"
    until(lambda: busy(live, "") == 2)
    seconds_pass(live, 500)
    assert not is_closed(watch)
    assert not is_closed(kept)


def make_much(live, count: int = 8) -> None:
    """About 700 kB of config maps each: together more than the system holds for one connection."""
    for number in range(count):
        body = {"metadata": {"name": f"c{number}"}, "data": {"x": "y" * 700_000}}
        assert live.call("POST", MAPS, body).status == 201


def thrifty(live, wires) -> socket.socket:
    """A connection for which the client's system holds as little as it can."""
    wire = wires.enter_context(socket.socket())
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    wire.connect(("127.0.0.1", live.server.port))
    return wire


@pytest.mark.parametrize("query", ["", "?watch=true"])
def test_a_client_that_does_not_take_its_answer_is_closed(live, wires, query):
    make_much(live)
    wire = thrifty(live, wires)
    wire.sendall(head(live, path=MAPS + query))
    until(lambda: busy(live, "answer") == 1)
    seconds_pass(live, 61)
    until(lambda: len(live.server.guard) == len(live.app.streams) == 0)


def test_those_that_have_been_slow_for_longest_are_closed_when_too_much_waits(live, wires, monkeypatch):
    make_much(live)
    monkeypatch.setattr(connections, "_UNSENT_LIMIT", 4_000_000)
    slow = [thrifty(live, wires) for _ in range(3)]
    for wire in slow:
        wire.sendall(head(live, path=MAPS))
    until(lambda: len(live.server.guard) < 3)
    assert live.call("GET", MAPS).status == 200
    assert is_closed(slow[0])


def test_idle_connections_make_room_for_new_ones(live, wires, monkeypatch):
    monkeypatch.setattr(live.server.guard, "_limit", 10)
    idle = [connect(live, wires) for _ in range(10)]
    for wire in idle:
        wire.sendall(head(live))
        assert wire.recv(12) == b"HTTP/1.1 200"
    until(lambda: busy(live, "") == 10)
    assert live.call("GET", "/readyz").status == 200
    assert is_closed(idle[0])
    assert not is_closed(idle[-1])


def test_when_all_connections_are_busy_the_next_is_refused(live, wires, monkeypatch):
    monkeypatch.setattr(live.server.guard, "_limit", 3)
    for _ in range(3):
        wire = connect(live, wires)
        wire.sendall(head(live, path=f"{MAPS}?watch=true"))
        assert wire.recv(12) == b"HTTP/1.1 200"
    assert connect(live, wires).recv(12) == b"HTTP/1.1 503"


def test_unfinished_bodies_together_have_a_bound(live, wires, monkeypatch):
    monkeypatch.setattr(live.app, "_intake", Intake(2_000_000))
    answers = []
    for _ in range(3):
        wire = connect(live, wires)
        wire.sendall(head(live, "POST", MAPS, Content_Type="application/json", Content_Length=2_000_000))
        wire.sendall(b"x" * 900_000)
        wire.settimeout(0.5)
        with contextlib.suppress(TimeoutError):
            answers.append(wire.recv(12))
    assert answers == [b"HTTP/1.1 429"]
    assert requests._INTAKE_LIMIT < 1 << 30


def test_a_process_may_open_as_many_files_as_connections_fit():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        assert 0 < open_files() < resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_guard_forgets_who_leaves(live, wires):
    assert isinstance(live.server.guard, Guard)
    wire = connect(live, wires)
    until(lambda: len(live.server.guard) == 1)
    wire.close()
    until(lambda: len(live.server.guard) == 0)
