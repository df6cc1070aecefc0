"""The command line, run as users run it: in processes of its own, with a state directory of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner


class Shell:
    """Runs `ghostfleet` commands."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.kubeconfig = home / "kube" / "config"
        self.environment = {
            **os.environ,
            "XDG_STATE_HOME": str(home / "state"),
            "KUBECONFIG": str(self.kubeconfig),
            "HOME": str(home),
            "COLUMNS": "200",
        }

    def __call__(self, *arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "ghostfleet", *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            env=self.environment,
            check=False,
        )
        said = done.stdout + done.stderr
        assert done.returncode == code, f"ghostfleet {' '.join(arguments)} exited {done.returncode}:\n{said}"
        assert "Traceback" not in said
        return said

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Run a command that goes on."""
        return subprocess.Popen(
            [sys.executable, "-m", "ghostfleet", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment,
        )

    def directory(self, name: str) -> Path:
        return self.home / "state" / "ghostfleet" / "clusters" / name


@pytest.fixture
def ghostfleet(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    yield shell
    shell("down", "--all", "--quiet")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs commands in this process, in an empty directory that is the user's home too."""
    from ghostfleet.cli.main import app

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for variable in ("XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == code, done.output
        return done.output

    return run
