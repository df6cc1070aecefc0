"""Situations: what can happen to an object of any kind, as the steps that make it happen.

One that does not exist for a kind has no steps there.
"""

from __future__ import annotations

from collections.abc import Iterator

from parity_material.asking import create, get
from parity_material.cases import Case
from parity_material.handling import HANDLING
from parity_material.kinds import KINDS, Kind, Place
from parity_material.making import MAKING

__all__ = ["general_cases"]

_SITUATIONS = {function.__name__.replace("_", " "): function for function in (*MAKING, *HANDLING)}
#: Kinds that the API server's own controllers write to, in their own time, and situations in which that does not show.
_BUSY = ("flowschemas", "customresourcedefinitions")
_AT_ONCE = (
    "named by the server",
    "named badly",
    "of another type than the path",
    "updated though it is not there",
    "asked in ways that do not exist",
)


def general_cases() -> Iterator[Case]:
    """Every situation of every kind."""
    for kind in KINDS:
        for situation, steps_of in _SITUATIONS.items():
            if kind.plural in _BUSY and situation not in _AT_ONCE:
                continue
            place = Place(kind, situation)
            steps = steps_of(place)
            if steps:
                yield Case(f"{kind.title}: {situation}", tuple(steps), place.namespace)
        yield from _invalid_cases(kind)


def _invalid_cases(kind: Kind) -> Iterator[Case]:
    for what, patch in kind.invalid.items():
        situation = f"refused for {what}"
        place = Place(kind, situation)
        steps = (create(place, place.changed(patch)), get(place))
        yield Case(f"{kind.title}: {situation}", steps, place.namespace)
