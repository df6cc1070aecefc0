"""Processes: the parts of a control plane as children of this process, which none of them outlives.

Each *part* is one program with a log of its own. It is in a process group of its own, so that Ctrl-C at a terminal
reaches only us, and we end the parts in order. Should this process die without a chance to do so, the kernel ends the
parts (on Linux; elsewhere they would have to be ended by hand).
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ghostfleet.core.clock import SECOND, WallClock

__all__ = ["PartEnded", "Processes", "Program"]

_LOOK_AGAIN = SECOND // 20
#: How long a part may take to end by itself. Its data are thrown away, so that nothing is lost by haste.
_PATIENCE = 2 * SECOND
_SET_DEATH_SIGNAL = 1
_LAST_LINES = 10
#: A line of a log that tells what was wrong: klog's errors, etcd's and Go's.
_TELLING = re.compile(r'^[EF]\d{4} |"level":"(?:fatal|panic|error)"|^panic: |^[Ee]rror: |^fatal error')


@dataclass(frozen=True, slots=True)
class Program:
    """One program that is to run."""

    name: str
    command: Sequence[str | Path]
    environment: Mapping[str, str] | None = None


class PartEnded(Exception):
    """A part ended that should run; the message says what it said last, `lines` are the end of its log."""

    def __init__(self, name: str, code: int, log: Path) -> None:
        self.lines = _last_lines(log)
        telling = next((line for line in reversed(self.lines) if _TELLING.search(line)), self.lines[-1:])
        said = telling if isinstance(telling, str) else "".join(telling)
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        super().__init__(f"{name} {how}: {said or 'it said nothing'} (its log: {log})")


class Processes:
    """Parts that run."""

    def __init__(self, logs: Path, clock: WallClock) -> None:
        self._logs = logs
        self._clock = clock
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        logs.mkdir(mode=0o700, parents=True, exist_ok=True)

    def log(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def start(self, part: Program) -> None:
        with self.log(part.name).open("wb") as log:
            self.log(part.name).chmod(0o600)
            self._running[part.name] = subprocess.Popen(
                [str(word) for word in part.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=None if part.environment is None else {**os.environ, **part.environment},
                process_group=0,
                # Safe although it runs between fork and exec: this process has one thread.
                preexec_fn=_die_with(os.getpid()) if sys.platform == "linux" else None,
            )

    def check(self) -> None:
        """Raise PartEnded if a part no longer runs."""
        for name, process in self._running.items():
            code = process.poll()
            if code is not None:
                raise PartEnded(name, code, self.log(name))

    def wait(self, until: Callable[[], bool], patience: int | None = None) -> bool:
        """Watch over the parts until something is so; false if patience (microseconds) ran out before."""
        deadline = None if patience is None else self._clock.now() + patience
        while not until():
            self.check()
            now = self._clock.now()
            if deadline is not None and now > deadline:
                return False
            self._clock.run(now + _LOOK_AGAIN)
        return True

    def stop(self) -> None:
        """End all parts, the last started first."""
        processes = list(reversed(self._running.values()))
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in processes:
                process.send_signal(number)
            deadline = self._clock.now() + _PATIENCE
            while any(process.poll() is None for process in processes) and self._clock.now() < deadline:
                self._clock.run(self._clock.now() + _LOOK_AGAIN)
        self._running.clear()


def _die_with(parent: int) -> Callable[[], None]:
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def ask() -> None:
        prctl(_SET_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
        # The parent may have died before that.
        if os.getppid() != parent:
            os._exit(1)

    return ask


def _last_lines(log: Path) -> list[str]:
    try:
        text = log.read_text(errors="replace")
    except OSError:
        return []
    return [line.strip() for line in text.splitlines() if line.strip()][-_LAST_LINES:]
