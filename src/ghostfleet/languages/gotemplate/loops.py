"""Loops in templates: what `range` goes through, and how it is left."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ghostfleet.core.errors import shortened
from ghostfleet.languages.budget import BUDGET
from ghostfleet.languages.gotemplate.fmt import printed
from ghostfleet.languages.gotemplate.syntax import Branch, Leave, Part
from ghostfleet.languages.gotemplate.values import MISSING, Int, TemplateError

__all__ = ["Break", "Frame", "Step", "continues", "continuing", "items", "leaving"]

Frame = list[Any]
Step = Callable[[Frame, Any, list[str]], None]


class Break(Exception):
    """Leaves the innermost loop."""


class Continue(Exception):
    """Leaves the present round of the innermost loop."""


def leaving(sort: str) -> Step:
    """The step of `break` or `continue`."""

    def run(*_: Any) -> None:
        raise Break if sort == "break" else Continue

    return run


def continues(parts: tuple[Part, ...]) -> bool:
    """Whether a `continue` of this loop is among the parts."""
    for part in parts:
        if isinstance(part, Leave) and part.sort == "continue":
            return True
        if isinstance(part, Branch) and part.sort != "range" and continues(part.body + part.otherwise):
            return True
        if isinstance(part, Branch) and part.sort == "range" and continues(part.otherwise):
            return True
    return False


def continuing(body: Step) -> Step:
    """The body of a loop that may be left for its next round."""

    def run(frame: Frame, dot: Any, out: list[str]) -> None:
        try:
            body(frame, dot, out)
        except Continue:
            return

    return run


def items(value: Any, variables: int) -> tuple[int, Iterable[tuple[Any, Any]]]:
    """What a range goes through: how many pairs of index or key and element, and these one by one."""
    if type(value) is list:
        BUDGET.step(len(value) // 8)
        return len(value), [(Int(place), element) for place, element in enumerate(value)]
    if type(value) is dict:
        BUDGET.step(len(value))
        return len(value), [(key, value[key]) for key in sorted(value)]
    if isinstance(value, Int):
        if variables > 1:
            raise TemplateError(f"can't use {value} to iterate over more than one variable")
        return max(0, value), ((MISSING, type(value)(number)) for number in range(value))
    if value is MISSING or value is None:
        return 0, ()
    raise TemplateError(f"range can't iterate over {shortened(printed(value))}")
