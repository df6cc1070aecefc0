"""Timer, Sleep and Exec: measurements that look at nothing in the cluster."""

from __future__ import annotations

import os
import subprocess

from ghostfleet.clusterloader.measurements.measurement import (
    DONE,
    Context,
    MeasurementError,
    Outcome,
    unknown_action,
)
from ghostfleet.clusterloader.params import Params
from ghostfleet.clusterloader.summaries import DataItem, Summary, perf_data
from ghostfleet.core.clock import SECOND

__all__ = ["Exec", "Sleep", "Timer"]

_HOUR = 3600 * SECOND
_SHOWN_OUTPUT = 500


class Timer:
    """How long phases of a test take, each by its label."""

    def __init__(self) -> None:
        self._began: dict[str, int] = {}
        self._spans: dict[str, int] = {}

    async def execute(self, context: Context, params: Params) -> Outcome:
        action, now = params.text("action"), context.cluster.now()
        if action == "start":
            label = params.text("label")
            if label in self._began:
                raise MeasurementError(f"timer {label!r} runs already")
            self._began[label] = now
            return DONE
        if action == "stop":
            label = params.text("label")
            if label not in self._began:
                raise MeasurementError(f"timer {label!r} was not started")
            self._spans[label] = now - self._began.pop(label)
            return DONE
        if action == "gather":
            data = {label: span / SECOND for label, span in self._spans.items()}
            item = DataItem(data, "s", {"test": "phases"})
            return Outcome([Summary("Timer", "json", perf_data([item], "v1"), now)])
        raise unknown_action(action, "start", "stop", "gather")

    def dispose(self) -> None:
        """Nothing goes on by itself."""


class Sleep:
    """Lets cluster time pass."""

    async def execute(self, context: Context, params: Params) -> Outcome:
        await context.cluster.sleep(params.duration("duration"))
        return DONE

    def dispose(self) -> None:
        """Nothing goes on by itself."""


class Exec:
    """Runs a command on this machine; only where the user has allowed that."""

    async def execute(self, context: Context, params: Params) -> Outcome:
        command = [os.path.expandvars(each) for each in params.texts("command")]
        timeout = params.duration("timeout", _HOUR)
        tries = max(1, params.integer("retries", 1))
        backoff = params.duration("backoffDelay", SECOND)
        if not context.allow_exec:
            raise MeasurementError(f"{' '.join(command)!r} was not run: give --allow-exec to run commands of a config")
        problem = "nothing was run"
        for number in range(tries):
            if number:
                await context.cluster.sleep(backoff << (number - 1))
            problem = _run(command, timeout / SECOND)
            if not problem:
                return DONE
        raise MeasurementError(problem)

    def dispose(self) -> None:
        """Nothing goes on by itself."""


def _run(command: list[str], seconds: float) -> str:
    """Run a command; what went wrong, or nothing."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return f"command {command[0]!r} took longer than {seconds:g} s"
    except OSError as error:
        return f"command {command[0]!r}: {error.strerror}"
    if done.returncode == 0:
        return ""
    said = (done.stderr or done.stdout).decode(errors="replace").strip()[-_SHOWN_OUTPUT:]
    return f"command {command[0]!r} failed ({done.returncode}): {said}"
