"""One suite of scenarios, run with every client library against a cluster in a process of its own.

The libraries get what a user would give them: a kubeconfig file. It says HTTPS, an authority and a token.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ghostfleet.cluster import BARE, Cluster
from ghostfleet.core.clock import WallClock
from ghostfleet.server import kubeconfig
from ghostfleet.server.app import App
from ghostfleet.server.auth import Authenticator
from ghostfleet.server.serve import HttpServer
from ghostfleet.server.tls import make_certificates

# Tests are no package, and the adapters are too long for one file.
sys.path.insert(0, str(Path(__file__).parent))

from client_adapters.dynamic import Dynamic
from client_adapters.kr8s_api import Kr8s
from client_adapters.light import Lightkube, LightkubeAsync
from client_adapters.openapi import Asyncio, Official
from client_adapters.protocol import Adapter

ADAPTERS: list[type[Adapter]] = [Official, Dynamic, Asyncio, Lightkube, LightkubeAsync, Kr8s]
#: Changes that the forgetful cluster remembers of each resource.
MEMORY = 4


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "adapter" in metafunc.fixturenames:
        parameters = [
            pytest.param(each, id=each.name.replace(" ", "-"), marks=pytest.mark.xdist_group(f"clients-{index % 2}"))
            for index, each in enumerate(ADAPTERS)
        ]
        metafunc.parametrize("adapter", parameters, scope="session")


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of a cluster in a process of its own: the API alone, so that nothing changes but by clients."""
    state = tmp_path_factory.mktemp("state")
    environment = {**os.environ, "XDG_STATE_HOME": str(state), "KUBECONFIG": str(state / "mine")}
    ghostfleet = [sys.executable, "-m", "ghostfleet"]
    bare = ["--disable", "controllers,scheduler,stages"]
    up = [*ghostfleet, "up", "clients", "--detach", "--quiet", *bare]
    subprocess.run(up, env=environment, check=True, timeout=60)
    directory = state / "ghostfleet" / "clusters" / "clients"
    yield directory / "kubeconfig"
    log = (directory / "log").read_text()
    subprocess.run([*ghostfleet, "down", "clients", "--quiet"], env=environment, check=True, timeout=60)
    assert "Traceback" not in log, f"the server made a mistake:\n{log}"


@pytest.fixture(scope="session")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of a cluster that forgets old changes soon, so that watches expire."""
    directory = tmp_path_factory.mktemp("forgetful")
    clock = WallClock()
    certificates = make_certificates(directory, ["127.0.0.1"], clock.now())
    app = App(Cluster(clock, BARE, history=MEMORY).api, Authenticator("a-token"))
    server = HttpServer(app, tls=(certificates.certificate, certificates.key), clock=clock)
    config = kubeconfig.render("forgetful", server.url, "a-token", certificates.authority.read_bytes())
    kubeconfig.write(directory / "kubeconfig", config)
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(lambda _url: ready.set(),))
    thread.start()
    try:
        assert ready.wait(10)
        yield directory / "kubeconfig"
    finally:
        server.stop()
        thread.join(10)


@pytest.fixture(scope="session")
def client(adapter: type[Adapter], served: Path) -> Iterator[Adapter]:
    """A client of the cluster."""
    client = adapter(served)
    yield client
    client.close()


@pytest.fixture(scope="session")
def forgotten(adapter: type[Adapter], forgetful: Path) -> Iterator[Adapter]:
    """A client of the forgetful cluster."""
    client = adapter(forgetful)
    yield client
    client.close()


@pytest.fixture
def space(request: pytest.FixtureRequest, client: Adapter) -> Iterator[str]:
    """A namespace for each scenario, made and deleted by the client itself."""
    words = f"{request.node.originalname.removeprefix('test_')[:40]}-{client.name}"
    name = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
    client.create("", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    client.delete("Namespace", "", name)
