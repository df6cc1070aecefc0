"""What kubectl prints on a real control plane."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from parity_material.commands import run_commands
from parity_material.golden import GOLDEN, write_golden
from realcluster import RealCluster

__all__ = ["record"]


def record(kubeconfig: Path, kubectl: Path) -> None:
    """Run all commands; each becomes a line."""
    with tempfile.TemporaryDirectory() as home:
        lines = run_commands(kubectl, kubeconfig, Path(home))
    said = subprocess.run(
        [kubectl, "version", "--client", "-o", "json"], capture_output=True, text=True, check=True
    ).stdout
    recorded = {"kubectl": json.loads(said)["clientVersion"]["gitVersion"], **RealCluster(kubeconfig).recorded()}
    write_golden(GOLDEN / "kubectl.jsonl.gz", recorded, lines)
