"""What kube-scheduler's allocator finds in the scenarios of `tests/schedulers/dra/cases.jsonl`.

The first line says which version answered. Every other line is a scenario, drawn by `tests/schedulers/dra/scenarios.py`
from the seed in its name, with the answers for each node, and whether several runs gave the same. Recording asks the
same scenarios again. The program is built from `dra/`, which needs a Go toolchain.
"""

from __future__ import annotations

import json
from pathlib import Path

from goprograms import ask_program

__all__ = ["record"]

CASES = Path(__file__).parents[2] / "tests" / "schedulers" / "dra" / "cases.jsonl"


def record() -> None:
    _, *cases = (json.loads(line) for line in CASES.read_text().splitlines())
    versions, answers = ask_program("dra", (json.dumps({"ask": "allocation", **case}) for case in cases))
    told = [{"recorded": versions}, *({**case, **found} for case, found in zip(cases, answers, strict=True))]
    lines = (json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False) for line in told)
    CASES.write_text("".join(f"{line}\n" for line in lines))
