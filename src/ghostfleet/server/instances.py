"""Instances: the named clusters of this user, and where their files are.

Each cluster has a directory of its own under the XDG state directory: its *record* (where it listens, since when), the
kubeconfig, certificates and log. A running cluster holds a lock on its directory; so whether it lives is never guessed
from a pid that may have been given to another process, and two clusters of one name cannot start at once.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO

import orjson

from ghostfleet.server.secretfile import write_secret

__all__ = ["Instance", "InstanceError", "InstanceRecord", "instances", "state_directory"]

#: What a process that claims a cluster finds there and goes on to use.
_KEPT = frozenset(("lock", "log"))
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?\Z")


class InstanceError(Exception):
    """What the user asked of a named cluster cannot be done; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class InstanceRecord:
    """What a running cluster says of itself."""

    name: str
    pid: int
    url: str
    clock: str
    started: str
    version: str
    runtime: str = "embedded"


class Instance:
    """One named cluster of this user, running or not."""

    def __init__(self, name: str, environment: Mapping[str, str] | None = None) -> None:
        if not _NAME.match(name):
            raise InstanceError(
                f"{name!r} is not a name for a cluster: use at most 63 lower-case letters, digits, '-' and '.', "
                "beginning and ending with a letter or digit"
            )
        self.name = name
        self.directory = state_directory(environment) / name
        self._lock: IO[bytes] | None = None

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    @property
    def log(self) -> Path:
        return self.directory / "log"

    @property
    def logs(self) -> Path:
        """Where the parts of a real control plane write to."""
        return self.directory / "logs"

    def claim(self) -> None:
        """Make this process the one that runs the cluster, or say who does."""
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = (self.directory / "lock").open("ab")
        except OSError as error:
            raise InstanceError(f"cannot use {self.directory}: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise InstanceError(
                f"{self._description()} is running already; `ghostfleet down {self.name}` ends it"
            ) from None
        self._lock = lock
        # What an earlier run left behind, perhaps because it was killed, says nothing about this one.
        for left in self.directory.iterdir():
            if left.is_dir():
                shutil.rmtree(left)
            elif left.name not in _KEPT:
                left.unlink(missing_ok=True)

    def unclaim(self) -> None:
        """Let another process claim the cluster."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def publish(self, record: InstanceRecord) -> None:
        """Tell others that the cluster is ready."""
        write_secret(self.directory / "record.json", orjson.dumps(asdict(record)))

    def mourn(self, why: str) -> None:
        """The cluster is dead: its name is free, but its files stay, so that one can see what happened."""
        for name in ("record.json", "kubeconfig"):
            (self.directory / name).unlink(missing_ok=True)
        write_secret(self.directory / "epitaph", why.encode())
        self.unclaim()

    def epitaph(self) -> str:
        """Why the cluster died; empty if it did not."""
        try:
            return (self.directory / "epitaph").read_text()
        except OSError:
            return ""

    def release(self) -> None:
        """Forget the cluster: its files go, and its name is free."""
        shutil.rmtree(self.directory, ignore_errors=True)
        self.unclaim()

    @property
    def running(self) -> bool:
        """Whether a process holds the cluster's lock."""
        if self._lock is not None:
            return True
        try:
            with (self.directory / "lock").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def record(self) -> InstanceRecord | None:
        """The record, once the cluster is ready; None when there is none (yet)."""
        path = self.directory / "record.json"
        try:
            read = orjson.loads(path.read_bytes())
            known = {each.name for each in fields(InstanceRecord)}
            return InstanceRecord(**{key: value for key, value in read.items() if key in known})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, AttributeError, TypeError) as error:
            raise InstanceError(f"cannot read {path}: {error}; `ghostfleet down {self.name}` clears it away") from error

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process that runs the cluster."""
        pid = self._pid()
        if pid is not None and self.running:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                return
            except PermissionError as error:
                raise InstanceError(f"cluster {self.name} belongs to another user (pid {pid})") from error

    def _pid(self) -> int | None:
        try:
            record = self.record()
        except InstanceError:
            record = None
        if record is not None:
            return record.pid
        try:
            return int((self.directory / "pid").read_text())
        except (OSError, ValueError):
            return None

    def write_pid(self) -> None:
        """Note this process, so that a start that hangs can be ended too."""
        write_secret(self.directory / "pid", str(os.getpid()).encode())

    def _description(self) -> str:
        try:
            record = self.record()
        except InstanceError:
            record = None
        return f"cluster {self.name} ({record.url})" if record is not None else f"cluster {self.name}"


def state_directory(environment: Mapping[str, str] | None = None) -> Path:
    """Where the clusters' directories are: under XDG_STATE_HOME, else ~/.local/state."""
    environment = os.environ if environment is None else environment
    home = environment.get("XDG_STATE_HOME") or ""
    # The XDG specification says that a relative path is to be ignored.
    base = Path(home) if home and Path(home).is_absolute() else Path("~/.local/state").expanduser()
    return base / "ghostfleet" / "clusters"


def instances(environment: Mapping[str, str] | None = None) -> list[Instance]:
    """All clusters that have a directory, by name."""
    root = state_directory(environment)
    try:
        names = sorted(entry.name for entry in root.iterdir() if entry.is_dir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InstanceError(f"cannot read {root}: {error.strerror}") from error
    return [Instance(name, environment) for name in names if _NAME.match(name)]
