"""What became of a search for victims: kept for those who ask why a job still waits."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

__all__ = ["NO_PLACE", "SOLVED", "Search", "Tried"]

#: Outcomes of a scenario besides the names of the filters and validators that ruled it out.
NO_PLACE = "no place"
SOLVED = "solved"


@dataclass(frozen=True)
class Tried:
    """A scenario: for how many tasks of the job, which tasks of victims were to go, by uid, and what came of it."""

    tasks: int
    victims: tuple[str, ...]
    outcome: str
    refused_by: object | None = None


@dataclass
class Search:
    """One search of an action for a job: how many of its tasks found a place one after the other, and how many
    scenarios came to which end. A search that was never begun says why (`not_begun`)."""

    action: str
    job: str
    tasks: int = 0
    tasks_solved: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    not_begun: str = ""
    #: The scenarios one by one, for a job that the session traces.
    tried: list[Tried] = field(default_factory=list)
