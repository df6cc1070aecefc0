"""A large fleet over HTTP: 5,000 nodes Ready and 10,000 pods Running, counted by a client outside the process.

KWOK's own CI allows itself 60 seconds for each. The baseline is the same number of requests to a bare application.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.figures import Baseline, Figure, at_most
from benchmarks.served import bare_server, run_client, running
from ghostfleet.drive.access import Access
from ghostfleet.drive.connection import Connection
from ghostfleet.drive.nodes import add
from ghostfleet.server.instances import Instance
from ghostfleet.stages.nodes import NodeShape, fake_nodes

__all__ = ["run"]

_NODES = 5000
_PODS = 10_000
_LOOK_AGAIN = 0.25


def run() -> Iterator[Figure]:
    with bare_server() as place:
        echoes = run_client(place, do="echo", count=_NODES, connections=1)["requests"]
    with running() as instance:
        yield from _measured(instance, echoes)


def _measured(instance: Instance, echoes: float) -> Iterator[Figure]:
    connection = Connection(Access(instance.kubeconfig))
    began = time.monotonic()
    add(connection, fake_nodes(NodeShape(count=_NODES, gpus=8, fake_taint=False)), lambda: None)
    _until(lambda: _count(connection, "/api/v1/nodes", _is_ready) == _NODES)
    bare = Baseline("so many bare requests, one by one", _NODES / echoes)
    nodes = time.monotonic() - began
    yield Figure(f"{_NODES:,} nodes Ready over HTTPS", nodes, "s", bare, at_most(20))
    began = time.monotonic()
    connection.create("/apis/apps/v1/namespaces/default/deployments", _deployment(_PODS))
    running = "/api/v1/pods?fieldSelector=status.phase%3DRunning"
    _until(lambda: _count(connection, running, lambda _: True) == _PODS)
    pods = time.monotonic() - began
    yield Figure(f"{_PODS:,} pods Running", pods, "s", Baseline("5,000 nodes Ready", nodes), at_most(20))
    record = instance.record()
    assert record is not None
    resident = int(Path(f"/proc/{record.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    yield Figure("memory of that cluster", resident / 2**20, "MiB", Baseline("a GiB", 1024))
    connection.close()


def _until(done: Callable[[], bool]) -> None:
    while not done():
        time.sleep(_LOOK_AGAIN)


def _count(connection: Connection, path: str, wanted: Callable[[Any], bool]) -> int:
    return sum(wanted(each) for each in connection.items(path, chunk=20_000))


def _is_ready(node: Any) -> bool:
    conditions = node["status"].get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _deployment(replicas: int) -> dict[str, Any]:
    labels = {"app": "bench"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": "bench"}, "spec": spec}
