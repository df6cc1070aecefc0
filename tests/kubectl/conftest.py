"""A served cluster, driven by every real kubectl that can be found.

The kubectl on PATH is used, and with GHOSTFLEET_TESTS_KUBECTL=all those that `make e2e` puts into the user's cache too. Each scenario runs once per binary, in a
namespace of its own; where a client is too old for a feature, the scenario says so and is skipped for it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

_COUNT = pytest.StashKey[list[int]]()


def _binaries() -> dict[str, Path]:
    """Every kubectl found, by its version."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ghostfleet" / "kubectl"
    candidates = (
        sorted(cache.glob("kubectl-*"), reverse=True) if os.environ.get("GHOSTFLEET_TESTS_KUBECTL") == "all" else []
    )
    on_path = shutil.which("kubectl")
    if on_path:
        candidates.append(Path(on_path))
    found: dict[str, Path] = {}
    for path in candidates:
        version = _version(path)
        if version:
            found.setdefault(version, path)
    return found


def _version(path: Path) -> str:
    try:
        said = subprocess.run(
            [path, "version", "--client", "-o", "json"], capture_output=True, timeout=30, check=False
        ).stdout
        version = orjson.loads(said)["clientVersion"]
        return f"{version['major']}.{version['minor'].rstrip('+')}"
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired):
        return ""


_FOUND = _binaries()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kubectl" not in metafunc.fixturenames:
        return
    if not _FOUND:
        reason = "no kubectl on PATH; `make e2e` gets some and uses them"
        metafunc.parametrize("kubectl", [pytest.param("none", marks=pytest.mark.skip(reason=reason))], indirect=True)
        return
    parameters = [pytest.param(version, marks=pytest.mark.xdist_group(f"kubectl-{version}")) for version in _FOUND]
    metafunc.parametrize("kubectl", parameters, indirect=True)


