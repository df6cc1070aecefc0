"""Churn: the memory of a served cluster in which workloads come and go, every one under a name of its own.

A client makes Jobs, Deployments, Services, ConfigMaps, namespaces and custom objects as fast as the server takes them,
and deletes each a while later. The curve of the server's memory is printed as it goes. It rises while histories and
caches fill up to their bounds, and must be flat from then on: the figure is what it grows by from two fifths of the
time to the end. Three minutes by default; `CHURN_MINUTES=10` makes it ten.
"""

from __future__ import annotations

import asyncio
import os
import re
import ssl
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from benchmarks.figures import Baseline, Figure, at_most
from benchmarks.served import Place, place_of, run_client, running

__all__ = ["run"]

_MINUTES = float(os.environ.get("CHURN_MINUTES", "3"))
_POINTS = 20
#: The share of the time in which memory may still rise.
_WARM_UP = 0.4
#: How many rounds live at a time, and how many go on beside each other.
_ALIVE = 50
_CONNECTIONS = 4
_CPU = {"requests": {"cpu": "10m"}}
_CONTAINERS = [{"name": "main", "image": "busybox", "resources": _CPU}]


def run() -> Iterator[Figure]:
    with running("--no-tls", "--nodes", "100", "--gpus", "8") as instance:
        curve = run_client(place_of(instance), module="benchmarks.churn", minutes=_MINUTES)["curve"]
    settled = curve[int(len(curve) * _WARM_UP) :]
    growth = max(settled) - settled[0]
    start = Baseline(f"after {_WARM_UP * _MINUTES:.1f} minutes", settled[0])
    yield Figure(f"memory gained in the rest of {_MINUTES:g} minutes of churn", growth, "MB", start, at_most(50))


def _bodies(name: str) -> list[tuple[str, dict[str, Any]]]:
    """What one round makes: collections and bodies."""
    meta = {"metadata": {"name": name}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": _CONTAINERS}}
    ending = {"spec": {"containers": _CONTAINERS, "restartPolicy": "Never"}}
    selector = {"matchLabels": {"app": name}}
    space = "namespaces/default"
    return [
        (f"/apis/batch/v1/{space}/jobs", {**meta, "spec": {"template": ending, "parallelism": 2, "completions": 2}}),
        (f"/apis/apps/v1/{space}/deployments", {**meta, "spec": {"selector": selector, "template": template}}),
        (f"/api/v1/{space}/services", {**meta, "spec": {"selector": {"app": name}, "ports": [{"port": 80}]}}),
        (f"/api/v1/{space}/configmaps", {**meta, "data": {"key": name}}),
        ("/api/v1/namespaces", meta),
        (f"/apis/kubeflow.org/v1/{space}/pytorchjobs", _training(name)),
    ]


def _training(name: str) -> dict[str, Any]:
    containers = [{"name": "pytorch", "image": "busybox", "resources": _CPU}]
    replicas = {"Worker": {"replicas": 1, "template": {"spec": {"containers": containers}}}}
    about = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name}}
    return {**about, "spec": {"pytorchReplicaSpecs": replicas}}


class _Client:
    """Makes and deletes until the time is over."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._place = Place(**{name: task[name] for name in ("port", "authority", "token", "pid")})
        self._until = time.monotonic() + task["minutes"] * 60
        self._rounds = 0
        self._alive: deque[str] = deque()

    async def run(self) -> list[float]:
        workers = [asyncio.create_task(self._work()) for _ in range(_CONNECTIONS)]
        curve = []
        for point in range(_POINTS):
            await asyncio.sleep((self._until - time.monotonic()) / (_POINTS - point))
            curve.append(_resident(self._place.pid))
            print(f"  {self._rounds:7,} rounds: {curve[-1]:5.0f} MB", file=sys.stderr, flush=True)
        await asyncio.gather(*workers)
        return curve

    async def _work(self) -> None:
        tls = ssl.create_default_context(cafile=self._place.authority) if self._place.authority else None
        reader, writer = await asyncio.open_connection("127.0.0.1", self._place.port, ssl=tls)
        while time.monotonic() < self._until:
            self._rounds += 1
            name = f"churn-{self._rounds}"
            for collection, body in _bodies(name):
                await self._ask(reader, writer, "POST", collection, body)
            self._alive.append(name)
            if len(self._alive) > _ALIVE:
                gone = self._alive.popleft()
                for collection, _ in _bodies(gone):
                    options = {"propagationPolicy": "Background"}
                    await self._ask(reader, writer, "DELETE", f"{collection}/{gone}", options)
        writer.close()

    async def _ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, method: str, path: str, body: Any
    ) -> None:
        sent = orjson.dumps(body)
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self._place.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
        )
        writer.write(head.encode() + sent)
        answer = await reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"content-length: (\d+)", answer)
        text = await reader.readexactly(int(found[1])) if found else b""
        if not answer.startswith(b"HTTP/1.1 20"):
            raise RuntimeError(f"{method} {path}: {text.decode()[:500]}")


def _resident(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


if __name__ == "__main__":
    points = asyncio.run(_Client(orjson.loads(sys.stdin.buffer.read())).run())
    sys.stdout.buffer.write(orjson.dumps({"curve": points}))
