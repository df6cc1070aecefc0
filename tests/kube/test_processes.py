"""Parts of a control plane: they end with us, and say why when they end by themselves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from ghostfleet.core.clock import SECOND, WallClock
from ghostfleet.kube.processes import PartEnded, Processes, Program


@pytest.fixture
def processes(tmp_path):
    made = Processes(tmp_path / "logs", WallClock())
    yield made
    made.stop()


def shell(name: str, script: str) -> Program:
    return Program(name, ["sh", "-c", script])


def test_a_part_that_ends_is_told_with_what_it_said(processes):
    processes.start(shell("steady", "exec sleep 100"))
    processes.start(shell("weak", "echo all is well; echo 'E1116 00:00:00 run.go:72] no such disk'; echo bye; exit 3"))
    with pytest.raises(PartEnded) as caught:
        processes.wait(lambda: False)
    assert str(caught.value).startswith(
        "weak ended with exit code 3: E1116 00:00:00 run.go:72] no such disk (its log: "
    )
    assert caught.value.lines == ["all is well", "E1116 00:00:00 run.go:72] no such disk", "bye"]


def test_a_part_that_was_killed_is_told_by_its_signal(processes):
    processes.start(shell("victim", "kill -9 $$"))
    with pytest.raises(PartEnded, match=r"victim was ended by SIGKILL: it said nothing"):
        processes.wait(lambda: False)


def test_waiting_ends_when_patience_does(processes):
    processes.start(shell("steady", "exec sleep 100"))
    assert not processes.wait(lambda: False, SECOND // 10)
    assert processes.wait(lambda: True)


def test_parts_that_do_not_listen_are_ended_all_the_same(tmp_path):
    processes = Processes(tmp_path, WallClock())
    processes.start(shell("deaf", "trap '' TERM; echo $$; while :; do sleep 100; done"))
    log = processes.log("deaf")
    processes.wait(lambda: log.read_text().endswith("\n"), 10 * SECOND)
    pid = int(log.read_text())
    processes.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


_PARENT = """
import sys
from pathlib import Path
from ghostfleet.core.clock import WallClock
from ghostfleet.kube.processes import Processes, Program
processes = Processes(Path(sys.argv[1]), WallClock())
processes.start(Program("child", ["sh", "-c", "echo $$; exec cat /dev/stdin < " + sys.argv[2]]))
processes.wait(lambda: processes.log("child").read_text().endswith("\\n"))
print(processes.log("child").read_text(), flush=True)
processes.wait(lambda: False)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children whose parent was killed")
def test_no_part_outlives_a_parent_that_was_killed(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT, tmp_path / "logs", pipe], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    # The child holds the other end of the pipe for as long as it lives.
    writer = os.open(pipe, os.O_WRONLY)
    assert int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait(10)
    parent.stdout.close()
    with pytest.raises(BrokenPipeError):
        _write_until_nobody_reads(writer)
    os.close(writer)


def _write_until_nobody_reads(writer: int) -> None:
    while True:
        os.write(writer, b"are you there? " * 100)
