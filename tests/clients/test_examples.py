"""The examples, run as their readers would run them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.clients


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """That of a reader who has started a cluster with a node."""
    kubeconfig = tmp_path / "ghostfleet" / "clusters" / "default" / "kubeconfig"
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "KUBECONFIG": str(kubeconfig)}
    ghostfleet = [sys.executable, "-m", "ghostfleet"]
    up = [*ghostfleet, "up", "--detach", "--quiet", "--nodes", "1", "--gpus", "8"]
    subprocess.run(up, env=environment, check=True, timeout=60)
    yield environment
    subprocess.run([*ghostfleet, "down", "--quiet"], env=environment, check=True, timeout=60)


def test_the_official_client_watches_a_pod_get_its_gpus(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / "01-python-client.py"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith(": Running")
