"""Special cases: what only some kinds can do, and what concerns no kind at all."""

from __future__ import annotations

from collections.abc import Iterator

from parity_material.cases import Case, slug
from parity_material.discoveries import DISCOVERIES
from parity_material.object_cases import OBJECT_CASES
from parity_material.pod_cases import POD_CASES
from parity_material.reading_cases import READING_CASES

__all__ = ["special_cases"]


def special_cases() -> Iterator[Case]:
    """All of them."""
    for function in (*POD_CASES, *OBJECT_CASES, *READING_CASES):
        name = f"special: {function.__name__.replace('_', ' ')}"
        own = slug(name)
        yield Case(name, tuple(function(own)), own)
    for name, steps in DISCOVERIES.items():
        yield Case(f"discovery: {name}", tuple(steps))
