"""Comparison: where two answers differ, and which differences are known.

A difference is known when `differences.yaml` has an entry that matches the case and the place of the difference, with the
reason for which it stays. An entry that matches nothing is out of date.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

__all__ = ["Comparison", "Difference", "Known", "compare", "load_known"]

_ABSENT = "(absent)"


@dataclass(frozen=True)
class Difference:
    """One place at which the answers to a case differ."""

    case: str
    #: the step's number and the path within its answer
    place: str
    real: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.case} | {self.place}\n    real: {self.real!r}\n    ours: {self.ours!r}"


@dataclass(frozen=True)
class Known:
    """Differences that stay, by patterns for case and place."""

    cases: tuple[str, ...]
    places: tuple[str, ...]
    reason: str

    def matching(self, difference: Difference) -> list[str]:
        """The patterns by which this covers a difference; none if it does not."""
        cases = [each for each in self.cases if fnmatch.fnmatchcase(difference.case, each)]
        places = [each for each in self.places if fnmatch.fnmatchcase(difference.place, each)]
        return [*cases, *places] if cases and places else []


@dataclass
class Comparison:
    """The result for a corpus: which cases are equal, explained, different."""

    what: str
    known: Sequence[Known]
    equal: list[str] = field(default_factory=list)
    explained: dict[str, set[str]] = field(default_factory=dict)
    different: list[Difference] = field(default_factory=list)
    used: set[tuple[Known, str]] = field(default_factory=set)

    def add(self, case: str, real: Any, ours: Any) -> list[Difference]:
        """Judge the answers to one case; what is not explained comes back."""
        unexplained = []
        reasons = set()
        for difference in compare(case, real, ours):
            covering = {known: patterns for known in self.known if (patterns := known.matching(difference))}
            self.used.update((known, pattern) for known, patterns in covering.items() for pattern in patterns)
            if covering:
                reasons.add(next(iter(covering)).reason)
            else:
                unexplained.append(difference)
        if unexplained:
            self.different += unexplained
        elif reasons:
            self.explained[case] = reasons
        else:
            self.equal.append(case)
        return unexplained

    @property
    def unused(self) -> list[str]:
        """Patterns of entries that match nothing any more."""
        return [
            f"{pattern} ({known.reason})"
            for known in self.known
            for pattern in (*known.cases, *known.places)
            if (known, pattern) not in self.used
        ]

    @property
    def total(self) -> int:
        return len(self.equal) + len(self.explained) + len({each.case for each in self.different})

    def __str__(self) -> str:
        different = len({each.case for each in self.different})
        return (
            f"{self.total} {self.what}: {len(self.equal)} equal, {len(self.explained)} explained, {different} different"
        )


def load_known(path: Path, topic: str) -> tuple[Known, ...]:
    entries = yaml.safe_load(path.read_text())[topic] or ()
    return tuple(
        Known(tuple(entry["cases"]), tuple(entry["places"]), " ".join(entry["reason"].split())) for entry in entries
    )


def compare(case: str, real: Any, ours: Any, place: str = "") -> Iterator[Difference]:
    """Every place at which two values differ."""
    if isinstance(real, dict) and isinstance(ours, dict):
        for key in sorted(real.keys() | ours.keys()):
            yield from compare(case, real.get(key, _ABSENT), ours.get(key, _ABSENT), f"{place}/{key}")
    elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        for number, (theirs, mine) in enumerate(zip(real, ours, strict=True)):
            yield from compare(case, theirs, mine, f"{place}/{number}")
    elif real != ours or isinstance(real, bool) is not isinstance(ours, bool):
        yield Difference(case, place, real, ours)
