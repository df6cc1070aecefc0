"""Loops in templates: how `range` is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ghostfleet.languages.gotemplate.syntax import Branch, Leave, Part

__all__ = ["Break", "Frame", "Step", "continues", "continuing", "leaving"]

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