class Kubectl:
    """One kubectl, one cluster, one namespace."""

    def __init__(self, binary: Path, version: str, kubeconfig: Path, home: Path, count: list[int]) -> None:
        self._binary = binary
        self.version = tuple(int(part) for part in version.split("."))
        self.namespace = "default"
        self._count = count
        self._environment = {
            **os.environ,
            "KUBECONFIG": str(kubeconfig),
            "HOME": str(home),
            "KUBECTL_EXTERNAL_DIFF": "diff -u",
        }
        self._environment.pop("KUBE_EDITOR", None)

    def __call__(
        self, *arguments: str, stdin: str | None = None, code: int = 0, env: dict[str, str] | None = None
    ) -> str:
        """Run a command and expect its exit code; answers what it printed, errors included."""
        done = subprocess.run(
            [self._binary, "--namespace", self.namespace, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            env={**self._environment, **(env or {})},
            check=False,
        )
        self._count[0] += 1
        said = done.stdout + done.stderr
        assert done.returncode == code, f"kubectl {' '.join(arguments)} exited {done.returncode}:\n{said}"
        return said

    def json(self, *arguments: str) -> Any:
        return orjson.loads(self(*arguments, "-o", "json"))

    def apply(self, manifest: str, *more: str) -> str:
        return self("apply", "-f", "-", *more, stdin=manifest)

    def wait_until_gone(self, *arguments: str) -> None:
        """`wait --for=delete` fails in older clients when what it waits for is gone already."""
        while self("get", *arguments, "-o", "name", "--ignore-not-found"):
            pass

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Run a command that goes on."""
        self._count[0] += 1
        return subprocess.Popen(
            [self._binary, "--namespace", self.namespace, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self._environment,
        )

    def start_watching(self, resource: str, *arguments: str) -> subprocess.Popen[str]:
        """Run a command that goes on; answers when it watches a resource."""
        before = self._watches(resource)
        started = self.start(*arguments)
        while started.poll() is None and self._watches(resource) == before:
            pass
        return started

    def _watches(self, resource: str) -> int:
        """How many watches of a resource were ever opened: those that have ended, and those that go on."""
        counted = ("apiserver_request_total{", "apiserver_longrunning_requests{")
        labels = (f'resource="{resource}"', 'verb="WATCH"')
        lines = self("get", "--raw", "/metrics").splitlines()
        return sum(
            int(line.rpartition(" ")[2])
            for line in lines
            if line.startswith(counted) and all(label in line for label in labels)
        )

    def needs(self, minor: int, what: str) -> None:
        """Skip the scenario for a client that does not have this yet."""
        if self.version < (1, minor):
            pytest.skip(f"kubectl {self.version[0]}.{self.version[1]} has no {what}; it came with 1.{minor}")

    def has(self, minor: int) -> bool:
        return self.version >= (1, minor)


def _served(state: Path, *options: str) -> Iterator[Path]:
    """A cluster in a process of its own; its log must not tell of a mistake."""
    environment = {**os.environ, "XDG_STATE_HOME": str(state), "KUBECONFIG": str(state / "mine")}
    ghostfleet = [sys.executable, "-m", "ghostfleet"]
    subprocess.run([*ghostfleet, "up", "e2e", "--detach", "--quiet", *options], env=environment, check=True, timeout=60)
    yield state / "ghostfleet" / "clusters" / "e2e" / "kubeconfig"
    log = (state / "ghostfleet" / "clusters" / "e2e" / "log").read_text()
    subprocess.run([*ghostfleet, "down", "e2e", "--quiet"], env=environment, check=True, timeout=60)
    assert "Traceback" not in log, f"the server made a mistake:\n{log}"


@pytest.fixture(scope="session")
def bare_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The API alone, so that nothing changes but by kubectl."""
    yield from _served(tmp_path_factory.mktemp("bare"), "--disable", "controllers,scheduler,stages")


@pytest.fixture(scope="session")
def live_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A fleet of four nodes with eight GPUs each."""
    yield from _served(tmp_path_factory.mktemp("live"), "--nodes", "4", "--gpus", "8")


@pytest.fixture(scope="session")
def device_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A fleet of four nodes whose DRA driver offers eight GPUs each."""
    yield from _served(tmp_path_factory.mktemp("devices"), "--nodes", "4", "--dra", "nvidia")


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A home directory for each kubectl, so that their caches stay apart."""
    return {version: tmp_path_factory.mktemp(f"home-{version}") for version in _FOUND}


@pytest.fixture
def kubectl(request: pytest.FixtureRequest, homes: dict[str, Path]) -> Kubectl:
    """One kubectl on the bare cluster, or on the living one that tests are marked for: `fleet` or `devices`."""
    count = request.config.stash.setdefault(_COUNT, [0])
    marked = {"fleet": "live_cluster", "devices": "device_cluster"}
    chosen = (cluster for mark, cluster in marked.items() if request.node.get_closest_marker(mark))
    cluster = request.getfixturevalue(next(chosen, "bare_cluster"))
    return Kubectl(_FOUND[request.param], request.param, cluster, homes[request.param], count)


@pytest.fixture(autouse=True)
def space(request: pytest.FixtureRequest, kubectl: Kubectl) -> Iterator[str]:
    """A namespace for each scenario, emptied afterwards."""
    short = re.sub(r"[^a-z0-9-]", "-", request.node.originalname.removeprefix("test_").lower())[:38].strip("-")
    name = f"{short}-{kubectl.version[1]}"
    kubectl.namespace = "default"
    kubectl("create", "namespace", name)
    kubectl.namespace = name
    yield name
    kubectl.namespace = "default"
    kubectl("delete", "namespace", name, "--wait=false")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In a worker of xdist: hand the count to the process that prints."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["kubectl commands"] = session.config.stash.get(_COUNT, [0])[0]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    output = getattr(node, "workeroutput", {})
    node.config.stash.setdefault(_COUNT, [0])[0] += output.get("kubectl commands", 0)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    count = config.stash.get(_COUNT, [0])[0]
    if count:
        terminalreporter.write_line(f"kubectl commands run: {count} (with {', '.join(_FOUND)})")
