"""Served things: a cluster as `ghostfleet up` runs it, and the bare application that its HTTP is measured against."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import orjson
import yaml

from ghostfleet.cluster import PARTS
from ghostfleet.server.instances import Instance
from ghostfleet.server.requests import Receive, Scope, Send
from ghostfleet.server.serve import HttpServer

__all__ = ["Place", "bare_server", "cluster", "place_of", "run_client", "running"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server is and how to be let in; `authority` is "" without TLS."""

    port: int
    authority: str
    token: str
    pid: int


@contextmanager
def running(*options: str) -> Iterator[Instance]:
    """A fresh cluster, started by `ghostfleet up` with these options and ended with the block."""
    with tempfile.TemporaryDirectory() as state:
        environment = {**os.environ, "XDG_STATE_HOME": state, "KUBECONFIG": f"{state}/none"}
        command = [sys.executable, "-m", "ghostfleet"]
        try:
            subprocess.run([*command, "up", "bench", "--detach", "--quiet", *options], env=environment, check=True)
            yield Instance("bench", environment)
        finally:
            # One that did not start cannot be ended, which is said; what counts is why it did not.
            subprocess.run([*command, "down", "bench", "--quiet"], env=environment, check=False)


@contextmanager
def cluster(*, tls: bool) -> Iterator[Place]:
    """A fresh cluster in a process of its own: the API alone, without anyone who acts on what is written."""
    with running("--tls" if tls else "--no-tls", "--disable", ",".join(PARTS)) as instance:
        yield place_of(instance)


def place_of(instance: Instance) -> Place:
    """Where a cluster that runs is."""
    record = instance.record()
    assert record is not None
    authority = instance.directory / "ca.crt"
    token = yaml.safe_load(instance.kubeconfig.read_text())["users"][0]["user"]["token"]
    port = int(record.url.rpartition(":")[2])
    return Place(port, str(authority) if authority.exists() else "", token, record.pid)


@contextmanager
def bare_server() -> Iterator[Place]:
    """An application that reads a body and sends it back, in a process of its own."""
    with subprocess.Popen([sys.executable, "-m", "benchmarks.served"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield Place(int(process.stdout.readline()), "", "none", process.pid)
        finally:
            process.terminate()


def run_client(place: Place, module: str = "benchmarks.client", **task: Any) -> dict[str, Any]:
    """Let a client process do a task; answers what it measured."""
    told = orjson.dumps({**asdict(place), **task})
    done = subprocess.run([sys.executable, "-m", module], input=told, stdout=subprocess.PIPE, check=True)
    measured: dict[str, Any] = orjson.loads(done.stdout)
    return measured


class _Echo:
    def close(self) -> None:
        pass

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        body = (await receive())["body"]
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


if __name__ == "__main__":
    server = HttpServer(_Echo())
    server.run(lambda _url: print(server.port, flush=True))
