"""Serving on sockets: where to listen, how to stop."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

from ghostfleet.server.serve import BindError, HttpServer
from ghostfleet.server.tls import make_certificates


class Greeter:
    """An application that says hello, or whatever it is told to wait for."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True

    async def __call__(self, scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
        await send({"type": "http.response.body", "body": b"hello"})


def running(server: HttpServer) -> tuple[threading.Thread, list[str]]:
    announced: list[str] = []
    ready = threading.Event()

    def on_ready(url: str) -> None:
        announced.append(url)
        ready.set()

    thread = threading.Thread(target=server.run, args=(on_ready,))
    thread.start()
    assert ready.wait(10)
    return thread, announced


def test_a_server_announces_where_it_is_once_it_answers():
    app = Greeter()
    server = HttpServer(app)
    thread, announced = running(server)
    try:
        assert announced == [server.url] == [f"http://127.0.0.1:{server.port}"]
        with urllib.request.urlopen(server.url) as response:
            assert response.read() == b"hello"
            assert "server" not in response.headers
    finally:
        server.stop()
        thread.join(10)
    assert app.closed
    assert not thread.is_alive()


def test_a_port_that_is_taken_is_told_before_anything_is_announced():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(BindError, match=f"cannot listen at 127.0.0.1:{port}: another program has port {port}"):
            HttpServer(Greeter(), port=port)


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(BindError, match="this machine does not have that address"):
        HttpServer(Greeter(), address="192.0.2.1")


@pytest.mark.parametrize("address", ["not an address", "a" * 300, "\x00"])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(BindError, match="is no address or host name"):
        HttpServer(Greeter(), address=address)


@pytest.mark.parametrize("port", [-1, 65_536])
def test_what_is_no_port_is_refused(port):
    with pytest.raises(BindError, match="ports are numbers from 0 to 65535"):
        HttpServer(Greeter(), port=port)


def test_a_server_that_listens_everywhere_names_an_address_that_clients_can_use():
    server = HttpServer(Greeter(), address="0.0.0.0")
    assert server.url == f"http://127.0.0.1:{server.port}"
    server.close()


def test_a_server_with_certificates_speaks_tls(tmp_path):
    files = make_certificates(tmp_path, ["127.0.0.1"], time.time_ns() // 1000)
    server = HttpServer(Greeter(), tls=(files.certificate, files.key))
    thread, announced = running(server)
    try:
        assert announced[0].startswith("https://")
        trust = ssl.create_default_context(cafile=str(files.authority))
        with urllib.request.urlopen(announced[0], context=trust) as response:
            assert response.read() == b"hello"
    finally:
        server.stop()
        thread.join(10)


PROGRAM = """
import sys
from ghostfleet.server.serve import HttpServer

class Silent:
    def close(self): pass
    async def __call__(self, scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass

HttpServer(Silent()).run(lambda url: print(url, flush=True))
print("over", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_within_a_second_though_a_client_hangs_on(number):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with urllib.request.urlopen(url) as response:
            assert response.read(1) == b"x"
            began = time.monotonic()
            process.send_signal(number)
            output, errors = process.communicate(timeout=20)
            took = time.monotonic() - began
    finally:
        process.kill()
        process.wait()
    assert (output, errors) == ("over\n", "")
    assert process.returncode == 0
    assert took < 3  # a second, and more on a machine that has other things to do
