"""Programs: where the binaries of a real control plane are on this machine.

They are looked for one by one: in the directory that was named, in the cache that `make kube` fills, in that of
controller-runtime's envtest (KUBEBUILDER_ASSETS), and on the PATH.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["CONTROLLERS", "ETCD", "KWOK", "SCHEDULER", "SERVER", "ProgramsMissing", "cache_directory", "find_programs"]

ETCD = "etcd"
SERVER = "kube-apiserver"
CONTROLLERS = "kube-controller-manager"
SCHEDULER = "kube-scheduler"
KWOK = "kwok"


class ProgramsMissing(Exception):
    """Programs that are needed are not there; the message says which, and what to do."""


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Where `make kube` builds to: one directory for each version of Kubernetes."""
    home = environment.get("XDG_CACHE_HOME") or ""
    return (Path(home) if home else Path("~/.cache").expanduser()) / "ghostfleet" / "kube"


def find_programs(
    needed: Iterable[str],
    wanted: Iterable[str] = (),
    *,
    directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Path]:
    """Paths of all programs that are needed, and of those that are wanted and there."""
    environment = os.environ if environment is None else environment
    needed = tuple(needed)
    places = _places(directory, environment)
    found = {name: path for name in (*needed, *wanted) if (path := _first(name, places)) is not None}
    missing = [name for name in needed if name not in found]
    if missing:
        where = f"{directory}, " if directory is not None else ""
        raise ProgramsMissing(
            f"cannot find {', '.join(missing)} (looked in {where}{cache_directory(environment)}, KUBEBUILDER_ASSETS "
            "and PATH); `make kube` in a clone of Ghostfleet builds them, or name their directory with --bin-dir"
        )
    return found


def _places(directory: Path | None, environment: Mapping[str, str]) -> list[Path]:
    cache = cache_directory(environment)
    built = sorted(cache.iterdir(), key=_version, reverse=True) if cache.is_dir() else []
    assets = environment.get("KUBEBUILDER_ASSETS", "")
    on_path = environment.get("PATH", "").split(os.pathsep)
    return [
        *([directory] if directory is not None else []),
        *built,
        *(Path(place) for place in (assets, *on_path) if place),
    ]


def _version(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.name)]


def _first(name: str, places: Iterable[Path]) -> Path | None:
    for place in places:
        path = place / name
        if path.is_file() and os.access(path, os.X_OK):
            return path.absolute()
    return None
