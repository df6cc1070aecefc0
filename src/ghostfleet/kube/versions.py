"""Versions: what a program says that it is."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

__all__ = ["program_version"]

_PATIENCE_SECONDS = 20.0
_VERSION = re.compile(r"\bv?(\d+\.\d+\.\d+\S*)")


def program_version(program: Path) -> str:
    """The version that `--version` tells, as in v1.36.3; "unknown" if it tells none."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=_PATIENCE_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    found = _VERSION.search(said.stdout)
    return f"v{found[1]}" if found is not None else "unknown"
