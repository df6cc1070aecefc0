"""Defaults of options from the user's settings: files and environment, handed to commands before they are parsed.

Commands are looked at as whatever typer makes of them, since it brings a copy of click of its own in some versions.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ghostfleet.cli.output import WRONG_USAGE, fail

if TYPE_CHECKING:
    from ghostfleet.lab.settings import GivenValue, UserSettings

__all__ = ["Option", "apply_settings", "options_of", "user_settings"]

#: An option as settings name it, and the parameter behind it.
Option = tuple[str, Any]
Command = tuple[str, ...]
_PREFIX = "GHOSTFLEET_"


def options_of(command: Any, words: Command = ()) -> dict[Command, list[Option]]:
    """The options of a command, or of all commands of a group, but for those that only print something."""
    if not hasattr(command, "commands"):
        found = [
            (_name(each), each) for each in command.params if each.param_type_name == "option" and each.expose_value
        ]
        return {words: [(name, parameter) for name, parameter in found if name]}
    made: dict[Command, list[Option]] = {}
    for name, each in command.commands.items():
        made |= options_of(each, (*words, name))
    return made


def user_settings(context: typer.Context) -> UserSettings:
    """What the user's files and environment set, checked."""
    from ghostfleet.lab.errors import LabError
    from ghostfleet.lab.settings import read_settings, settings_files

    options = options_of(context.find_root().command)
    named = {command: [name for name, _ in found] for command, found in options.items()}
    parameters = {(command, name): parameter for command, found in options.items() for name, parameter in found}
    try:
        settings = read_settings(settings_files(os.environ, Path.cwd()), os.environ, named)
    except LabError as error:
        fail(str(error), WRONG_USAGE)
    for command, name, given in list(settings):
        settings.set(command, name, _checked(context, parameters[command, name], name, given))
    return settings


def apply_settings(context: typer.Context) -> None:
    """Let the commands below have the user's settings as their defaults."""
    if not _has_settings():
        return
    parameters = {
        (command, name): parameter
        for command, found in options_of(context.command).items()
        for name, parameter in found
    }
    defaults: dict[str, Any] = {}
    for command, name, given in user_settings(context):
        place = defaults
        for word in command:
            place = place.setdefault(word, {})
        place[parameters[command, name].name or ""] = given.value
    context.default_map = defaults


def _has_settings() -> bool:
    """Whether there is anything to read: most users have nothing, and every command would pay for it."""
    from ghostfleet.lab.settings import settings_files

    return any(name.startswith(_PREFIX) for name in os.environ) or bool(settings_files(os.environ, Path.cwd()))


def _name(option: Any) -> str:
    """The long form of an option, without its dashes."""
    return max((each for each in option.opts if each.startswith("--")), key=len, default="").lstrip("-")


def _checked(context: typer.Context, parameter: Any, name: str, given: GivenValue) -> GivenValue:
    """A value that the option takes; several are words of one text, or a list."""
    if parameter.multiple and isinstance(given.value, str):
        given = given._replace(value=given.value.split())
    try:
        parameter.process_value(context, given.value)
    except (typer.BadParameter, TypeError, ValueError) as error:
        problem = error.format_message() if isinstance(error, typer.BadParameter) else str(error)
        fail(f"{given.source}: {name}: {problem}", WRONG_USAGE)
    return given
