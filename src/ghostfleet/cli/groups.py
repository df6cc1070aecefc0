"""Groups of options: what several commands ask for alike is declared once.

A group is a function: its parameters are the options, and what it answers is what the command works with.
`@taking(shape=node_shape)` gives a command the options of `node_shape` in place of its parameter `shape`.
`flag_group` makes such a function from the flags of a dataclass.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from ghostfleet.cli import completion
from ghostfleet.core.flags import FlagField, flags_of

__all__ = ["flag_group", "taking"]

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
        annotation = each.annotation
        if isinstance(annotation, str) and each.name not in groups:
            annotation = eval(annotation, function.__globals__)
        return each.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=annotation)

    return [read(each) for each in inspect.signature(function).parameters.values()]


# -- groups from the flags of a dataclass ----------------------------------------------------------------------------


def flag_group(owner: type, make: Callable[..., Any], *fields: str, **defaults: Any) -> Callable[..., Any]:
    """The flags of a dataclass as a group: all, or those of some fields, with defaults that differ for a command.

    `make` gets the fields by name.
    """
    chosen = [
        each._replace(default=defaults.get(each.name, each.default))
        for each in flags_of(owner)
        if not fields or each.name in fields
    ]

    def group(**given: Any) -> Any:
        return make(**{each.name: _read(each, given[_parameter_name(each)]) for each in chosen})

    group.__signature__ = inspect.Signature([_parameter(each) for each in chosen])  # type: ignore[attr-defined]
    return group


def _parameter_name(field: FlagField) -> str:
    """That of the option: two groups of a command may have fields of one name."""
    return field.option.removeprefix("--").replace("-", "_")


def _parameter(field: FlagField) -> inspect.Parameter:
    flag = field.flag
    option = typer.Option(
        *flag.names,
        help=flag.help,
        metavar=flag.metavar,
        min=flag.least,
        max=flag.most,
        show_default=flag.shows_default,
        autocompletion=getattr(completion, flag.completion) if flag.completion else None,
        exists=flag.file and field.type is not str,
        dir_okay=not flag.file,
    )
    kind, default = field.type, field.default
    if field.several:
        kind, default = (str, ",".join(default)) if flag.joined else (list[str] | None, None)
    return inspect.Parameter(
        _parameter_name(field), inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )


def _read(field: FlagField, value: Any) -> Any:
    """What a field gets from what its option was given."""
    if field.several:
        words = value.split(",") if field.flag.joined else value or field.default
        return field.several(word for word in words if word)
    if field.flag.file and value:
        return type(value)(Path(value).resolve())
    return value
