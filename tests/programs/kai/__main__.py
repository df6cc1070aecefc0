"""Compares the real KAI with ours by hand: `python -m tests.programs.kai [--record|--manifests] [CASE...]`.

Cases are named by a part of their name; without one all are played. `--record` keeps the states of the real KAI for
tests that run without it; `--manifests` only prints the manifests of the cases, to apply them elsewhere. Exits with 1
when a state differs that nothing explains, with 3 when KAI is not built.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

import yaml

from ..built import NotBuilt, built
from .cases import CASES, Case
from .comparison import VERDICTS, compare, record
from .sides import Real


def main(arguments: list[str]) -> int:
    wanted = [each for each in arguments if not each.startswith("-")]
    cases = [case for case in CASES if not wanted or any(each in case.name for each in wanted)]
    options = set(arguments) - set(wanted)
    if not cases or options - {"--manifests", "--record"}:
        print("usage: python -m tests.programs.kai [--record|--manifests] [CASE...]", file=sys.stderr)
        return 2
    if "--manifests" in options:
        print_manifests(cases)
        return 0
    try:
        programs = built("kai", "scheduler")
    except NotBuilt as error:
        print(error, file=sys.stderr)
        return 3
    with (
        tempfile.TemporaryDirectory(prefix="kai-real-") as directory,
        Real(programs, Path(directory)).started() as real,
    ):
        results = []
        for case in cases:
            result = compare(real, case)
            results.append(result)
            print(result, flush=True)
            if "--record" in options:
                record(result)
    counts = Counter(each.verdict for each in results)
    print(", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS), f"of {len(results)} cases;", end=" ")
    print(f"places, evictions and the figures of queues are the same in {sum(each.alike for each in results)}")
    return 1 if counts["different"] else 0


def print_manifests(cases: list[Case]) -> None:
    for case in cases:
        for number, step in enumerate(case.steps, 1):
            print(f"# {case.name}, step {number}", *(f"; delete {name}" for name in step.delete), sep="")
            objects = [*(case.nodes if number == 1 else ()), *step.create]
            print(yaml.safe_dump_all(objects, sort_keys=False), end="---\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
