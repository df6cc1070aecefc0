"""Programs that `make programs` has built into the user's cache, and what they need to run side by side."""

from __future__ import annotations

import os
import socket
from pathlib import Path


class NotBuilt(Exception):
    """A program is not there; the message says what to do."""


def built(project: str, program: str) -> Path:
    """The directory with a project's programs: the newest version of which `program` is there."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "ghostfleet" / "programs"
    # The mark is written when a program is built completely.
    found = sorted(home.glob(f"{project}-*/.{program}"), key=lambda path: path.parent.name)
    if not found:
        raise NotBuilt(f"{project} is not built (looked in {home}); `make programs` builds it")
    return found[-1].parent


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
