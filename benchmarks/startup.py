"""What a user waits for: `ghostfleet up` until the cluster is ready, and `ghostfleet --help`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from benchmarks.figures import Baseline, Figure, at_most, best, seconds_of

__all__ = ["run"]

_GHOSTFLEET = [sys.executable, "-m", "ghostfleet"]


def run() -> Iterator[Figure]:
    python = Baseline("python -c pass", best(lambda: _seconds([sys.executable, "-c", "pass"]), lowest=True))
    help_ = best(lambda: _seconds([*_GHOSTFLEET, "--help"]), lowest=True)
    yield Figure("ghostfleet --help", help_, "s", python, at_most(0.4))
    yield Figure("ghostfleet up until ready", best(_up, lowest=True), "s", python, at_most(1))


def _seconds(command: list[str], environment: dict[str, str] | None = None) -> float:
    return seconds_of(lambda: subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True))


def _up() -> float:
    """In the foreground: from the call to the line that says it is ready."""
    with tempfile.TemporaryDirectory() as state:
        environment = {**os.environ, "XDG_STATE_HOME": state, "KUBECONFIG": f"{state}/none"}
        process = None

        def start() -> None:
            nonlocal process
            process = subprocess.Popen([*_GHOSTFLEET, "up", "bench"], env=environment, stdout=subprocess.PIPE)
            assert process.stdout is not None
            assert b"is ready" in process.stdout.readline()

        took = seconds_of(start)
        assert process is not None
        process.terminate()
        process.communicate()
        return took
