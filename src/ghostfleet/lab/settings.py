"""Settings: defaults of the user's own for the options of commands.

They come from `ghostfleet.toml`, first the user's (in the XDG config directory), then that of the current directory,
and from the environment; of several the last one counts, and an option on the command line counts most. In a file, a
table named after a command holds its options; an option outside of any table is for all commands that have it. In the
environment, GHOSTFLEET_NUM_GPUS is for all commands and GHOSTFLEET_SUBMIT_NUM_GPUS for one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from ghostfleet.lab.errors import LabError

__all__ = ["FILE_NAME", "PREFIX", "GivenValue", "UserSettings", "read_settings", "settings_files"]

FILE_NAME = "ghostfleet.toml"
PREFIX = "GHOSTFLEET_"
#: Variables of the project's own tests, which commands leave alone.
_OF_TESTS = f"{PREFIX}TESTS_"

#: A command by its words, `("nodes", "add")`.
Command = tuple[str, ...]
#: The options of each command, as they are written without the dashes before them.
Options = Mapping[Command, list[str]]


class GivenValue(NamedTuple):
    """A value that was set, and where."""

    value: Any
    source: str


class UserSettings:
    """What is set for each command."""

    def __init__(self) -> None:
        self._given: dict[tuple[Command, str], GivenValue] = {}

    def set(self, command: Command, option: str, given: GivenValue) -> None:
        self._given[command, option] = given

    def get(self, command: Command, option: str) -> GivenValue | None:
        return self._given.get((command, option))

    def __iter__(self) -> Iterator[tuple[Command, str, GivenValue]]:
        return ((command, option, given) for (command, option), given in self._given.items())


def settings_files(environment: Mapping[str, str], directory: Path) -> list[Path]:
    """The files that exist, those that count less first."""
    home = environment.get("XDG_CONFIG_HOME") or ""
    base = Path(home) if home and Path(home).is_absolute() else Path("~/.config").expanduser()
    return [path for path in (base / "ghostfleet" / FILE_NAME, directory / FILE_NAME) if path.is_file()]


def read_settings(files: list[Path], environment: Mapping[str, str], options: Options) -> UserSettings:
    """All settings; a LabError for a file that cannot be read or a setting that is not known."""
    settings = UserSettings()
    for file in files:
        _read_file(file, options, settings)
    known = set()
    for command, names in options.items():
        for name in names:
            for variable in _variables(command, name):
                known.add(variable)
                if environment.get(variable):
                    settings.set(command, name, GivenValue(environment[variable], variable))
    _refuse_unknown(environment, known)
    return settings


def _refuse_unknown(environment: Mapping[str, str], known: set[str]) -> None:
    for variable in environment:
        if variable.startswith(PREFIX) and not variable.startswith(_OF_TESTS) and variable not in known:
            near = get_close_matches(variable, known, 1)
            guess = f"did you mean {near[0]}? " if near else ""
            raise LabError(f"{variable}: unknown setting; {guess}`ghostfleet config show` lists those that exist")


def _variables(command: Command, option: str) -> tuple[str, str]:
    """The variables that set an option, the one that counts more last."""
    words = "_".join((*command, option)).replace("-", "_").upper()
    return PREFIX + option.replace("-", "_").upper(), PREFIX + words


def _read_file(file: Path, options: Options, settings: UserSettings) -> None:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise LabError(f"cannot read {file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LabError(f"{file}: {error}") from None
    shared = {key: value for key, value in content.items() if not isinstance(value, dict)}
    for key, value in shared.items():
        option = key.replace("_", "-")
        having = [command for command, names in options.items() if option in names]
        if not having:
            raise LabError(f"{file}: unknown setting {key!r}; `ghostfleet config show` lists those that exist")
        for command in having:
            settings.set(command, option, GivenValue(value, str(file)))
    for key, value in content.items():
        if isinstance(value, dict):
            _read_table(file, (key.replace("_", "-"),), value, options, settings)


def _read_table(
    file: Path, command: Command, table: Mapping[str, Any], options: Options, settings: UserSettings
) -> None:
    if not any(each[: len(command)] == command for each in options):
        known = ", ".join(sorted({each[0] for each in options}))
        raise LabError(f"{file}: [{'.'.join(command)}] is no command; known are {known}")
    for key, value in table.items():
        option = key.replace("_", "-")
        if isinstance(value, dict):
            _read_table(file, (*command, option), value, options, settings)
        elif option in options.get(command, ()):
            settings.set(command, option, GivenValue(value, str(file)))
        else:
            known = ", ".join(options.get(command, ())) or "none"
            raise LabError(f"{file}: [{'.'.join(command)}] has no setting {key!r}; known are {known}")
