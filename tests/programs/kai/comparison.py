"""One case on both clusters, and what came of it.

The states that the real KAI came to are recorded in a file beside this one, so that ours is compared with it where its
programs are not built, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .cases import Case
from .explanations import explanation
from .sides import Ours, Real
from .state import State, differences

RECORDED = Path(__file__).parent / "recorded.json"
VERDICTS = ("equal", "explained", "different")


@dataclass(frozen=True)
class Comparison:
    """Where the states of a case differ, with what explains it, and where nothing does."""

    case: Case
    #: The states of the real KAI, step by step.
    states: Sequence[State]
    #: What explains a difference, by its path.
    explained: dict[str, str]
    #: Differences that nothing explains: the path, and what either has there.
    unexplained: list[tuple[str, Any, Any]]

    @property
    def alike(self) -> bool:
        """Whether the same pods run at the same places, the same were evicted and queues have the same figures."""
        paths = [*self.explained, *(path for path, _, _ in self.unexplained)]
        return not any(re.match(r"step \d+: (?:pods|evicted|reservations|queues)\.", path) for path in paths)

    @property
    def verdict(self) -> str:
        return "different" if self.unexplained else "explained" if self.explained else "equal"

    def __str__(self) -> str:
        lines = [f"{self.verdict:<9}  {self.case.name}"]
        lines += [f"    {reason}" for reason in dict.fromkeys(self.explained.values())]
        lines += [f"    {path}\n      real: {real}\n      ours: {ours}" for path, real, ours in self.unexplained]
        return "\n".join(lines)


def compare(real: Real, case: Case) -> Comparison:
    """Play a case on both clusters."""
    ours = Ours().play(case)
    return judge(case, real.play(case, ours), [each.state for each in ours])


def compare_recorded(states: Sequence[State], case: Case) -> Comparison:
    """Play a case on ours, and compare it with what the real KAI came to before."""
    return judge(case, states, [each.state for each in Ours().play(case)])


def judge(case: Case, real: Sequence[State], ours: Sequence[State]) -> Comparison:
    """Compare what both came to, step by step."""
    explained, unexplained = {}, []
    for number, (theirs, own) in enumerate(zip(real, ours, strict=True), 1):
        for path, left, right in differences(theirs, own):
            reason = explanation(case.name, path, left, right)
            if reason:
                explained[f"step {number}: {path}"] = reason
            else:
                unexplained.append((f"step {number}: {path}", left, right))
    return Comparison(case, real, explained, unexplained)


def load_recorded() -> dict[str, list[State]]:
    """The states of the real KAI, by the name of the case."""
    recorded: dict[str, list[State]] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return recorded


def record(comparison: Comparison) -> None:
    """Keep the states of the real KAI for later."""
    kept = load_recorded() if RECORDED.exists() else {}
    kept[comparison.case.name] = list(comparison.states)
    lines = (f"{json.dumps(name)}: {json.dumps(states, sort_keys=True)}" for name, states in sorted(kept.items()))
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
