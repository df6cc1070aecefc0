"""Regular expressions in the languages, and what they are charged for.

The engine needs no more time than the size of the text times the size of the pattern, as it is compiled: see
`core.goregex`. For all matches of a text it may need that for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from ghostfleet.core.goregex import GoMatch, GoRegex, compile_regex
from ghostfleet.languages.budget import BUDGET

__all__ = ["compiled", "found_in"]

# Measured, both at worst, which is rare: the engine takes a tenth of a millisecond to compile six instructions, and a
# microsecond to look at thirty pairs of a character and an instruction.
_COMPILED = 2
_COMPARED = 256


def compiled(pattern: str) -> GoRegex:
    """The pattern, ready to match; RegexError if Go would not take it."""
    BUDGET.step(1 + len(pattern) // 8)
    regex = compile_regex(pattern)
    BUDGET.step(regex.size // _COMPILED)
    return regex


def found_in(regex: GoRegex, text: str, most: int = -1) -> Iterator[GoMatch]:
    """All matches that do not overlap, or at most so many."""
    effort = 1 + len(text) * regex.size // _COMPARED + len(text) // 256
    BUDGET.step(effort)
    for found in regex.matches(text, most):
        yield found
        BUDGET.step(effort)
