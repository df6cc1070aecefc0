"""What a user waits for: `ghostfleet up` until the cluster is ready, and `ghostfleet --help`.

An installed package comes with its bytecode. Python may have been told not to write any for the sources here
(PYTHONDONTWRITEBYTECODE), and would then compile them at every start; so it is kept in a directory of its own, which
the first run fills.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from benchmarks.figures import Baseline, Figure, at_most, best, seconds_of

__all__ = ["run"]


def run() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as directory:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": f"{directory}/bytecode"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        python = Baseline("python -c pass", best(lambda: _seconds(["-c", "pass"], environment), lowest=True))
        help_ = best(lambda: _seconds(["-m", "ghostfleet", "--help"], environment), lowest=True)
        yield Figure("ghostfleet --help", help_, "s", python, at_most(0.4))
        environment |= {"XDG_STATE_HOME": directory, "KUBECONFIG": f"{directory}/none"}
        yield Figure("ghostfleet up until ready", best(lambda: _up(environment), lowest=True), "s", python, at_most(1))


def _seconds(arguments: list[str], environment: dict[str, str]) -> float:
    command = [sys.executable, *arguments]
    return seconds_of(lambda: subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True))


def _up(environment: dict[str, str]) -> float:
    """In the foreground: from the call to the line that says it is ready."""
    process = None

    def start() -> None:
        nonlocal process
        command = [sys.executable, "-m", "ghostfleet", "up", "bench"]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert b"is ready" in process.stdout.readline()

    took = seconds_of(start)
    assert process is not None
    process.terminate()
    process.communicate()
    return took
