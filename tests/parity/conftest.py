"""The comparison with real Kubernetes; its counts are printed at the end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

# Tests are no package, and the material is used by the recorder too.
sys.path.insert(0, str(Path(__file__).parent))

_COUNTS = pytest.StashKey[list[str]]()


@pytest.fixture
def counts(request: pytest.FixtureRequest) -> list[str]:
    """Lines to print when all tests have run."""
    return request.config.stash.setdefault(_COUNTS, [])


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In a worker of xdist: hand the lines to the process that prints."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["parity"] = session.config.stash.get(_COUNTS, [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    output = getattr(node, "workeroutput", {})
    node.config.stash.setdefault(_COUNTS, []).extend(output.get("parity", []))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    for line in config.stash.get(_COUNTS, []):
        terminalreporter.write_line(f"as real Kubernetes: {line}")
