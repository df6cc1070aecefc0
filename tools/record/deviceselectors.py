"""What Kubernetes says of device selectors: `tests/api/deviceselectors.jsonl`.

The first line says which version answered and has the devices that selectors are asked about: one, and one that has an
attribute of several values, for which a gate must be on (`lists`). `cost` is the most that a selector may cost, by
Kubernetes' estimate. Recording asks the same again; a question is added
by a line with nothing but its `expression` and, if need be, `lists`. The program is built from `dra/`, which needs a Go
toolchain.
"""

from __future__ import annotations

import json
from pathlib import Path

from goprograms import ask_program

__all__ = ["record"]

FACTS = Path(__file__).parents[2] / "tests" / "api" / "deviceselectors.jsonl"


def record() -> None:
    head, *facts = (json.loads(line) for line in FACTS.read_text().splitlines())
    asked = [{name: fact[name] for name in ("expression", "lists") if name in fact} for fact in facts]
    about = {"ask": "selector", "driver": head["driver"]}
    questions = [{**about, "device": head["listed" if "lists" in each else "device"], **each} for each in asked]
    versions, answers = ask_program("dra", map(json.dumps, questions))
    told = [{**head, "recorded": versions}, *({**each, **found} for each, found in zip(asked, answers, strict=True))]
    FACTS.write_text("".join(f"{json.dumps(line)}\n" for line in told))
