"""A served cluster of the API alone, and the kubectl that was recorded, to be compared with its recording."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from parity_material.commands import VERSION
from parity_material.comparison import Comparison
from parity_material.verdicts import compare_kubectl

from ghostfleet.cluster import BARE

__all__ = ["find_kubectl", "kubectl_comparison"]


def find_kubectl() -> Path | None:
    """The kubectl of the recorded version, from the user's cache or PATH."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ghostfleet" / "kubectl"
    on_path = shutil.which("kubectl")
    candidates = [*sorted(cache.glob("kubectl-*")), *([Path(on_path)] if on_path else [])]
    return next((path for path in candidates if _version(path) == VERSION), None)


def _version(path: Path) -> str:
    asked = [path, "version", "--client", "-o", "json"]
    try:
        said = subprocess.run(asked, capture_output=True, timeout=30, check=False).stdout
        version = json.loads(said)["clientVersion"]
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired):
        return ""
    return f"{version['major']}.{version['minor'].rstrip('+')}"


def kubectl_comparison(kubectl: Path) -> Comparison:
    with tempfile.TemporaryDirectory() as home, _cluster(Path(home)) as kubeconfig:
        return compare_kubectl(kubectl, kubeconfig, Path(home))


@contextmanager
def _cluster(state: Path) -> Iterator[Path]:
    environment = {**os.environ, "XDG_STATE_HOME": str(state), "KUBECONFIG": str(state / "mine")}
    ghostfleet = [sys.executable, "-m", "ghostfleet"]
    bare = ["--disable", ",".join(sorted(BARE.without))]
    subprocess.run([*ghostfleet, "up", "parity", "-d", "-q", *bare], env=environment, check=True, timeout=60)
    try:
        yield state / "ghostfleet" / "clusters" / "parity" / "kubeconfig"
    finally:
        subprocess.run([*ghostfleet, "down", "parity", "-q"], env=environment, check=True, timeout=60)
