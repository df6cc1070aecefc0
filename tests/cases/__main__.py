"""Runs files of cases: `python -m tests.cases KIND FILE...`.

A kind is a module beside this one with a function `run`, which reads a file and yields the name of each case and what
is wrong with the answer, nothing if it is right.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

KINDS = ("dra", "kai")


def main(arguments: list[str]) -> int:
    if len(arguments) < 2 or arguments[0] not in KINDS:
        print(f"usage: python -m tests.cases {{{','.join(KINDS)}}} FILE...", file=sys.stderr)
        return 2
    module = importlib.import_module(f"{__package__}.{arguments[0]}")
    passed, failed = 0, []
    for path in map(Path, arguments[1:]):
        try:
            for name, problems in module.run(path):
                passed += not problems
                failed += [f"{name}: {problem}" for problem in problems]
        except (OSError, ValueError, KeyError, TypeError) as error:
            print(f"{path}: {error!r}: expected cases of {arguments[0]}", file=sys.stderr)
            return 2
    names = {line.partition(": ")[0] for line in failed}
    print(f"{passed} passed, {len(names)} failed")
    print("\n".join(failed), end="\n" if failed else "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
