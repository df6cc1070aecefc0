"""Comparison: where two answers differ, and which differences are known.

A difference is *explained* when `differences.yaml` has an entry for its case and place that says what both answers have there,
and both do. It is *not compared* when the entry names the place alone: then nobody knows whether it still is the difference
that was meant. Everything else is *different*. An entry that matches nothing is out of date.
"""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

__all__ = ["Comparison", "Difference", "Known", "compare", "load_known"]

_ABSENT = "(absent)"
#: What tells the elements of a list apart, where they are objects.
_IDENTITIES = (("name",), ("resource",), ("groupVersion",), ("operation", "manager", "subresource"), ("type",))


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


@dataclass(frozen=True, eq=False)
class Known:
    """A difference that stays, by patterns for case and place, and what both sides have there."""

    cases: tuple[str, ...]
    places: tuple[str, ...]
    reason: str
    #: nothing is said of the values
    silent: bool
    real: Any = None
    ours: Any = None

    def matching(self, difference: Difference) -> list[str]:
        """The patterns by which this covers a difference; none if it does not."""
        cases = [each for each in self.cases if fnmatch.fnmatchcase(difference.case, each)]
        places = [each for each in self.places if _at(difference.place, each)]
        if not (cases and places):
            return []
        said = self.silent or (_holds(self.real, difference.real) and _holds(self.ours, difference.ours))
        return [*cases, *places] if said else []


def _at(place: str, pattern: str) -> bool:
    """Whether a place is meant: brackets are its own, as in the keys of lists."""
    return fnmatch.fnmatchcase(place, pattern.replace("[", "[[]"))


def _holds(said: Any, value: Any) -> bool:
    """Whether a value is what an entry says; an object may have more fields than those that are said."""
    if isinstance(said, dict) and said and isinstance(value, dict):
        return all(name in value and _holds(each, value[name]) for name, each in said.items())
    if isinstance(said, list) and isinstance(value, list):
        return len(said) == len(value) and all(map(_holds, said, value))
    return bool(said == value) and isinstance(said, bool) is isinstance(value, bool)


@dataclass
class Comparison:
    """The result for a corpus: which cases are equal, explained, not compared, different."""

    what: str
    known: Sequence[Known]
    equal: list[str] = field(default_factory=list)
    explained: dict[str, set[str]] = field(default_factory=dict)
    not_compared: dict[str, set[str]] = field(default_factory=dict)
    different: list[Difference] = field(default_factory=list)
    used: set[tuple[Known, str]] = field(default_factory=set)

    def add(self, case: str, real: Any, ours: Any) -> list[Difference]:
        """Judge the answers to one case; what is neither explained nor excused comes back."""
        unexplained = []
        reasons: set[str] = set()
        silent = False
        for difference in compare(case, real, ours):
            covering = {known: patterns for known in self.known if (patterns := known.matching(difference))}
            self.used.update((known, pattern) for known, patterns in covering.items() for pattern in patterns)
            if covering:
                reasons.add(next(iter(covering)).reason)
                silent = silent or all(known.silent for known in covering)
            else:
                unexplained.append(difference)
        if unexplained:
            self.different += unexplained
        elif reasons:
            (self.not_compared if silent else self.explained)[case] = reasons
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
        known = len(self.explained) + len(self.not_compared)
        return len(self.equal) + known + len({each.case for each in self.different})

    def __str__(self) -> str:
        different = len({each.case for each in self.different})
        return (
            f"{self.total} {self.what}: {len(self.equal)} equal, {len(self.explained)} explained, "
            f"{len(self.not_compared)} not compared, {different} different"
        )


def load_known(path: Path, topic: str) -> tuple[Known, ...]:
    entries = yaml.safe_load(path.read_text())[topic] or ()
    return tuple(_known(entry, told) for entry in entries for told in entry["differences"])


def _known(entry: dict[str, Any], told: dict[str, Any]) -> Known:
    """One of the differences of an entry; a side that it leaves out has nothing there."""
    silent = told.keys() == {"places"}
    if silent and any("*" in pattern for pattern in told["places"]):
        raise ValueError(f"differences.yaml: {told['places']}: what is not compared must be named place by place")
    sides = told.get("real", _ABSENT), told.get("ours", _ABSENT)
    return Known(tuple(entry["cases"]), tuple(told["places"]), " ".join(entry["reason"].split()), silent, *sides)


def compare(case: str, real: Any, ours: Any, place: str = "") -> Iterator[Difference]:
    """Every place at which two values differ; answers of different kinds are one difference."""
    if isinstance(real, dict) and isinstance(ours, dict) and real.get("kind") == ours.get("kind"):
        for key in sorted(real.keys() | ours.keys()):
            yield from compare(case, real.get(key, _ABSENT), ours.get(key, _ABSENT), f"{place}/{key}")
    elif isinstance(real, list) and isinstance(ours, list):
        yield from _compare_lists(case, real, ours, place)
    elif isinstance(real, str) and isinstance(ours, str) and real != ours and "\n" in real and "\n" in ours:
        yield Difference(case, place, *_only(real.splitlines(), ours.splitlines()))
    elif real != ours or isinstance(real, bool) is not isinstance(ours, bool):
        yield Difference(case, place, real, ours)


def _compare_lists(case: str, real: list[Any], ours: list[Any], place: str) -> Iterator[Difference]:
    """By what tells the elements apart, if there is something, or else one by one."""
    for identity in _IDENTITIES:
        theirs, mine = _identified(real, identity), _identified(ours, identity)
        if theirs is not None and mine is not None:
            common = [[key for key in each if key in theirs and key in mine] for each in (theirs, mine)]
            if common[0] != common[1]:
                yield Difference(case, f"{place}/(order)", *common)
            yield from compare(case, theirs, mine, place)
            return
    if len(real) != len(ours) and all(isinstance(each, str) for each in (*real, *ours)):
        yield Difference(case, place, *_only(real, ours))
        return
    for number in range(max(len(real), len(ours))):
        sides = (side[number] if number < len(side) else _ABSENT for side in (real, ours))
        yield from compare(case, *sides, f"{place}/{number}")


def _identified(elements: list[Any], identity: tuple[str, ...]) -> dict[str, Any] | None:
    if not elements or not all(isinstance(each, dict) and identity[0] in each for each in elements):
        return None
    found = {" ".join(str(each[name]) for name in identity if name in each): each for each in elements}
    return found if len(found) == len(elements) else None


def _only(real: list[str], ours: list[str]) -> tuple[list[str], list[str]]:
    """The lines that only one of two texts has."""
    told = list(difflib.ndiff(real, ours))
    return [line[2:] for line in told if line[0] == "-"], [line[2:] for line in told if line[0] == "+"]
