"""Attacks on a server in a process of its own, whose memory is limited: it serves on."""

from __future__ import annotations

import contextlib
import http.client
import re
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

MAPS = "/api/v1/namespaces/default/configmaps"
TOKEN = "a-token-for-attacks"
MEGABYTE = 1 << 20

_SERVER = """
from ghostfleet.cluster import BARE, Cluster
from ghostfleet.core.clock import WallClock
from ghostfleet.server.app import App
from ghostfleet.server.auth import Authenticator
from ghostfleet.server.serve import HttpServer

clock = WallClock()
server = HttpServer(App(Cluster(clock, BARE).api, Authenticator("a-token-for-attacks")), clock=clock)
server.run(lambda _url: print(server.port, flush=True))
"""


@dataclass
class Victim:
    """A server that may have a gigabyte of memory."""

    process: subprocess.Popen[bytes]
    port: int

    def call(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
        connection.request(method, path, None if body is None else orjson.dumps(body), headers)
        answer = connection.getresponse()
        read = answer.status, answer.read()
        connection.close()
        return read

    def send(self, request: str) -> socket.socket:
        """Open a connection that never reads, and send a request on it."""
        wire = socket.socket()
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.connect(("127.0.0.1", self.port))
        wire.sendall(f"{request} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
        return wire

    def memory(self) -> int:
        """Megabytes that are resident."""
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        assert found is not None
        return int(found[1]) // 1024


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1024 * MEGABYTE, 1024 * MEGABYTE))


@pytest.fixture
def victim() -> Iterator[Victim]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2000:
        pytest.skip(f"this system allows {hard} open files, which is too few for an attack")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    command = [sys.executable, "-c", _SERVER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=_limit_memory) as process:
        assert process.stdout is not None
        try:
            yield Victim(process, int(process.stdout.readline()))
        finally:
            process.terminate()
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _fill(victim: Victim) -> None:
    """About 12 megabytes of objects."""
    for number in range(600):
        status, _ = victim.call("POST", MAPS, {"metadata": {"name": f"c{number}"}, "data": {"x": "y" * 20_000}})
        assert status == 201


@pytest.mark.parametrize("query", ["?watch=true", ""])
def test_hundreds_of_clients_that_never_read_do_not_end_the_server(victim, query):
    _fill(victim)
    with contextlib.ExitStack() as wires:
        for number in range(500):
            wires.enter_context(victim.send(f"GET {MAPS}{query}"))
            if number % 50 == 0:
                assert victim.call("GET", "/readyz") == (200, b"ok")
        for number in range(50):
            status, _ = victim.call("PUT", f"{MAPS}/c{number}", {"metadata": {"name": f"c{number}"}})
            assert status == 200
        print(f"{victim.memory()} MB with 500 clients that never read")
        assert victim.memory() < 700
    status, body = victim.call("GET", MAPS)
    assert (status, len(orjson.loads(body)["items"])) == (200, 600)
