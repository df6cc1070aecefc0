"""Groups of options: what several commands ask for alike is declared once.

A group is a function: its parameters are the options, and what it answers is what the command works with.
`@taking(shape=node_shape)` gives a command the options of `node_shape` in place of its parameter `shape`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import wraps
from typing import Any

__all__ = ["taking"]

Command = Callable[..., None]


def taking(**groups: Callable[..., Any]) -> Callable[[Command], Command]:
    """Give a command the options of groups, each in place of the parameter of its name."""
    options = {name: _parameters(group) for name, group in groups.items()}

    def taken(command: Command) -> Command:
        @wraps(command)
        def run(**given: Any) -> None:
            made = {
                name: group(**{each.name: given.pop(each.name) for each in options[name]})
                for name, group in groups.items()
            }
            command(**given, **made)

        # Typer learns the options from these two.
        parameters = [each for own in _parameters(command, groups) for each in options.get(own.name, [own])]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # mypy knows no such attribute
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return taken


def _parameters(function: Callable[..., Any], groups: Collection[str] = ()) -> list[inspect.Parameter]:
    """Parameters by keyword, with their annotations as objects; not those of groups, whose types are loaded late."""

    def read(each: inspect.Parameter) -> inspect.Parameter:
        annotation = each.annotation if each.name in groups else eval(each.annotation, function.__globals__)
        return each.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=annotation)

    return [read(each) for each in inspect.signature(function).parameters.values()]
