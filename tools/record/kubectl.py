"""What kubectl prints on a real control plane."""

from __future__ import annotations

import tempfile
from pathlib import Path

from parity_material.commands import run_commands
from parity_material.golden import write_golden

__all__ = ["record"]


def record(kubeconfig: Path, kubectl: Path, path: Path) -> None:
    """Run all commands; each becomes a line."""
    with tempfile.TemporaryDirectory() as home:
        write_golden(path, run_commands(kubectl, kubeconfig, Path(home)))
