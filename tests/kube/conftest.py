"""Clusters to work on by kubeconfig: our own, served without its stages, and real ones where the programs can be had.

Whatever needs real programs runs with GHOSTFLEET_TESTS_REAL=1 only, as `make e2e` sets it: they take minutes.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ghostfleet.cluster import Cluster, ClusterConfig
from ghostfleet.core.clock import WallClock
from ghostfleet.drive.access import Access
from ghostfleet.drive.connection import Connection, watch_lines
from ghostfleet.kube.agent import Agent
from ghostfleet.kube.programs import CONTROLLERS, ETCD, KWOK, SCHEDULER, SERVER, ProgramsMissing, find_programs
from ghostfleet.server import kubeconfig
from ghostfleet.server.app import App
from ghostfleet.server.auth import Authenticator
from ghostfleet.server.serve import HttpServer
from ghostfleet.server.tls import make_certificates

TOKEN = "a-token"
_PLACES = {
    "nodes": "/api/v1/nodes",
    "pods": "/api/v1/pods",
    "jobs": "/apis/batch/v1/jobs",
    "deployments": "/apis/apps/v1/deployments",
    "leases": "/apis/coordination.k8s.io/v1/leases",
    "events": "/api/v1/events",
    "resourceclaims": "/apis/resource.k8s.io/v1/resourceclaims",
    "resourceclaimtemplates": "/apis/resource.k8s.io/v1/resourceclaimtemplates",
}


class Desk:
    """A cluster by its kubeconfig: requests to it, and waiting for what it shows."""

    def __init__(self, path: Path) -> None:
        self.kubeconfig = path
        self.access = Access(path)
        self.connection = Connection(self.access)

    def create(self, sort: str, obj: dict[str, Any], namespace: str = "default") -> dict[str, Any]:
        return self.connection.create(self._path(sort, namespace), obj)

    def get(self, sort: str, name: str, namespace: str = "default") -> dict[str, Any]:
        return self.connection.get(f"{self._path(sort, namespace)}/{name}")

    def patch(self, sort: str, name: str, patch: dict[str, Any], namespace: str = "default") -> None:
        self.connection.patch(f"{self._path(sort, namespace)}/{name}", patch)

    def delete(self, sort: str, name: str, namespace: str = "default") -> None:
        self.connection.delete(f"{self._path(sort, namespace)}/{name}")

    def _path(self, sort: str, namespace: str) -> str:
        place = _PLACES.get(sort, sort)
        if sort == "nodes" or not namespace:
            return place
        head, _, plural = place.rpartition("/")
        return f"{head}/namespaces/{namespace}/{plural}"

    def until(self, sort: str, holds: Callable[[dict[str, dict[str, Any]]], Any]) -> dict[str, dict[str, Any]]:
        """All objects of a sort by name, but for those of the system, as soon as something holds for them."""
        path = _PLACES.get(sort, sort)
        page = self.connection.get(path)
        seen = {item["metadata"]["name"]: item for item in page["items"] if not _is_of_system(item)}
        version = page["metadata"]["resourceVersion"]
        while not holds(seen):
            opened: list[Any] = []
            watch = watch_lines(self.access, f"{path}?watch=true&resourceVersion={version}", opened.append)
            for event in watch:
                name = event["object"]["metadata"]["name"]
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] == "DELETED":
                    seen.pop(name, None)
                elif not _is_of_system(event["object"]):
                    seen[name] = event["object"]
                if holds(seen):
                    break
            watch.close()
        return seen


def _is_of_system(obj: dict[str, Any]) -> bool:
    return bool(obj["metadata"].get("namespace") == "kube-system")


@contextmanager
def served(directory: Path, *without: str, nodes: int = 0, tls: bool = False, dra: str = "") -> Iterator[Desk]:
    """Our own cluster on a socket, without some of its parts; real programs need TLS to send their token."""
    from ghostfleet.cluster import add_nodes
    from ghostfleet.stages.nodes import NodeShape

    clock = WallClock()
    cluster = Cluster(clock, ClusterConfig(without=frozenset(without)))
    add_nodes(cluster, NodeShape(count=nodes, gpus=8, dra=dra, fake_taint=False))
    files = make_certificates(directory, ["127.0.0.1"], clock.now()) if tls else None
    pair = (files.certificate, files.key) if files is not None else None
    server = HttpServer(App(cluster.api, Authenticator(TOKEN)), clock=clock, tls=pair)
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(lambda _url: ready.set(),))
    thread.start()
    desk = None
    try:
        assert ready.wait(30)
        path = directory / "kubeconfig"
        kubeconfig.write(
            path, kubeconfig.render("lab", server.url, TOKEN, files.authority.read_bytes() if files else None)
        )
        desk = Desk(path)
        yield desk
    finally:
        if desk is not None:
            desk.connection.close()
        server.stop()
        thread.join(10)


@contextmanager
def playing(desk: Desk, *stages: str, **settings: Any) -> Iterator[Agent]:
    """An agent at work."""
    from ghostfleet.kube.agent import FAKE_NODES
    from ghostfleet.stages.settings import StageSettings

    agent = Agent(desk.access, stages, StageSettings(**{"node_annotations": FAKE_NODES, **settings}))
    ready, failed = threading.Event(), []
    loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = []

    async def play() -> None:
        loops.append((asyncio.get_running_loop(), asyncio.current_task()))
        try:
            await agent.run(ready.set)
        except asyncio.CancelledError:
            pass
        except BaseException as error:
            failed.append(error)
            ready.set()

    thread = threading.Thread(target=asyncio.run, args=(play(),))
    thread.start()
    try:
        assert ready.wait(30)
        assert not failed
        yield agent
    finally:
        loop, task = loops[0]
        loop.call_soon_threadsafe(task.cancel)
        thread.join(20)
        assert not failed, failed


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """Our own cluster, whose two fake nodes nobody plays yet."""
    with served(tmp_path, "stages", nodes=2) as made:
        yield made


@pytest.fixture(scope="session")
def programs() -> dict[str, Path]:
    """The programs of a real control plane."""
    if os.environ.get("GHOSTFLEET_TESTS_REAL") != "1":
        pytest.skip("needs real programs of Kubernetes; `make e2e` builds and uses them")
    try:
        return find_programs((ETCD, SERVER, CONTROLLERS, SCHEDULER, KWOK))
    except ProgramsMissing as error:
        pytest.skip(str(error))


class Shell:
    """Runs `ghostfleet` with a state directory of its own; programs are found where they always are."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {**os.environ, "XDG_STATE_HOME": str(home / "state"), "KUBECONFIG": str(home / "config")}
        self._desks: list[Desk] = []

    def __call__(self, *arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "ghostfleet", *arguments],
            capture_output=True, text=True, timeout=110, env=self.environment, check=False,
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert done.returncode == code, f"ghostfleet {' '.join(arguments)} exited {done.returncode}:\n{said}"
        assert "Traceback" not in said
        return said

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "ghostfleet", *arguments]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment
        )

    def directory(self, name: str) -> Path:
        return self.home / "state" / "ghostfleet" / "clusters" / name

    def desk(self, name: str) -> Desk:
        made = Desk(self.directory(name) / "kubeconfig")
        self._desks.append(made)
        return made

    def close(self) -> None:
        for made in self._desks:
            made.connection.close()


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    made = Shell(tmp_path_factory.mktemp("home"))
    yield made
    made.close()
    made("down", "--all", "--quiet")


@pytest.fixture(name="playing")
def _playing() -> Callable[..., Any]:
    return playing


@pytest.fixture(name="served")
def _served() -> Callable[..., Any]:
    return served


@pytest.fixture(name="is_ready")
def _is_ready() -> Callable[..., bool]:
    return is_ready


def is_ready(node: dict[str, Any]) -> bool:
    conditions = node.get("status", {}).get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
