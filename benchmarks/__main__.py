"""`python -m benchmarks [name ...]`: run benchmarks and print their figures; exits with 1 when a goal is missed."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module

from ghostfleet.core.collector import relax_collector
from ghostfleet.core.compilation import is_compiled

_ALL = (
    "startup",
    "memory",
    "store",
    "listing",
    "http",
    "watching",
    "stages_languages",
    "stages",
    "scheduling",
    "dra",
    "kai",
    "jobs",
    "fleet",
    "mcad",
    "served_fleet",
    "churn",
    "clusterloader",
)
#: Those that take minutes and need more than this package; they run when they are named.
_NAMED = ("side_by_side", "devices")


def main(names: list[str]) -> int:
    known = (*_ALL, *_NAMED)
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    # What a benchmark started is ended with it, however it ends.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    print("busiest modules compiled" if is_compiled() else "nothing compiled; make bench FAST=1 compiles first")
    _say_load()
    missed = 0
    for name in names or _ALL:
        module = import_module(f"benchmarks.{name}")
        relax_collector()
        # Those that have more to tell than figures print it themselves.
        for figure in module.run() or ():
            print(figure, flush=True)
            missed += figure.missed
    _say_load()
    return 1 if missed else 0


def _say_load() -> None:
    """A busy machine explains a bad figure."""
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
