"""Clusters to be attacked with nonsense: called directly, or in a process of its own behind kept connections.

A short attack is part of every test run; `HYPOTHESIS_PROFILE=thorough` makes it twenty times as long. The number of
requests is printed at the end.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

# Tests are no package, and the material is too long for one file.
sys.path.insert(0, str(Path(__file__).parent))

from fuzz_material.shooting import Served, Target

from ghostfleet.cluster import BARE

_COUNT = pytest.StashKey[list[int]]()
_LONGEST = pytest.StashKey[dict[str, Any]]()


@pytest.fixture(scope="session")
def shots(request: pytest.FixtureRequest) -> list[int]:
    """How many requests were sent."""
    return request.config.stash.setdefault(_COUNT, [0])


@pytest.fixture(scope="session")
def longest(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Of each sort of text: how many were evaluated, the longest time that one took, and which it was."""
    return request.config.stash.setdefault(_LONGEST, {})


@pytest.fixture(scope="session")
def target(shots: list[int]) -> Iterator[Callable[..., Target]]:
    """Makes a fresh cluster to attack, whenever it is called: the API alone, or what else it is told."""
    with asyncio.Runner() as runner:
        yield lambda config=BARE: Target(shots, runner, config)


@pytest.fixture(autouse=True)
def _no_log() -> Iterator[None]:
    """A client's mistakes are not worth a line; other tests want to see theirs."""
    logging.getLogger("ghostfleet").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("ghostfleet").setLevel(logging.NOTSET)


@pytest.fixture(scope="session")
def served(shots: list[int], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    state = tmp_path_factory.mktemp("state")
    environment = {**os.environ, "XDG_STATE_HOME": str(state), "KUBECONFIG": str(state / "mine")}
    ghostfleet = [sys.executable, "-m", "ghostfleet"]
    bare = ["--disable", "controllers,scheduler,stages"]
    up = [*ghostfleet, "up", "fuzz", "--detach", "--quiet", *bare]
    subprocess.run(up, env=environment, check=True, timeout=60)
    directory = state / "ghostfleet" / "clusters" / "fuzz"
    config = yaml.safe_load((directory / "kubeconfig").read_text())
    port = int(config["clusters"][0]["cluster"]["server"].rpartition(":")[2])
    context = ssl.create_default_context(cafile=str(directory / "ca.crt"))
    server = Served(port, context, config["users"][0]["user"]["token"], shots)
    yield server
    server.close()
    log = (directory / "log").read_text()
    subprocess.run([*ghostfleet, "down", "fuzz", "--quiet"], env=environment, check=True, timeout=60)
    assert "Traceback" not in log, f"the server made a mistake:\n{log}"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In a worker of xdist: hand the count to the process that prints."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["fuzz requests"] = session.config.stash.get(_COUNT, [0])[0]
        output["fuzz evaluations"] = session.config.stash.get(_LONGEST, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    output = getattr(node, "workeroutput", {})
    node.config.stash.setdefault(_COUNT, [0])[0] += output.get("fuzz requests", 0)
    node.config.stash.setdefault(_LONGEST, {}).update(output.get("fuzz evaluations", {}))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    count = config.stash.get(_COUNT, [0])[0]
    if count:
        terminalreporter.write_line(f"fuzz requests sent: {count}")
    for sort, (evaluated, took, text) in config.stash.get(_LONGEST, {}).items():
        shown = str(text)[:100].replace("\n", " ")
        terminalreporter.write_line(
            f"fuzz {sort}: {evaluated:,} evaluated, the longest in {took * 1000:.0f} ms: {shown}"
        )
