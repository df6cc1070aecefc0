"""What a real API server answers to the corpus."""

from __future__ import annotations

import fnmatch
from pathlib import Path

from parity_material.corpus import all_cases
from parity_material.golden import GOLDEN, read_golden, write_golden
from parity_material.playing import play, prepare
from parity_material.servers import Remote
from realcluster import RealCluster

__all__ = ["record"]


def record(kubeconfig: Path, only: str = "*") -> None:
    """Play the cases whose names match a pattern; the recording keeps what it has of the others."""
    path = GOLDEN / "api.jsonl.gz"
    server = Remote(kubeconfig)
    prepare(server)
    kept = {line["name"]: line for line in read_golden(path)} if only != "*" and path.exists() else {}
    lines = []
    for case in all_cases():
        if fnmatch.fnmatchcase(case.name, only):
            lines.append({"name": case.name, "asked": case.fingerprint, "answers": play(case, server)})
        elif case.name in kept:
            lines.append(kept[case.name])
    write_golden(path, RealCluster(kubeconfig).recorded(), lines)
